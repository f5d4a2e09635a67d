//! The transport of requests, and events for users, as plain data.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The way in which requests reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuseTransport {
    /// io_uring if the kernel has it, otherwise reads and writes.
    Auto,
    /// Reads and writes of `/dev/fuse`.
    Classic,
    /// FUSE over io_uring; an error if the kernel does not have it.
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

/// An event that a user may want to know while the server runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FuseEvent {
    /// It is mounted, and requests use this transport.
    Serving {
        /// The path of what is served.
        path: PathBuf,
        /// The transport in use, never `Auto`.
        transport: FuseTransport,
    },
    /// Something is done differently than usual, for this reason.
    Note(String),
    /// A stop was requested, but the mount is in use. It is served until it is unmounted, or until
    /// a second stop.
    Busy,
    /// A stop was requested, and unmounting failed for this reason.
    CannotUnmount(String),
}

/// Receives events; may be called from another thread.
pub type Observer = Arc<dyn Fn(&FuseEvent) + Send + Sync>;
