//! A connected stream socket of either family: TCP, or a socket of this machine by its path.
//!
//! Reads and writes wait at most as long as [`StreamSocket::set_timeouts`] says, and fail with
//! `WouldBlock` then. The calls of [`crate::PieceList`] never wait. Deliberately not here: TLS
//! (the crate `tls`), and listening.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    shutdown, socket_with,
};

/// A connected socket.
#[derive(Debug)]
pub struct StreamSocket {
    fd: OwnedFd,
}

impl StreamSocket {
    /// Connects to a port of a host, trying each of its addresses; small messages are sent at once
    /// (TCP_NODELAY).
    ///
    /// # Errors
    /// No such host, or the error of the last address.
    pub fn to_host(host: &str, port: u16, timeout: Duration) -> io::Result<StreamSocket> {
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(stream) => return StreamSocket::of_tcp(stream),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Connects to a socket of this machine.
    ///
    /// # Errors
    /// Nobody listens, or the server has not accepted in time (`WouldBlock`).
    pub fn to_path(path: &Path, timeout: Duration) -> io::Result<StreamSocket> {
        let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // Connecting waits while the server's queue of connections is full.
        set_socket_timeout(&fd, Timeout::Send, Some(timeout))?;
        connect(&fd, &SocketAddrUnix::new(path)?)?;
        Ok(StreamSocket { fd })
    }

    /// An accepted connection.
    ///
    /// # Errors
    /// The socket cannot be set up.
    pub fn of_tcp(stream: TcpStream) -> io::Result<StreamSocket> {
        stream.set_nodelay(true)?;
        Ok(StreamSocket { fd: stream.into() })
    }

    /// How long a read or a write waits.
    ///
    /// # Errors
    /// What setsockopt(2) says.
    pub fn set_timeouts(&self, timeout: Duration) -> io::Result<()> {
        // Zero would mean for ever.
        let timeout = Some(timeout.max(Duration::from_millis(1)));
        set_socket_timeout(&self.fd, Timeout::Recv, timeout)?;
        Ok(set_socket_timeout(&self.fd, Timeout::Send, timeout)?)
    }

    /// Reads what has come, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if nothing has come; otherwise the error of recv(2).
    pub fn read_now(&self, to: &mut [u8]) -> io::Result<usize> {
        Ok(recv(&self.fd, to, RecvFlags::DONTWAIT)?.0)
    }

    /// Writes what the socket takes, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if it takes nothing; otherwise the error of send(2).
    pub fn write_now(&self, from: &[u8]) -> io::Result<usize> {
        send_with(&self.fd, from, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    }

    /// Ends the connection for whoever uses it.
    pub fn end(&self) {
        // A connection that has ended needs no end.
        let _ = shutdown(&self.fd, Shutdown::Both);
    }

    /// Another handle on the same connection.
    ///
    /// # Errors
    /// No descriptor is free.
    pub fn try_clone(&self) -> io::Result<StreamSocket> {
        Ok(StreamSocket { fd: self.fd.try_clone()? })
    }
}

fn send_with(fd: &OwnedFd, from: &[u8], flags: SendFlags) -> io::Result<usize> {
    match send(fd, from, flags) {
        Err(Errno::PIPE) => Err(io::ErrorKind::BrokenPipe.into()),
        other => Ok(other?),
    }
}

impl From<UnixStream> for StreamSocket {
    fn from(stream: UnixStream) -> StreamSocket {
        StreamSocket { fd: stream.into() }
    }
}

impl AsFd for StreamSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Read for StreamSocket {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        Ok(recv(&self.fd, to, RecvFlags::empty())?.0)
    }
}

impl Write for StreamSocket {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        send_with(&self.fd, from, SendFlags::NOSIGNAL)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn talk(mut near: StreamSocket, mut far: StreamSocket) {
        near.write_all(b"ping").unwrap();
        let mut came = [0; 4];
        far.read_exact(&mut came).unwrap();
        assert_eq!(&came, b"ping");
        assert_eq!(far.read_now(&mut came).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        near.set_timeouts(Duration::from_millis(1)).unwrap();
        assert_eq!(near.read(&mut came).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        far.try_clone().unwrap().end();
        assert_eq!(near.read(&mut came).unwrap(), 0, "the other end has ended it");
    }

    #[test]
    fn both_families_carry_bytes_and_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = StreamSocket::to_host("localhost", listener.local_addr().unwrap().port(), PATIENCE).unwrap();
        talk(near, StreamSocket::of_tcp(listener.accept().unwrap().0).unwrap());

        let folder = std::env::temp_dir().join(format!("iolab-stream-socket-{}", std::process::id()));
        let listener = UnixListener::bind(&folder).unwrap();
        let near = StreamSocket::to_path(&folder, PATIENCE).unwrap();
        talk(near, listener.accept().unwrap().0.into());
        std::fs::remove_file(&folder).unwrap();
        assert!(StreamSocket::to_path(&folder, PATIENCE).is_err());
    }
}
