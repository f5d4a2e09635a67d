//! Errors of the handshake and of the stream after it, and the error numbers that travel.

use std::io;

/// Error numbers of the protocol, which are those of Linux.
const ON_THE_WIRE: [i32; 8] = [
    libc::EPERM,
    libc::EIO,
    libc::ENOMEM,
    libc::EINVAL,
    libc::ENOSPC,
    libc::EOVERFLOW,
    libc::EOPNOTSUPP,
    libc::ESHUTDOWN,
];

/// The errno of an error number of a reply; an unknown one counts as `EINVAL`, as the protocol
/// says.
pub fn errno_of_wire(error: u32) -> i32 {
    i32::try_from(error).ok().filter(|errno| ON_THE_WIRE.contains(errno)).unwrap_or(libc::EINVAL)
}

/// The error number of a reply for an errno (positive).
pub fn wire_of_errno(errno: i32) -> u32 {
    match errno {
        known if ON_THE_WIRE.contains(&known) => known as u32,
        libc::EACCES | libc::EROFS => libc::EPERM as u32,
        libc::EFBIG | libc::EDQUOT => libc::ENOSPC as u32,
        libc::ENOTCONN | libc::ENODEV => libc::ESHUTDOWN as u32,
        _ => libc::EIO as u32,
    }
}

/// Why no export was agreed on.
#[derive(Debug, thiserror::Error)]
pub enum NbdHandshakeError {
    /// The connection: closed by the peer, or silent for too long.
    #[error("{}", of_connection(.0))]
    Io(#[from] io::Error),
    /// The peer does not speak the protocol, or breaks it.
    #[error("the peer breaks the protocol of NBD: {0}")]
    Protocol(&'static str),
    /// The server has only the handshake that was replaced in 2011.
    #[error("the server has only the oldstyle handshake; update it")]
    Oldstyle,
    /// The server demands TLS.
    #[error("the server demands TLS: write nbds:// instead of nbd://, or nbds+unix:// instead of nbd+unix://")]
    TlsRequired,
    /// The server has no TLS.
    #[error(
        "the server has no TLS (nbdkit --tls=on, qemu-nbd --tls-creds); nbd:// does without, if you trust the network"
    )]
    NoTls,
    /// The server has no such export.
    #[error("the server has no export `{name}`{there}")]
    Unknown {
        /// The export that was asked for.
        name: String,
        /// The exports that it has, as far as it tells; empty, or a sentence that begins with `; `.
        there: String,
    },
    /// The server refuses.
    #[error("the server refuses export `{name}`: {why}")]
    Refused {
        /// The export that was asked for.
        name: String,
        /// Its reason.
        why: String,
    },
}

fn of_connection(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed the connection during the handshake".to_owned(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer to the handshake (it may serve only one \
            client at a time: qemu-nbd --shared=N)"
            .to_owned(),
        _ => error.to_string(),
    }
}

/// The stream of requests or replies is broken: nothing that follows can be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer breaks the protocol of NBD: {0}")]
pub struct NbdStreamError(pub &'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_protocol_keep_their_meaning() {
        for errno in ON_THE_WIRE {
            assert_eq!(errno_of_wire(wire_of_errno(errno)), errno);
        }
        assert_eq!((errno_of_wire(2), errno_of_wire(u32::MAX)), (libc::EINVAL, libc::EINVAL));
        for (errno, wire) in [(libc::EROFS, 1), (libc::EDQUOT, 28), (libc::ENODATA, 5), (libc::ENODEV, 108)] {
            assert_eq!(wire_of_errno(errno), wire);
        }
    }
}
