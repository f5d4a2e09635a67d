//! A virtual SSD as a subsystem that hosts reach over TCP.
//!
//! ```text
//! listener ─▶ thread that accepts ─▶ pollers: each serves some connections
//!                                       Connection: handshake, Connect ─▶ a role
//!                                         admin queue ▶ AdminExecutor   I/O queue ▶ IoExecutor   discovery
//! ```
//!
//! Each host that connects an admin queue gets a controller of its own on the drive.
//!
//! Guarantees: whatever a host sends, it costs no more memory than [`TargetOptions`] allows, and
//! disturbs no other host. A PDU that breaks a rule is answered with a termination request. A host
//! that is gone, silent for longer than its keep alive timer, or never connects a queue loses its
//! connections. Deliberately not here: authentication, TLS, asymmetric access.

mod admin_role;
mod connecting;
mod connection;
mod controllers;
mod discovery_role;
mod io_role;
mod poller;
mod queue;
mod role;
mod transfers;
mod window;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_nvme_fabrics::{Digests, QualifiedName};
use iolab_virtual_ssd::Subsystem;

use controllers::Target as Shared;
use poller::{Mailbox, Poller};

/// How a subsystem is served.
#[derive(Debug, Clone)]
pub struct TargetOptions {
    /// Its name.
    pub name: QualifiedName,
    /// Hosts that may use it; empty for all.
    pub hosts: Vec<QualifiedName>,
    /// Digests that hosts may ask for.
    pub digests: Digests,
    /// Threads that serve connections; at least one.
    pub pollers: usize,
    /// The processors that they are bound to, in turn; empty leaves it to the kernel.
    pub cpus: Vec<usize>,
    /// How long a poller looks for more work before it sleeps.
    pub spin_ns: u64,
    /// Open connections; further ones are closed at once.
    pub most_connections: usize,
    /// Controllers of one host.
    pub most_controllers_of_host: usize,
    /// Bytes of data that are gathered at once, of all hosts.
    pub most_gathered_bytes: usize,
}

impl TargetOptions {
    /// For every host that asks.
    pub fn new(name: QualifiedName) -> TargetOptions {
        TargetOptions {
            name,
            hosts: Vec::new(),
            digests: Digests { header: true, data: true },
            pollers: 1,
            cpus: Vec::new(),
            spin_ns: 50_000,
            most_connections: 1024,
            most_controllers_of_host: 64,
            most_gathered_bytes: 256 << 20,
        }
    }
}

/// Why a subsystem cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct TargetError {
    what: String,
    source: io::Error,
}

/// A subsystem that is being served. Dropping it closes all connections.
#[derive(Debug)]
pub struct TcpTarget {
    stop: Arc<AtomicBool>,
    mailboxes: Vec<Arc<Mailbox>>,
    threads: Vec<JoinHandle<()>>,
    at: SocketAddr,
    shared: Arc<Shared>,
}

/// How often a thread that accepts looks whether it shall end, when nobody connects.
const LOOK: Duration = Duration::from_millis(50);

impl TcpTarget {
    /// Serves `subsystem` at an address. Port 0 leaves the choice to the kernel. `clock` says when
    /// commands are due.
    pub fn serve(
        subsystem: &Arc<Subsystem>,
        at: SocketAddr,
        clock: &Clock,
        options: TargetOptions,
    ) -> Result<TcpTarget, TargetError> {
        let failed = |what: String| move |source: io::Error| TargetError { what, source };
        let listening = || failed(format!("listening at tcp://{at}"));
        let listener = TcpListener::bind(at).map_err(listening())?;
        listener.set_nonblocking(true).map_err(listening())?;
        let at = listener.local_addr().map_err(listening())?;
        let shared = Arc::new(Shared::new(subsystem, clock, options));
        let (stop, mailboxes, threads) = (Arc::default(), Vec::new(), Vec::new());
        let mut target = TcpTarget { stop, mailboxes, threads, at, shared };
        for number in 0..target.shared.options.pollers.max(1) {
            target.start_poller(number).map_err(failed(format!("starting poller {number}")))?;
        }
        target.start_accepting(listener).map_err(failed("starting the thread that accepts".to_owned()))?;
        Ok(target)
    }

    /// Where it is served.
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Acquire)
    }

    fn start_poller(&mut self, number: usize) -> io::Result<()> {
        let mailbox = Arc::new(Mailbox::new()?);
        let mut poller = Poller::new(&self.shared, &mailbox)?;
        let cpus = &self.shared.options.cpus;
        let cpu = if cpus.is_empty() { None } else { Some(cpus[number % cpus.len()]) };
        let body = move || {
            if let Some(cpu) = cpu {
                // Without it the poller works as well, only elsewhere.
                let _ = bind(cpu);
            }
            // The kernel fails epoll_wait for mistakes of ours alone.
            if let Err(error) = poller.run() {
                panic!("a poller of NVMe/TCP cannot wait for sockets: {error}");
            }
        };
        self.threads.push(std::thread::Builder::new().name(format!("tcp-{number}")).spawn(body)?);
        self.mailboxes.push(mailbox);
        Ok(())
    }

    fn start_accepting(&mut self, listener: TcpListener) -> io::Result<()> {
        let (stop, shared, mailboxes) = (Arc::clone(&self.stop), Arc::clone(&self.shared), self.mailboxes.clone());
        let body = move || accept(&listener, &shared, &mailboxes, &stop);
        self.threads.push(std::thread::Builder::new().name("tcp-accept".into()).spawn(body)?);
        Ok(())
    }
}

fn bind(cpu: usize) -> io::Result<()> {
    if cpu >= rustix::thread::CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Hands new connections to the pollers in turn.
fn accept(listener: &TcpListener, shared: &Shared, mailboxes: &[Arc<Mailbox>], stop: &AtomicBool) {
    let mut turn = mailboxes.iter().cycle();
    while !stop.load(Ordering::Acquire) {
        match listener.accept() {
            Ok((socket, _)) => {
                if shared.connections.load(Ordering::Acquire) >= shared.options.most_connections {
                    // Dropping it closes it.
                    continue;
                }
                shared.connections.fetch_add(1, Ordering::AcqRel);
                if let Some(mailbox) = turn.next() {
                    mailbox.send(socket);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for(listener),
            // A connection that ended before it was taken, or no descriptor left: later again.
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

fn wait_for(listener: &TcpListener) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
    // Whatever it says, accepting is tried again.
    let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout));
}

impl Drop for TcpTarget {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.mailboxes.iter().for_each(|mailbox| mailbox.stop());
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}
