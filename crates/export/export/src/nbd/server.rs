//! Listens, and serves each client on a thread of its own until the server is dropped.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use iolab_clock::Clock;
use iolab_engine::Lane;
use iolab_nbd::{NbdFlags, NbdOffer, NbdSizes};
use iolab_sockets::StreamSocket;
use iolab_tls::TlsServer;
use rustix::event::{PollFd, PollFlags, poll};

use super::session::{self, Service, SharedOpenLane};
use crate::{LaneLimits, PoolShape, ServedCounts, SharedRanges, Size, Stop, slot_bytes};

/// Clients that are served at a time.
pub const MOST_CLIENTS: usize = 64;
/// Requests of one client that are in flight.
const DEPTH: usize = 64;
/// The longest read or write, bytes: clients are told, and those that ask for more are refused.
const MOST_BYTES: usize = 1 << 20;
/// How long a client may take to choose the export.
const HANDSHAKE: Duration = Duration::from_secs(30);
/// How long the accepting thread rests when no descriptor or thread is free.
const REST: Duration = Duration::from_millis(50);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NbdPlace {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A socket of this machine.
    Unix(PathBuf),
}

/// What is served.
#[derive(Debug, Clone)]
pub struct NbdServerOptions {
    /// The name of the export, which is also the default one.
    pub name: String,
    /// Its size.
    pub size: Size,
    /// The limits of its lanes.
    pub limits: LaneLimits,
    /// The clock that bounds handshakes.
    pub clock: Clock,
    /// Who the server is to clients, which must use TLS then.
    pub tls: Option<TlsServer>,
}

/// What the threads share.
struct Shared {
    is_over: AtomicBool,
    /// The socket of each client that is being served.
    clients: Mutex<Vec<Option<StreamSocket>>>,
    counts: Mutex<(u64, ServedCounts)>,
}

impl Shared {
    /// Takes a place for a client; `None` if all are taken.
    fn enter(&self, socket: &StreamSocket) -> Option<usize> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let place = clients.iter().position(Option::is_none)?;
        clients[place] = Some(socket.try_clone().ok()?);
        Some(place)
    }

    fn leave(&self, place: usize, served: ServedCounts) {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)[place] = None;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.0 += 1;
        counts.1 += served;
    }

    /// Ends the connections of all clients.
    fn end_all(&self) {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.iter().flatten().for_each(StreamSocket::end);
    }
}

/// An export that is being served; dropping it ends all connections and removes the socket's path.
pub struct NbdServer {
    place: NbdPlace,
    stop: Arc<Stop>,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl fmt::Debug for NbdServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "NbdServer({:?})", self.place)
    }
}

impl NbdServer {
    /// Listens at a place; port 0 means any that is free. A socket that a killed server left at a
    /// path is replaced; one that still answers is an error.
    ///
    /// # Errors
    /// The place is taken or not to be had, or no thread can be started.
    pub fn start<L: Lane + 'static>(
        place: &NbdPlace,
        open: SharedOpenLane<L>,
        options: &NbdServerOptions,
    ) -> io::Result<NbdServer> {
        let (listener, place) = Listener::at(place)?;
        let stop = Arc::new(Stop::by_hand()?);
        let shared = Arc::new(Shared {
            is_over: AtomicBool::new(false),
            clients: Mutex::new((0..MOST_CLIENTS).map(|_| None).collect()),
            counts: Mutex::default(),
        });
        let ranges = SharedRanges::new(MOST_CLIENTS, DEPTH).map_err(io::Error::other)?;
        let service = Arc::new(Service {
            offer: offer(options),
            size: options.size,
            limits: options.limits,
            shape: PoolShape { slots: DEPTH, slot_bytes: slot_bytes(MOST_BYTES) },
            ranges,
            open,
            clock: options.clock.clone(),
            handshake: HANDSHAKE,
            tls: options.tls.clone(),
        });
        let (own_stop, own_shared) = (Arc::clone(&stop), Arc::clone(&shared));
        let accepting = Builder::new()
            .name("nbd-accept".into())
            .spawn(move || accept_all(&listener, &service, &own_stop, &own_shared))?;
        Ok(NbdServer { place, stop, shared, accepting: Some(accepting) })
    }

    /// Where it listens, with the port that it has.
    pub fn place(&self) -> &NbdPlace {
        &self.place
    }

    /// How many clients have been served to their end, and what they had.
    pub fn served(&self) -> (u64, ServedCounts) {
        *self.shared.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the service, and returns what [`NbdServer::served`] counts then.
    pub fn end(mut self) -> (u64, ServedCounts) {
        self.halt();
        self.served()
    }

    fn halt(&mut self) {
        let Some(accepting) = self.accepting.take() else { return };
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.stop.raise();
        if let NbdPlace::Unix(path) = &self.place {
            // Somebody may have removed it already.
            let _ = std::fs::remove_file(path);
        }
        // A thread that panicked has said so.
        let _ = accepting.join();
    }
}

impl Drop for NbdServer {
    fn drop(&mut self) {
        self.halt();
    }
}

fn offer(options: &NbdServerOptions) -> NbdOffer {
    let flags = NbdFlags::HAS_FLAGS
        | NbdFlags::FLUSH
        | NbdFlags::FUA
        | NbdFlags::TRIM
        | NbdFlags::WRITE_ZEROES
        | NbdFlags::DONT_FRAGMENT
        | NbdFlags::MULTI_CONNECTION;
    // Any alignment is served; whole pages without reading what is around them.
    let sizes = NbdSizes { minimum: 1, preferred: 4096, maximum: MOST_BYTES as u32 };
    NbdOffer { name: options.name.clone(), size_bytes: options.size.bytes(), flags: NbdFlags(flags), sizes }
}

/// The socket that clients connect to.
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    fn at(place: &NbdPlace) -> io::Result<(Listener, NbdPlace)> {
        match place {
            NbdPlace::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                let place = NbdPlace::Tcp(listener.local_addr()?);
                Ok((Listener::Tcp(listener), place))
            }
            NbdPlace::Unix(path) => {
                let listener = listen_at(path)?;
                listener.set_nonblocking(true)?;
                Ok((Listener::Unix(listener), place.clone()))
            }
        }
    }

    fn accept(&self) -> io::Result<StreamSocket> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                StreamSocket::of_tcp(stream)
            }
            Listener::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                Ok(stream.into())
            }
        }
    }
}

fn listen_at(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
                return Err(io::Error::new(ErrorKind::AlreadyExists, "a file that is not a socket is there"));
            }
            match StreamSocket::to_path(path, REST) {
                Err(refused) if refused.kind() == ErrorKind::ConnectionRefused => {}
                _ => return Err(error),
            }
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        other => other,
    }
}

/// Waits for a client, or for the end.
fn wait(listener: &Listener, stop: &Stop) {
    let socket = match listener {
        Listener::Tcp(listener) => listener.as_fd(),
        Listener::Unix(listener) => listener.as_fd(),
    };
    let mut list = [PollFd::from_borrowed_fd(socket, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
    // An interrupted wait is one more round.
    let _ = poll(&mut list, None);
}

fn accept_all<L: Lane + 'static>(
    listener: &Listener,
    service: &Arc<Service<L>>,
    stop: &Arc<Stop>,
    shared: &Arc<Shared>,
) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while !shared.is_over.load(Ordering::SeqCst) {
        wait(listener, stop);
        match listener.accept() {
            Ok(socket) => threads.extend(begin(socket, service, shared)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // Most likely no descriptor is free; clients wait until one is.
            Err(_) => std::thread::sleep(REST),
        }
        threads.retain(|thread| !thread.is_finished());
    }
    // No client enters any more: those that are there see their end.
    shared.end_all();
    for thread in threads {
        // A thread that panicked has said so.
        let _ = thread.join();
    }
}

/// Starts the thread of a client. A client beyond the most sees its connection closed.
fn begin<L: Lane + 'static>(
    socket: StreamSocket,
    service: &Arc<Service<L>>,
    shared: &Arc<Shared>,
) -> Option<JoinHandle<()>> {
    let place = shared.enter(&socket)?;
    let (own_service, own_shared) = (Arc::clone(service), Arc::clone(shared));
    let body = move || {
        let served = session::serve(socket, &own_service, place);
        own_shared.leave(place, served);
    };
    match Builder::new().name(format!("nbd-client-{place}")).spawn(body) {
        Ok(thread) => Some(thread),
        Err(_) => {
            shared.leave(place, ServedCounts::default());
            None
        }
    }
}
