//! Making the socket of a lane: listening, connecting, binding, joining a group.
//!
//! Both ends of a pair may be started at the same time, so the one that connects tries again until
//! the other listens.
//!
//! Unsafe: options of sockets that have no safe wrapper.

use std::io::{self, ErrorKind};
use std::mem::size_of_val;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolab_clock::Clock;
use iolab_engine::OpenError;

use crate::options::{NetOptions, Protocol};

/// How long to wait for the other end, ns.
const PATIENCE_NS: u64 = 60_000_000_000;
/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(10);

/// A socket that is ready to send or receive.
#[derive(Debug)]
pub(crate) struct NetSocket {
    pub(crate) fd: OwnedFd,
    /// Datagrams have an end each, a stream has one.
    pub(crate) is_datagram: bool,
    /// Where the datagrams of a writer go, if the socket is not connected yet: a multicast group,
    /// which a reader joins and a writer sends to.
    pub(crate) group: Option<SocketAddr>,
    /// A reader of datagrams, which learns from the first one who sends them.
    pub(crate) learns_peer: bool,
    /// The file of a listening UNIX socket, which is removed at the end.
    pub(crate) path: Option<PathBuf>,
}

fn mistake(message: impl Into<String>) -> OpenError {
    OpenError { message: message.into(), errno: Some(libc::EINVAL) }
}

fn failed(what: &str, error: &io::Error) -> OpenError {
    OpenError { message: format!("{what}: {error}"), errno: error.raw_os_error() }
}

/// Makes the socket that the options describe; `path` names a UNIX socket.
pub(crate) fn open(options: &NetOptions, path: Option<&Path>) -> Result<NetSocket, OpenError> {
    let stream = |fd: OwnedFd, path| NetSocket { fd, is_datagram: false, group: None, learns_peer: false, path };
    match options.protocol {
        Protocol::Tcp { ip6 } => Ok(stream(tcp(options, ip6)?, None)),
        Protocol::Udp { ip6 } => udp(options, ip6),
        Protocol::Unix => {
            let path = path.ok_or_else(|| mistake("protocol=unix needs filename=PATH of the socket"))?;
            let fd = unix(options, path)?;
            Ok(stream(fd, options.listen.then(|| path.to_owned())))
        }
    }
}

fn port(options: &NetOptions) -> Result<u16, OpenError> {
    options.port.ok_or_else(|| mistake("net needs port=NUMBER"))
}

fn tcp(options: &NetOptions, ip6: bool) -> Result<OwnedFd, OpenError> {
    let port = port(options)?;
    let stream = match (&options.hostname, options.listen) {
        (Some(_), true) => return Err(mistake("listen=1 and hostname exclude each other: leave out hostname")),
        (None, false) => return Err(mistake("net needs hostname=HOST to connect to, or listen=1")),
        (None, true) => {
            let address = SocketAddr::new(any(ip6), port);
            let listener =
                TcpListener::bind(address).map_err(|error| failed(&format!("listening on port {port}"), &error))?;
            set_buffers(listener.as_raw_fd(), options)?;
            wait_readable(listener.as_raw_fd(), &format!("port {port}"))?;
            listener.accept().map_err(|error| failed(&format!("accepting on port {port}"), &error))?.0
        }
        (Some(host), false) => {
            let address = resolve(host, port, ip6)?;
            until_it_listens(&format!("{host}, port {port}"), || TcpStream::connect(address))?
        }
    };
    stream.set_nodelay(options.nodelay).map_err(|error| failed("TCP_NODELAY", &error))?;
    set_buffers(stream.as_raw_fd(), options)?;
    set_nonblocking(stream.set_nonblocking(true))?;
    Ok(stream.into())
}

fn unix(options: &NetOptions, path: &Path) -> Result<OwnedFd, OpenError> {
    let named = path.display();
    let stream = if options.listen {
        remove_dead_socket(path)?;
        let listener = UnixListener::bind(path).map_err(|error| failed(&format!("listening on {named}"), &error))?;
        wait_readable(listener.as_raw_fd(), &named.to_string())?;
        listener.accept().map_err(|error| failed(&format!("accepting on {named}"), &error))?.0
    } else {
        until_it_listens(&named.to_string(), || UnixStream::connect(path))?
    };
    set_buffers(stream.as_raw_fd(), options)?;
    set_nonblocking(stream.set_nonblocking(true))?;
    Ok(stream.into())
}

/// Removes a socket on which nobody listens any more, and nothing else.
fn remove_dead_socket(path: &Path) -> Result<(), OpenError> {
    let Ok(there) = path.symlink_metadata() else { return Ok(()) };
    if !there.file_type().is_socket() {
        let message = format!("{} exists and is no socket: name another file", path.display());
        return Err(OpenError { message, errno: Some(libc::EEXIST) });
    }
    if UnixStream::connect(path).is_ok() {
        let message = format!("{}: another program listens there", path.display());
        return Err(OpenError { message, errno: Some(libc::EADDRINUSE) });
    }
    std::fs::remove_file(path).map_err(|error| failed(&path.display().to_string(), &error))
}

fn udp(options: &NetOptions, ip6: bool) -> Result<NetSocket, OpenError> {
    if options.listen {
        return Err(mistake("listen is for tcp and unix: a job that reads listens to its UDP port anyway"));
    }
    let port = port(options)?;
    let target = options.hostname.as_deref().map(|host| resolve(host, port, ip6)).transpose()?;
    let group = target.filter(|target| target.ip().is_multicast());
    let own_port = if target.is_some() && group.is_none() { 0 } else { port };
    let socket =
        UdpSocket::bind((any(ip6), own_port)).map_err(|error| failed(&format!("UDP port {own_port}"), &error))?;
    set_buffers(socket.as_raw_fd(), options)?;
    if let Some(group) = group {
        join(&socket, group.ip(), options)?;
    } else if let Some(target) = target {
        socket.connect(target).map_err(|error| failed(&format!("{target}"), &error))?;
    }
    set_nonblocking(socket.set_nonblocking(true))?;
    Ok(NetSocket {
        fd: socket.into(),
        is_datagram: true,
        group,
        learns_peer: target.is_none() || group.is_some(),
        path: None,
    })
}

fn join(socket: &UdpSocket, group: IpAddr, options: &NetOptions) -> Result<(), OpenError> {
    let unknown = |interface: &str| mistake(format!("interface={interface}: not an address (udp) or number (udpv6)"));
    let joined = |error: io::Error| failed(&format!("joining {group}"), &error);
    match group {
        IpAddr::V4(group) => {
            let interface = match &options.interface {
                Some(text) => text.parse().map_err(|_| unknown(text))?,
                None => Ipv4Addr::UNSPECIFIED,
            };
            socket.join_multicast_v4(&group, &interface).map_err(joined)?;
            socket.set_multicast_ttl_v4(options.ttl.into()).map_err(joined)?;
            let address = libc::in_addr { s_addr: u32::from(interface).to_be() };
            set(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &address)
        }
        IpAddr::V6(group) => {
            let interface: u32 = match &options.interface {
                Some(text) => text.parse().map_err(|_| unknown(text))?,
                None => 0,
            };
            socket.join_multicast_v6(&group, interface).map_err(joined)?;
            let hops = libc::c_int::from(options.ttl);
            set(socket.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS, &hops)?;
            set(socket.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF, &interface)
        }
    }
}

fn any(ip6: bool) -> IpAddr {
    if ip6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() }
}

fn resolve(host: &str, port: u16, ip6: bool) -> Result<SocketAddr, OpenError> {
    let found = (host, port).to_socket_addrs().map_err(|error| failed(&format!("hostname={host}"), &error))?;
    let mut fitting = found.filter(|address| address.is_ipv6() == ip6);
    let version = if ip6 { 6 } else { 4 };
    fitting.next().ok_or_else(|| mistake(format!("hostname={host} has no address of IP version {version}")))
}

/// Connects, again and again while nobody listens yet.
fn until_it_listens<S>(what: &str, connect: impl Fn() -> io::Result<S>) -> Result<S, OpenError> {
    let clock = Clock::monotonic();
    let until_ns = clock.now_ns() + PATIENCE_NS;
    loop {
        match connect() {
            Ok(stream) => return Ok(stream),
            Err(error) => {
                let may_come =
                    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound | ErrorKind::Interrupted);
                if !may_come || clock.now_ns() >= until_ns {
                    return Err(failed(&format!("connecting to {what}"), &error));
                }
                std::thread::sleep(AGAIN);
            }
        }
    }
}

/// Waits until somebody connects.
fn wait_readable(fd: RawFd, what: &str) -> Result<(), OpenError> {
    let clock = Clock::monotonic();
    let until_ns = clock.now_ns() + PATIENCE_NS;
    while clock.now_ns() < until_ns {
        let mut wanted = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry.
        if unsafe { libc::poll(&raw mut wanted, 1, AGAIN.as_millis() as libc::c_int) } > 0 {
            return Ok(());
        }
    }
    let message = format!("nobody connected to {what} within {} s", PATIENCE_NS / 1_000_000_000);
    Err(OpenError { message, errno: Some(libc::ETIMEDOUT) })
}

fn set_nonblocking(done: io::Result<()>) -> Result<(), OpenError> {
    done.map_err(|error| failed("making a socket that does not block", &error))
}

fn set_buffers(fd: RawFd, options: &NetOptions) -> Result<(), OpenError> {
    if options.window_bytes > 0 {
        set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, &options.window_bytes)?;
        set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, &options.window_bytes)?;
    }
    if options.segment_bytes > 0 && matches!(options.protocol, Protocol::Tcp { .. }) {
        set(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &options.segment_bytes)?;
    }
    Ok(())
}

fn set<T: Copy>(fd: RawFd, level: libc::c_int, name: libc::c_int, value: &T) -> Result<(), OpenError> {
    let length = size_of_val(value) as libc::socklen_t;
    // SAFETY: the value is read for its own length; the kernel checks everything else.
    if unsafe { libc::setsockopt(fd, level, name, std::ptr::from_ref(value).cast(), length) } == 0 {
        return Ok(());
    }
    Err(failed(&format!("option {name} of the socket"), &io::Error::last_os_error()))
}
