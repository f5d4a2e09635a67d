//! Errors of a connection to a server.

use std::io;

use crate::protocol::{MAJOR, MINOR};

/// Why connecting or a request failed.
#[derive(Debug, thiserror::Error)]
pub enum VfioUserError {
    /// No server listens there.
    #[error("no vfio-user device is served at {path}: {source}")]
    NotServed {
        /// The path of the socket.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The other end speaks another version.
    #[error("the vfio-user server has protocol version {major}.{minor}, and this program {MAJOR}.{MINOR}")]
    Version {
        /// The major version of the other end.
        major: u16,
        /// The minor version of the other end.
        minor: u16,
    },
    /// The other end refused.
    #[error("the vfio-user server refuses {what}: {source}")]
    Refused {
        /// The request.
        what: &'static str,
        /// The errno of the refusal.
        source: io::Error,
    },
    /// The answer violates the protocol, or does not describe an NVMe function.
    #[error("the vfio-user server answers {what} with {why}")]
    Odd {
        /// The request.
        what: &'static str,
        /// What is wrong with the answer.
        why: &'static str,
    },
    /// The connection broke, or no answer arrived in time.
    #[error("the vfio-user server does not respond: {0}")]
    Broken(#[from] io::Error),
}
