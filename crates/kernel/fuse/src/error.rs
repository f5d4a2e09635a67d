//! Why a connection could not be made, or ended early.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a connection failed.
#[derive(Debug)]
pub enum FuseError {
    /// `/dev/fuse` cannot be opened.
    NoFuse(io::Error),
    /// The mount point cannot be used.
    Unusable {
        /// The mount point.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// Mounting failed.
    Mount {
        /// The mount point.
        path: PathBuf,
        /// The error of the kernel or of the helper.
        reason: String,
    },
    /// The kernel and the server do not agree on the protocol.
    Protocol(String),
    /// FUSE over io_uring was required, and is not available.
    NoUring(String),
    /// A call on the connection failed in a way that does not end it.
    Connection(&'static str, io::Error),
}

impl fmt::Display for FuseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FuseError::NoFuse(error) => {
                write!(f, "cannot open /dev/fuse: {error}; needs a kernel with FUSE and permission to open it")
            }
            FuseError::Unusable { path, reason } => write!(f, "{}: {reason}", path.display()),
            FuseError::Mount { path, reason } => write!(f, "cannot mount on {}: {reason}", path.display()),
            FuseError::Protocol(what) => write!(f, "the kernel's FUSE protocol does not match: {what}"),
            FuseError::NoUring(what) => write!(f, "FUSE over io_uring cannot be used: {what}"),
            FuseError::Connection(call, error) => write!(f, "{call} failed: {error}"),
        }
    }
}

impl std::error::Error for FuseError {}
