//! A virtual SSD as a subsystem that hosts reach over TCP.
//!
//! ```text
//! listener ─▶ thread that accepts ─▶ pollers: each serves some connections
//!                                       Connection: handshake, Connect ─▶ a role
//!                                         admin queue ▶ AdminExecutor   I/O queue ▶ IoExecutor   discovery
//! ```
//!
//! Each host that connects an admin queue gets its own controller on the drive.
//!
//! Guarantees: whatever a host sends, it uses no more memory than [`TargetOptions`] allows, and
//! does not disturb other hosts. A PDU that violates a rule is answered with a termination request.
//! The target closes the connections of a host that is gone, is silent for longer than its keep
//! alive timer, or never connects a queue. TLS is not supported.

mod admin_role;
mod arriving;
mod authenticating_role;
mod carried;
mod connecting;
mod connection;
mod controllers;
mod discovery_role;
mod io_role;
mod link_fault;
mod mailbox;
mod poller;
mod queue;
mod ring_poller;
mod role;
mod tally;
mod transfers;
mod window;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_nvme_authentication::{HostSecrets, Preferences};
use iolab_nvme_fabrics::{Digests, QualifiedName};
use iolab_nvme_spec::log::AnaState;
use iolab_virtual_ssd::Subsystem;

use controllers::Target as Shared;
pub use link_fault::{LinkFault, LinkFaultError, LinkFaultKind};
use mailbox::Mailbox;
use poller::Poller;
use ring_poller::RingPoller;
pub use tally::{ConnectionStatistics, Counted, HostStatistics};

/// How the threads of a target wait for sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SocketLoop {
    /// io_uring, or epoll where there is no io_uring.
    #[default]
    Auto,
    /// io_uring.
    Uring,
    /// epoll.
    Epoll,
}

impl SocketLoop {
    /// The names that users write.
    pub const WORDS: [&'static str; 3] = ["auto", "io_uring", "epoll"];

    /// Parses a name that users write.
    pub fn of_word(word: &str) -> Option<SocketLoop> {
        let place = SocketLoop::WORDS.iter().position(|known| *known == word)?;
        Some([SocketLoop::Auto, SocketLoop::Uring, SocketLoop::Epoll][place])
    }
}

impl std::fmt::Display for SocketLoop {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(SocketLoop::WORDS[*self as usize])
    }
}

/// How hosts and the subsystem prove their identity to each other.
#[derive(Debug, Clone, Default)]
pub struct TargetAuthentication {
    /// Secrets of hosts by their names.
    pub of_hosts: BTreeMap<QualifiedName, HostSecrets>,
    /// Secrets of all other hosts; without them, other hosts are refused.
    pub of_others: Option<HostSecrets>,
    /// The preferred algorithms.
    pub preferences: Preferences,
}

/// How a subsystem is served.
#[derive(Debug, Clone)]
pub struct TargetOptions {
    /// The subsystem's name.
    pub name: QualifiedName,
    /// Hosts that may use the subsystem; empty for all.
    pub hosts: Vec<QualifiedName>,
    /// How hosts have to authenticate; `None` accepts hosts without authentication.
    pub authentication: Option<TargetAuthentication>,
    /// Digests that hosts may request.
    pub digests: Digests,
    /// Threads that serve connections; at least one.
    pub pollers: usize,
    /// The processors that the threads are bound to, in turn; empty leaves the choice to the
    /// kernel.
    pub cpus: Vec<usize>,
    /// How long a poller spins for more work before it sleeps; `u64::MAX` means forever.
    pub spin_ns: u64,
    /// How the threads wait for sockets.
    pub sockets: SocketLoop,
    /// Answers of at least this many bytes are sent without the kernel's copy, if io_uring is used
    /// and the host is on another machine.
    pub zero_copy_above: usize,
    /// The most open connections; further ones are closed at once.
    pub most_connections: usize,
    /// The most controllers of one host.
    pub most_controllers_of_host: usize,
    /// The most bytes of data gathered at once, for all hosts together.
    pub most_gathered_bytes: usize,
    /// Faults to inject on links.
    pub faults: Vec<LinkFault>,
    /// How hosts reach the namespaces here, if not as the drive is configured.
    pub access: Option<AnaState>,
}

impl TargetOptions {
    /// Options that admit every host.
    pub fn new(name: QualifiedName) -> TargetOptions {
        TargetOptions {
            name,
            hosts: Vec::new(),
            authentication: None,
            digests: Digests { header: true, data: true },
            pollers: 1,
            cpus: Vec::new(),
            spin_ns: 50_000,
            sockets: SocketLoop::Auto,
            zero_copy_above: 64 << 10,
            most_connections: 1024,
            most_controllers_of_host: 64,
            most_gathered_bytes: 256 << 20,
            faults: Vec::new(),
            access: None,
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
    sockets: SocketLoop,
}

/// How often an accepting thread checks whether it should end, if nothing connects.
const LOOK: Duration = Duration::from_millis(50);

impl TcpTarget {
    /// Serves `subsystem` at an address. Port 0 leaves the choice to the kernel. `clock` decides
    /// when commands are due.
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
        let shared = Arc::new(Shared::new(subsystem, at, clock, options));
        let (stop, mailboxes, threads) = (Arc::default(), Vec::new(), Vec::new());
        let sockets = shared.options.sockets;
        let mut target = TcpTarget { stop, mailboxes, threads, at, shared, sockets };
        for number in 0..target.shared.options.pollers.max(1) {
            target.start_poller(number).map_err(failed(format!("starting poller {number}")))?;
        }
        target.start_accepting(listener).map_err(failed("starting the thread that accepts".to_owned()))?;
        Ok(target)
    }

    /// The address at which the subsystem is served.
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// How the threads of the target wait for sockets.
    pub fn sockets(&self) -> SocketLoop {
        self.sockets
    }

    /// Statistics of what hosts have done, by host and connection.
    pub fn statistics(&self) -> Vec<HostStatistics> {
        self.shared.tallies.statistics()
    }

    /// The number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Acquire)
    }

    fn start_poller(&mut self, number: usize) -> io::Result<()> {
        let mailbox = Arc::new(Mailbox::new()?);
        let cpus = &self.shared.options.cpus;
        let cpu = if cpus.is_empty() { None } else { Some(cpus[number % cpus.len()]) };
        let (shared, own) = (Arc::clone(&self.shared), Arc::clone(&mailbox));
        let (say, said) = std::sync::mpsc::channel();
        let body = move || {
            if let Some(cpu) = cpu {
                // Without binding, the poller works as well, but on another processor.
                let _ = bind(cpu);
            }
            let poller = AnyPoller::new(&shared, &own);
            // The starting thread waits for this message.
            let _ = say.send(poller.as_ref().map(AnyPoller::sockets).map_err(|error| io::Error::from(error.kind())));
            // These calls fail only because of bugs in this program.
            if let Ok(poller) = poller
                && let Err(error) = poller.run()
            {
                panic!("a poller of NVMe/TCP cannot wait for sockets: {error}");
            }
        };
        self.threads.push(std::thread::Builder::new().name(format!("tcp-{number}")).spawn(body)?);
        self.sockets = said.recv().map_err(|_| io::Error::from(io::ErrorKind::Interrupted))??;
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

/// A poller of either kind. A ring belongs to the thread that creates it.
enum AnyPoller {
    Ring(Box<RingPoller>),
    Epoll(Box<Poller>),
}

impl AnyPoller {
    fn new(shared: &Arc<Shared>, mailbox: &Arc<Mailbox>) -> io::Result<AnyPoller> {
        let sockets = shared.options.sockets;
        if sockets != SocketLoop::Epoll {
            match RingPoller::new(shared, mailbox) {
                Ok(poller) => return Ok(AnyPoller::Ring(Box::new(poller))),
                Err(error) if sockets == SocketLoop::Uring => return Err(error),
                Err(_) => {}
            }
        }
        Ok(AnyPoller::Epoll(Box::new(Poller::new(shared, mailbox)?)))
    }

    fn sockets(&self) -> SocketLoop {
        match self {
            AnyPoller::Ring(_) => SocketLoop::Uring,
            AnyPoller::Epoll(_) => SocketLoop::Epoll,
        }
    }

    fn run(self) -> io::Result<()> {
        match self {
            AnyPoller::Ring(mut poller) => poller.run(),
            AnyPoller::Epoll(mut poller) => poller.run(),
        }
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

/// Passes new connections to the pollers in turn.
fn accept(listener: &TcpListener, shared: &Shared, mailboxes: &[Arc<Mailbox>], stop: &AtomicBool) {
    let mut turn = mailboxes.iter().cycle();
    while !stop.load(Ordering::Acquire) {
        match listener.accept() {
            Ok((socket, _)) => {
                if shared.connections.load(Ordering::Acquire) >= shared.options.most_connections {
                    // Dropping the socket closes it.
                    continue;
                }
                shared.connections.fetch_add(1, Ordering::AcqRel);
                if let Some(mailbox) = turn.next() {
                    mailbox.send(socket);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for(listener),
            // The connection ended before it was accepted, or no descriptor is free. The next
            // attempt is made later.
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

fn wait_for(listener: &TcpListener) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
    // Accepting is retried in any case.
    let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout));
}

impl Drop for TcpTarget {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.mailboxes.iter().for_each(|mailbox| mailbox.stop());
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}
