//! Why an export could not start, or ended early.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::PoolMismatch;
use iolab_engine::LaneError;
use iolab_fuse::FuseError;

/// Why an export failed.
#[derive(Debug)]
pub enum ExportError {
    /// An error of the connection to the kernel.
    Fuse(FuseError),
    /// The file's name cannot be used.
    Unusable {
        /// The mount point.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The pool's slots are too few or too small; what was given and what these options need.
    Pool(PoolMismatch, crate::fuse::PoolShape),
    /// A thread or its lane could not be started; the thread's number and the reason.
    Queue(usize, String),
    /// The server cannot be bound to this processor.
    Processor(usize, io::Error),
    /// The lane failed.
    Lane(LaneError),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Fuse(error) => write!(f, "{error}"),
            ExportError::Unusable { path, reason } => write!(f, "{}: {reason}", path.display()),
            ExportError::Pool(mismatch, shape) => write!(
                f,
                "{mismatch}; these options need {} slots of {} bytes (Options::pool_shape)",
                shape.slots, shape.slot_bytes
            ),
            ExportError::Queue(number, reason) => write!(f, "queue {number}: {reason}"),
            ExportError::Processor(cpu, error) => {
                write!(f, "cannot run on CPU {cpu}: {error}; choose a CPU this process may use")
            }
            ExportError::Lane(error) => {
                write!(f, "the lane failed: {}: {}", error.call, io::Error::from_raw_os_error(error.errno))
            }
        }
    }
}

impl std::error::Error for ExportError {}

impl From<LaneError> for ExportError {
    fn from(error: LaneError) -> ExportError {
        ExportError::Lane(error)
    }
}

impl From<FuseError> for ExportError {
    fn from(error: FuseError) -> ExportError {
        ExportError::Fuse(error)
    }
}
