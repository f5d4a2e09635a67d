//! Why an export could not start, or ended early.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::{PoolMismatch, PoolShape};
use iolab_engine::LaneError;

/// Why an export failed.
#[derive(Debug)]
pub enum ExportError {
    /// `/dev/ublk-control` cannot be opened.
    NoUblk(io::Error),
    /// A file of the device cannot be opened or mapped.
    Device(PathBuf, io::Error),
    /// The driver refused a control command.
    Refused(&'static str, io::Error),
    /// The driver refused to deliver requests.
    NoRequests(io::Error),
    /// The pool's slots are too many or too small; what was given and what these options need.
    Pool(PoolMismatch, PoolShape),
    /// A thread or its lane could not be started; the thread's number and the reason.
    Queue(usize, String),
    /// The server cannot be bound to this processor.
    Processor(usize, io::Error),
    /// The ring failed.
    Ring(io::Error),
    /// The lane failed.
    Lane(LaneError),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::NoUblk(error) => write!(
                f,
                "cannot open /dev/ublk-control: {error}; exporting a block device needs root and the module ublk_drv \
                 (Linux 6.4 and later; modprobe ublk_drv)"
            ),
            ExportError::Device(path, error) => write!(f, "{}: {error}", path.display()),
            ExportError::Refused(command, error) if error.raw_os_error() == Some(libc::EEXIST) => {
                write!(f, "{command}: a device with this number exists; delete it or choose another number")
            }
            ExportError::Refused(command, error) => write!(f, "the ublk driver rejected {command}: {error}"),
            ExportError::NoRequests(error) => write!(f, "the ublk driver delivers no requests: {error}"),
            ExportError::Pool(mismatch, shape) => write!(
                f,
                "{mismatch}; these options need {} slots of {} bytes (Options::pool_shape)",
                shape.slots, shape.slot_bytes
            ),
            ExportError::Queue(number, reason) => write!(f, "queue {number}: {reason}"),
            ExportError::Processor(cpu, error) => {
                write!(f, "cannot run on CPU {cpu}: {error}; choose a CPU this process may use")
            }
            ExportError::Ring(error) => write!(f, "io_uring: {error}"),
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
