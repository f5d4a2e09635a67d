//! Connecting to an export: address, socket, TLS, handshake. Cold.

use std::io::{self, Write};
use std::time::Duration;

use iolab_engine::{DeviceFacts, OpenError};
use iolab_nbd::{NbdAddress, NbdExport, NbdHandshakeError, NbdTls, NbdUri, ask_for_tls, choose_export, choose_secured};
use iolab_options::Settings;
use iolab_sockets::StreamSocket;
use iolab_tls::{StreamChannel, TlsClient, TlsTrust};

use crate::options::Asked;

/// The least time for connecting and for each step of the handshake, however short the time-out of
/// operations is.
const LEAST_HANDSHAKE: Duration = Duration::from_secs(10);

/// A connection whose handshake is over.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) channel: StreamChannel,
    pub(crate) export: NbdExport,
}

impl Link {
    pub(crate) fn connect(uri: &NbdUri, timeout: Duration) -> Result<Link, OpenError> {
        let timeout = timeout.max(LEAST_HANDSHAKE);
        let connected = match &uri.address {
            NbdAddress::Tcp { host, port } => StreamSocket::to_host(host, *port, timeout),
            NbdAddress::Unix(path) => StreamSocket::to_path(path, timeout),
        };
        let socket = connected.map_err(|error| not_there(uri, &error))?;
        socket.set_timeouts(timeout).map_err(|error| not_there(uri, &error))?;
        let mut channel = StreamChannel::from(socket);
        let refused = |error: NbdHandshakeError| OpenError { message: format!("{uri}: {error}"), errno: errno(&error) };
        let export = match &uri.tls {
            None => choose_export(&mut channel, &uri.export),
            Some(tls) => {
                let greeting = ask_for_tls(&mut channel).map_err(refused)?;
                secure(&mut channel, uri, tls)?;
                let chosen = choose_secured(&mut channel, &uri.export, greeting);
                // In TLS 1.3, a server refuses a client when the client believes to be done.
                chosen.map_err(|error| match error {
                    NbdHandshakeError::Io(error) => {
                        let advice = "after TLS (the server may not take the client's certificate, or ask for one)";
                        NbdHandshakeError::Io(io::Error::other(format!("{error} {advice}")))
                    }
                    other => other,
                })
            }
        };
        Ok(Link { channel, export: export.map_err(refused)? })
    }

    /// Leaves as the protocol has it.
    pub(crate) fn leave(mut self) {
        // A server that has gone already is left, too.
        let _ = self.channel.write_all(&iolab_nbd::leave());
    }
}

/// Secures a connection whose server has agreed to it.
fn secure(channel: &mut StreamChannel, uri: &NbdUri, tls: &NbdTls) -> Result<(), OpenError> {
    let failed = |what: String, errno| OpenError { message: format!("{uri}: {what}"), errno: Some(errno) };
    let in_folder = |name: &str| tls.certificates.as_ref().map(|folder| folder.join(name)).filter(|path| path.exists());
    let trust = match in_folder("ca-cert.pem") {
        _ if tls.verifies == Some(false) => TlsTrust::Everybody,
        Some(path) => TlsTrust::File(path),
        None => TlsTrust::Machine,
    };
    let (certificate, key) = (in_folder("client-cert.pem"), in_folder("client-key.pem"));
    let client = TlsClient::new(&trust, certificate.as_deref().zip(key.as_deref()));
    let client = client.map_err(|error| failed(error.to_string(), libc::EINVAL))?;
    let host = match (&tls.server_name, &uri.address) {
        (Some(name), _) => name.as_str(),
        (None, NbdAddress::Tcp { host, .. }) => host.as_str(),
        (None, NbdAddress::Unix(_)) => "localhost",
    };
    channel.secure(&client, host).map_err(|error| failed(error.to_string(), libc::EACCES))
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
        NbdHandshakeError::TlsRequired | NbdHandshakeError::NoTls | NbdHandshakeError::Refused { .. } => {
            Some(libc::EACCES)
        }
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
