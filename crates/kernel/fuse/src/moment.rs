//! The transport of requests, and events that users want to know of. Plain data.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// How requests travel between the kernel and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuseTransport {
    /// io_uring where the kernel has it, reads and writes elsewhere.
    Auto,
    /// Reads and writes of `/dev/fuse`.
    Classic,
    /// FUSE over io_uring; an error where the kernel does not have it.
    Uring,
}

impl fmt::Display for FuseTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FuseTransport::Auto => "auto",
            FuseTransport::Classic => "classic",
            FuseTransport::Uring => "io_uring",
        })
    }
}

/// Something a user would want to know while the server runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FuseEvent {
    /// It is mounted, and requests use this transport.
    Serving {
        /// What is served.
        path: PathBuf,
        /// The transport in use, never `Auto`.
        transport: FuseTransport,
    },
    /// Something is done differently than usual, for this reason.
    Note(String),
    /// A stop was requested, but the mount is in use: it is served until it is unmounted, or until
    /// a second stop.
    Busy,
    /// A stop was requested, and unmounting failed for this reason.
    CannotUnmount(String),
}

/// Receives moments; may be called from another thread.
pub type Observer = Arc<dyn Fn(&FuseEvent) + Send + Sync>;
