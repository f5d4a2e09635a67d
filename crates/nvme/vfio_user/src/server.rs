//! The device's end: a socket that clients connect to, one thread for each of them.
//!
//! No client can delay the end of the service. Each wait here lasts at most for one poll, a reset
//! or a memory access by messages, and the resources of a client are limited
//! ([`crate::MOST_MAPPINGS`], [`crate::MOST_MAPPED_BYTES`]). As the protocol defines, every process
//! that may write to the socket's file may connect (unix(7)).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iolab_device_link::Functions;
use iolab_pci_device::Interrupt;
use rustix::event::PollFlags;
use rustix::net::{SocketAddrUnix, SocketFlags, accept_with, bind, connect, listen};

use crate::protocol::MessageCommand;
use crate::session::{Answer, Events, Session};
use crate::wire::{self, Inbox, Incoming, LOOK_MS, Wire};

/// The most connections that a server has at a time.
pub const MOST_CLIENTS: usize = 64;

/// Polls after which a client that does not read its answers is disconnected: a few seconds.
const PATIENCE: u32 = 40;
/// How long to wait at a time for a thread that ends.
const PAUSE: Duration = Duration::from_millis(5);

/// A client that is being served.
struct Client {
    thread: JoinHandle<()>,
    events: Events,
}

/// A device that is being served; dropping it ends the service and removes the socket.
#[derive(Debug)]
pub struct VfioUserServer {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl VfioUserServer {
    /// Listens at `path`. A socket that a killed server left there is replaced; one that still
    /// answers is an error.
    pub fn start(path: &Path, functions: Arc<dyn Functions>) -> io::Result<VfioUserServer> {
        let listener = wire::open()?;
        let address = SocketAddrUnix::new(path)?;
        if let Err(errno) = bind(&listener, &address) {
            if errno != rustix::io::Errno::ADDRINUSE || answers(&address)? {
                return Err(errno.into());
            }
            if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is not a socket is there"));
            }
            std::fs::remove_file(path)?;
            bind(&listener, &address)?;
        }
        listen(&listener, 16)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let accepting = std::thread::Builder::new()
            .name("vfio-user-accept".into())
            .spawn(move || accept_all(&listener, &functions, &stopped))?;
        Ok(VfioUserServer { path: path.to_owned(), stop, accepting: Some(accepting) })
    }

    /// The path at which it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for VfioUserServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The socket may already have been removed. A thread that panicked has already reported it.
        let _ = std::fs::remove_file(&self.path);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// Whether a server listens at a path, even if it does not accept connections.
fn answers(address: &SocketAddrUnix) -> io::Result<bool> {
    match connect(wire::open()?, address) {
        Ok(()) | Err(rustix::io::Errno::AGAIN) => Ok(true),
        Err(_) => Ok(false),
    }
}

fn accept_all(listener: &OwnedFd, functions: &Arc<dyn Functions>, stop: &Arc<AtomicBool>) {
    let mut clients: Vec<Client> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        relieve(&clients);
        if !wire::is_ready(listener, PollFlags::IN) {
            continue;
        }
        let Ok(socket) = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) else {
            // Most likely no descriptor is free. The client waits until there is one.
            std::thread::sleep(Duration::from_millis(LOOK_MS));
            continue;
        };
        clients.retain(|client| !client.thread.is_finished());
        if clients.len() >= MOST_CLIENTS {
            // The client sees its connection closed.
            continue;
        }
        let (functions, stop, events) = (Arc::clone(functions), Arc::clone(stop), Events::default());
        let own = Arc::clone(&events);
        let thread = std::thread::Builder::new().name("vfio-user-client".into());
        // If no thread can be started, the socket is also closed.
        if let Ok(thread) = thread.spawn(move || serve(socket, functions.as_ref(), own, &stop)) {
            clients.push(Client { thread, events });
        }
    }
    while clients.iter().any(|client| !client.thread.is_finished()) {
        relieve(&clients);
        std::thread::sleep(PAUSE);
    }
}

/// Empties eventfds that clients have filled, because signalling them would block until they are
/// read.
fn relieve(clients: &[Client]) {
    for client in clients {
        client.events.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Interrupt::relieve);
    }
}

/// Serves one client until it closes, breaks the protocol, does not read answers, or the service
/// ends.
fn serve(socket: OwnedFd, functions: &dyn Functions, events: Events, stop: &AtomicBool) {
    let wire = Arc::new(Wire::new(socket));
    let mut session = Session::new(functions, &wire, events);
    let mut inbox = Inbox::default();
    while !stop.load(Ordering::Relaxed) {
        if !wire.has_news() {
            continue;
        }
        match inbox.take(&wire) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(Some(incoming)) => {
                if !answer(&mut session, &wire, incoming, stop) {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// Answers one message; returns `false` if the connection must end.
fn answer(session: &mut Session<'_>, wire: &Wire, incoming: Incoming, stop: &AtomicBool) -> bool {
    let header = incoming.header;
    match header.is_reply() {
        Some(true) => {
            session.deliver(incoming);
            return true;
        }
        Some(false) => {}
        None => return false,
    }
    let command = MessageCommand::of(header.command);
    let answer = session.handle(command, &incoming.payload, incoming.descriptors);
    // Without a common version, no communication is possible.
    let goes_on_after = command != Some(MessageCommand::Version) || answer.is_ok();
    if header.wants_no_reply() {
        return goes_on_after;
    }
    let (reply, Answer { payload, descriptor }) = match answer {
        Ok(answer) => (header.reply(answer.payload.len()), answer),
        Err(errno) => (header.failure(errno.raw_os_error().unsigned_abs()), Answer::default()),
    };
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.iter().map(AsFd::as_fd).collect();
    let mut looks = 0;
    let goes_on = || {
        looks += 1;
        looks <= PATIENCE && !stop.load(Ordering::Relaxed)
    };
    wire.send(&reply, &payload, &descriptors, goes_on).is_ok() && goes_on_after
}
