//! Statistics of hosts, by host and connection.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use iolab_nvme_fabrics::QualifiedName;

/// The most hosts that are remembered after their connections are gone; further ones are counted
/// together.
const MOST_HOSTS: usize = 1024;

/// Counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Commands that were answered.
    pub commands: u64,
    /// Those that were answered with an error.
    pub failed: u64,
    /// Bytes of data sent to the host.
    pub read_bytes: u64,
    /// Bytes of data received from the host.
    pub written_bytes: u64,
}

impl Counted {
    fn add(&mut self, other: Counted) {
        self.commands += other.commands;
        self.failed += other.failed;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
    }
}

/// An open connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionStatistics {
    /// The host's address, unless it is gone.
    pub peer: Option<SocketAddr>,
    /// Its controller.
    pub controller: u16,
    /// Its queue; 0 is the admin queue.
    pub queue: u16,
    /// The counters.
    pub counted: Counted,
}

/// A host, with its open connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostStatistics {
    /// Its name; `None` for the hosts that are counted together.
    pub host: Option<QualifiedName>,
    /// Of all its connections, including closed ones.
    pub counted: Counted,
    /// The open connections.
    pub connections: Vec<ConnectionStatistics>,
}

/// The counters of one connection. One thread writes them, others read them.
#[derive(Debug)]
pub(super) struct Tally {
    host: QualifiedName,
    peer: Option<SocketAddr>,
    controller: u16,
    queue: u16,
    commands: AtomicU64,
    failed: AtomicU64,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    past: Arc<Mutex<Past>>,
}

impl Tally {
    /// Counts an answered command.
    #[inline]
    pub(super) fn count(&self, is_success: bool, read_bytes: usize, written_bytes: usize) {
        // There is only one writer, so a load and a store suffice.
        let add = |to: &AtomicU64, more: u64| to.store(to.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        add(&self.commands, 1);
        if !is_success {
            add(&self.failed, 1);
        }
        add(&self.read_bytes, read_bytes as u64);
        add(&self.written_bytes, written_bytes as u64);
    }

    fn counted(&self) -> Counted {
        let load = |from: &AtomicU64| from.load(Ordering::Relaxed);
        Counted {
            commands: load(&self.commands),
            failed: load(&self.failed),
            read_bytes: load(&self.read_bytes),
            written_bytes: load(&self.written_bytes),
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let counted = self.counted();
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        if past.hosts.len() < MOST_HOSTS || past.hosts.contains_key(&self.host) {
            past.hosts.entry(self.host.clone()).or_default().add(counted);
        } else {
            past.others.add(counted);
        }
    }
}

/// Counters of connections that have ended.
#[derive(Debug, Default)]
struct Past {
    hosts: BTreeMap<QualifiedName, Counted>,
    others: Counted,
}

/// All counters of a target.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    open: Mutex<Vec<Weak<Tally>>>,
    past: Arc<Mutex<Past>>,
}

impl Tallies {
    /// Starts counting for a connection that has become a queue of a controller.
    pub(super) fn begin(
        &self,
        host: &QualifiedName,
        peer: Option<SocketAddr>,
        (controller, queue): (u16, u16),
    ) -> Arc<Tally> {
        let tally = Arc::new(Tally {
            host: host.clone(),
            peer,
            controller,
            queue,
            commands: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            past: Arc::clone(&self.past),
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|one| one.strong_count() > 0);
        open.push(Arc::downgrade(&tally));
        tally
    }

    /// The counters so far, by the names of hosts.
    pub(super) fn statistics(&self) -> Vec<HostStatistics> {
        // Kept until the end, because dropping the last handle locks the counters of ended
        // connections.
        let open: Vec<Arc<Tally>> =
            self.open.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect();
        let mut hosts: BTreeMap<QualifiedName, HostStatistics> = BTreeMap::new();
        let begin = |host: &QualifiedName, counted| HostStatistics {
            host: Some(host.clone()),
            counted,
            connections: Vec::new(),
        };
        let others = {
            let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
            hosts.extend(past.hosts.iter().map(|(host, counted)| (host.clone(), begin(host, *counted))));
            past.others
        };
        for tally in &open {
            let host = hosts.entry(tally.host.clone()).or_insert_with(|| begin(&tally.host, Counted::default()));
            let counted = tally.counted();
            host.counted.add(counted);
            let Tally { peer, controller, queue, .. } = **tally;
            host.connections.push(ConnectionStatistics { peer, controller, queue, counted });
        }
        let mut all: Vec<HostStatistics> = hosts.into_values().collect();
        if others != Counted::default() {
            all.push(HostStatistics { host: None, counted: others, connections: Vec::new() });
        }
        all
    }
}
