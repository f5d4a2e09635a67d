//! Errors of this crate.

use std::io;

use iolab_c_library::CLibraryError;

/// Why an operation of RDMA failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerbsError {
    /// A library is missing.
    #[error("RDMA needs {library}: {why}; install it with: apt-get install librdmacm1 ibverbs-providers")]
    NotInstalled {
        /// Its file.
        library: &'static str,
        /// The loader's message.
        why: String,
    },
    /// No adapter of this machine reaches the address.
    #[error(
        "no RDMA adapter of this machine reaches {at} ({why}); `rdma link` lists them, and `rdma link add rxe0 type rxe netdev eth0` makes one of any network card"
    )]
    NoAdapter {
        /// The address.
        at: String,
        /// The library's message.
        why: String,
    },
    /// The peer does not accept the connection.
    #[error("the peer refuses the connection{}", reason(*.status))]
    Refused {
        /// The status of the connection manager.
        status: i32,
        /// The peer's reason.
        private_data: Vec<u8>,
    },
    /// All other errors.
    #[error("{what}: {why}")]
    Failed {
        /// What was tried.
        what: String,
        /// Why it failed.
        why: String,
    },
}

/// Reasons of the connection manager that users encounter (InfiniBand, table of REJ reasons).
fn reason(status: i32) -> &'static str {
    match status {
        8 | 111 => ": nobody listens there",
        28 => ": it gives a reason of its own",
        _ => "",
    }
}

impl From<CLibraryError> for VerbsError {
    fn from(CLibraryError { library, why }: CLibraryError) -> VerbsError {
        VerbsError::NotInstalled { library, why }
    }
}

impl VerbsError {
    pub(crate) fn failed(what: impl Into<String>, why: impl ToString) -> VerbsError {
        VerbsError::Failed { what: what.into(), why: why.to_string() }
    }

    /// An error with `errno` of the calling thread.
    pub(crate) fn last(what: impl Into<String>) -> VerbsError {
        VerbsError::failed(what, io::Error::last_os_error())
    }
}
