//! What can go wrong with a server.

use std::io;

use crate::protocol::{MAJOR, MINOR};

/// Why connecting or asking failed.
#[derive(Debug, thiserror::Error)]
pub enum VfioUserError {
    /// Nobody serves a device there.
    #[error("no vfio-user device is served at {path}: {source}")]
    NotServed {
        /// The socket tried.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The other end speaks another version.
    #[error("the vfio-user server has protocol version {major}.{minor}, and this program {MAJOR}.{MINOR}")]
    Version {
        /// Of the other end.
        major: u16,
        /// Of the other end.
        minor: u16,
    },
    /// The other end refused.
    #[error("the vfio-user server refuses {what}: {source}")]
    Refused {
        /// What it was asked for.
        what: &'static str,
        /// Its errno.
        source: io::Error,
    },
    /// What it answered is not of the protocol, or of no NVMe function.
    #[error("the vfio-user server answers {what} with {why}")]
    Odd {
        /// What it was asked for.
        what: &'static str,
        /// What is wrong with its answer.
        why: &'static str,
    },
    /// The connection broke, or no answer came in time.
    #[error("the vfio-user server does not respond: {0}")]
    Broken(#[from] io::Error),
}
