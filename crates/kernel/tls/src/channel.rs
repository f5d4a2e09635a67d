//! A connection, secured or not.
//!
//! It begins plain. A handshake secures it; from then on, everything goes through TLS. Errors of
//! TLS have the kind `InvalidData`, and say what to do about it where that is known.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use iolab_sockets::{ReadPieces, StreamSocket, WrittenPieces};
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConnection, ServerConnection};

use crate::identity::TlsServer;
use crate::sealed::{Patience, Sealed};
use crate::trust::TlsClient;

/// A connection.
#[derive(Debug)]
pub struct StreamChannel {
    socket: StreamSocket,
    sealed: Option<Box<Sealed>>,
}

impl From<StreamSocket> for StreamChannel {
    fn from(socket: StreamSocket) -> StreamChannel {
        StreamChannel { socket, sealed: None }
    }
}

impl StreamChannel {
    /// The socket, for its time-outs and its end.
    pub fn socket(&self) -> &StreamSocket {
        &self.socket
    }

    /// Begins a handshake as the client of a server of this name, or address.
    ///
    /// # Errors
    /// No such name is possible.
    pub fn begin_client(&mut self, client: &TlsClient, name: &str) -> io::Result<()> {
        let wrong = |_| io::Error::new(ErrorKind::InvalidInput, format!("`{name}` is no name of a host"));
        let name = ServerName::try_from(name.to_owned()).map_err(wrong)?;
        let connection = ClientConnection::new(Arc::clone(&client.config), name).map_err(io::Error::other)?;
        self.sealed = Some(Box::new(Sealed::new(connection.into())));
        Ok(())
    }

    /// Begins a handshake as the server.
    ///
    /// # Errors
    /// No memory.
    pub fn begin_server(&mut self, server: &TlsServer) -> io::Result<()> {
        let connection = ServerConnection::new(Arc::clone(&server.config)).map_err(io::Error::other)?;
        self.sealed = Some(Box::new(Sealed::new(connection.into())));
        Ok(())
    }

    /// Takes one step of a handshake that has begun, which waits at most once for the other end.
    /// Returns whether it is over.
    ///
    /// # Errors
    /// The socket, its time-outs, or who the other end is.
    pub fn handshake_step(&mut self) -> io::Result<bool> {
        match &mut self.sealed {
            Some(sealed) => sealed.handshake_step(&mut self.socket).map_err(|error| explained(&error)),
            None => Ok(true),
        }
    }

    /// A whole handshake as the client of a server of this name, or address.
    ///
    /// # Errors
    /// As of [`StreamChannel::begin_client`] and [`StreamChannel::handshake_step`].
    pub fn secure(&mut self, client: &TlsClient, name: &str) -> io::Result<()> {
        self.begin_client(client, name)?;
        while !self.handshake_step()? {}
        Ok(())
    }

    /// Fills pieces with what has come, without waiting. Returns how many bytes; 0 at the end.
    ///
    /// # Errors
    /// `WouldBlock` if nothing has come; otherwise those of the socket and of TLS.
    #[inline]
    pub fn receive(&mut self, pieces: ReadPieces<'_, '_>) -> io::Result<usize> {
        match &mut self.sealed {
            None => pieces.receive(&self.socket),
            Some(sealed) => sealed.receive(&mut self.socket, pieces),
        }
    }

    /// Sends pieces, without waiting. Returns how many bytes were taken. With TLS, some may still
    /// wait for room in the socket ([`StreamChannel::has_unsent`]).
    ///
    /// # Errors
    /// `WouldBlock` if nothing is taken; otherwise those of the socket and of TLS.
    #[inline]
    pub fn send(&mut self, pieces: WrittenPieces<'_, '_>) -> io::Result<usize> {
        match &mut self.sealed {
            None => pieces.send(&self.socket),
            Some(sealed) => sealed.send(&mut self.socket, pieces),
        }
    }

    /// Sends what waits for room in the socket, without waiting. Returns whether all of it has
    /// gone.
    ///
    /// # Errors
    /// Those of the socket.
    #[inline]
    pub fn push(&mut self) -> io::Result<bool> {
        match &mut self.sealed {
            None => Ok(true),
            Some(sealed) => sealed.push(&mut self.socket, Patience::Now),
        }
    }

    /// Whether bytes that were taken wait for room in the socket.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.sealed.as_ref().is_some_and(|sealed| sealed.has_unsent())
    }

    /// Whether bytes have come that poll(2) on the socket does not show.
    #[inline]
    pub fn has_unread(&self) -> bool {
        self.sealed.as_ref().is_some_and(|sealed| sealed.has_unread())
    }
}

/// An error of TLS with what to do about it.
fn explained(error: &io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let advice = match cause {
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            " (the authority that has signed it is not trusted: name the file of its certificate)"
        }
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => " (the certificate is for another name)",
        Some(rustls::Error::InvalidMessage(_)) => " (the server may not speak TLS there)",
        Some(rustls::Error::AlertReceived(_)) => " (the server refuses; it may ask for a certificate of the client)",
        _ => "",
    };
    io::Error::new(error.kind(), format!("TLS: {error}{advice}"))
}

impl AsFd for StreamChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Read for StreamChannel {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match &mut self.sealed {
            None => self.socket.read(to),
            Some(sealed) => sealed.read(&mut self.socket, to, Patience::Waits),
        }
    }
}

impl Write for StreamChannel {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match &mut self.sealed {
            None => self.socket.write(from),
            Some(sealed) => sealed.write(&mut self.socket, from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for StreamChannel {
    fn drop(&mut self) {
        if let Some(sealed) = &mut self.sealed {
            sealed.leave(&mut self.socket);
        }
    }
}
