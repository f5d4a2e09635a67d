//! Connecting to an export: address, socket, handshake. Cold.

use std::io::{self, Write};
use std::time::Duration;

use iolab_engine::{DeviceFacts, OpenError};
use iolab_nbd::{NbdAddress, NbdExport, NbdHandshakeError, NbdUri, choose_export};
use iolab_options::Settings;
use iolab_sockets::StreamSocket;

use crate::options::Asked;

/// The least time for connecting and for each step of the handshake, however short the time-out of
/// operations is.
const LEAST_HANDSHAKE: Duration = Duration::from_secs(10);

/// A connection whose handshake is over.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) socket: StreamSocket,
    pub(crate) export: NbdExport,
}

impl Link {
    pub(crate) fn connect(uri: &NbdUri, timeout: Duration) -> Result<Link, OpenError> {
        let timeout = timeout.max(LEAST_HANDSHAKE);
        let connected = match &uri.address {
            NbdAddress::Tcp { host, port } => StreamSocket::to_host(host, *port, timeout),
            NbdAddress::Unix(path) => StreamSocket::to_path(path, timeout),
        };
        let mut socket = connected.map_err(|error| not_there(uri, &error))?;
        socket.set_timeouts(timeout).map_err(|error| not_there(uri, &error))?;
        let export = choose_export(&mut socket, &uri.export)
            .map_err(|error| OpenError { message: format!("{uri}: {error}"), errno: errno(&error) })?;
        Ok(Link { socket, export })
    }

    /// Leaves as the protocol has it.
    pub(crate) fn leave(mut self) {
        // A server that has gone already is left, too.
        let _ = self.socket.write_all(&iolab_nbd::leave());
    }
}

fn not_there(uri: &NbdUri, error: &io::Error) -> OpenError {
    let what = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            " (start a server, such as `nbdkit memory 1G` or `iolab device serve --null 1G --listen nbd://127.0.0.1:10809`)"
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            " (the server does not accept connections; it may serve only one client at a time)"
        }
        _ => "",
    };
    OpenError { message: format!("{uri}: cannot connect: {error}{what}"), errno: error.raw_os_error() }
}

fn errno(error: &NbdHandshakeError) -> Option<i32> {
    match error {
        NbdHandshakeError::Io(error) => error.raw_os_error().or(Some(libc::ECONNRESET)),
        NbdHandshakeError::Protocol(_) | NbdHandshakeError::Oldstyle => Some(libc::EPROTO),
        NbdHandshakeError::Unknown { .. } => Some(libc::ENOENT),
        NbdHandshakeError::TlsRequired | NbdHandshakeError::Refused { .. } => Some(libc::EACCES),
    }
}

/// The address that a name is.
pub(crate) fn address(name: &str) -> Result<NbdUri, OpenError> {
    name.parse().map_err(|error| OpenError { message: format!("{error}"), errno: Some(libc::EINVAL) })
}

/// Size and blocks of an export.
pub(crate) fn facts(name: &str, options: &Settings) -> Result<DeviceFacts, OpenError> {
    let link = Link::connect(&address(name)?, Asked::of(options).timeout)?;
    let export = link.export;
    link.leave();
    Ok(DeviceFacts { size_bytes: export.size_bytes, block_bytes: export.sizes.minimum })
}
