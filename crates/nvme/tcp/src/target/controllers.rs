//! State shared by the connections of a target: the drive, who may use it, and the controllers of
//! hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolab_clock::Clock;
use iolab_nvme_association::draw_entropy;
use iolab_nvme_authentication::ControllerExchange;
use iolab_nvme_fabrics::{Connect, ConnectRefusal, DISCOVERY_NAME, DiscoveryRecord, QualifiedName};
use iolab_nvme_spec::Status;
use iolab_nvme_spec::fabrics::{ConnectStatus, RESERVED_CONTROLLER_ID, SubsystemType, TransportType};
use iolab_virtual_ssd::{ControllerRecord, Subsystem, SubsystemPort};

use super::TargetOptions;
use super::link_fault::LinkFaults;
use super::tally::Tallies;
use super::transfers::Budget;

/// Offsets of fields in the data of Connect (Fabrics, section 3.3).
mod place {
    pub(super) const HOST_ID: u32 = 0;
    pub(super) const CONTROLLER: u32 = 16;
    pub(super) const SUBSYSTEM: u32 = 256;
}
/// Offset of the queue identifier in the command.
const QUEUE_ID: u32 = 42;
/// Offset of the queue size in the command.
const QUEUE_SIZE: u32 = 44;
/// Most entries of a queue.
pub(super) const MOST_ENTRIES: u32 = 1024;

/// A controller: one host's association with the drive.
#[derive(Debug)]
pub(super) struct HostController {
    pub(super) record: Arc<ControllerRecord>,
    host: QualifiedName,
    host_id: [u8; 16],
    /// CSTS.RDY.
    pub(super) is_ready: AtomicBool,
    /// CSTS.CFS.
    pub(super) is_fatal: AtomicBool,
    /// Whether its admin connection is gone.
    has_ended: AtomicBool,
    /// Changes when the controller is disabled; I/O queues of earlier epochs are gone.
    epoch: AtomicU32,
    queues: Mutex<BTreeSet<u16>>,
}

impl HostController {
    fn queues(&self) -> MutexGuard<'_, BTreeSet<u16>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current epoch.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Ends all I/O queues.
    pub(super) fn end_queues(&self) {
        self.is_ready.store(false, Ordering::Release);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.queues().clear();
    }

    /// Ends the controller.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.end_queues();
    }

    /// Whether queues of this epoch still exist.
    pub(super) fn is_current(&self, epoch: u32) -> bool {
        self.epoch() == epoch && !self.has_ended.load(Ordering::Acquire)
    }

    /// Whether the host has I/O queues.
    pub(super) fn has_queues(&self) -> bool {
        !self.queues().is_empty()
    }

    /// Releases a queue of this epoch.
    pub(super) fn release_queue(&self, queue: u16, epoch: u32) {
        let mut queues = self.queues();
        if self.epoch() == epoch {
            queues.remove(&queue);
        }
    }
}

/// The address of another port, for a host that reached this machine at the local address `at`. A
/// port of any address (`0.0.0.0`) is there, too; a port of this machine alone (`127.0.0.1`) can be
/// reached only from it.
fn reachable(port: &str, at: SocketAddr) -> Option<SocketAddr> {
    let port: SocketAddr = port.parse().ok()?;
    let at = at.ip().to_canonical();
    if port.ip().is_unspecified() {
        // Sockets of any IPv6 address accept IPv4 as well.
        return (port.is_ipv6() || at.is_ipv4()).then(|| SocketAddr::new(at, port.port()));
    }
    (at.is_loopback() || !port.ip().is_loopback()).then_some(port)
}

/// A subsystem that is served.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) subsystem: Arc<Subsystem>,
    port: Arc<SubsystemPort>,
    pub(super) options: TargetOptions,
    pub(super) clock: Clock,
    pub(super) budget: Budget,
    pub(super) links: Arc<LinkFaults>,
    pub(super) tallies: Tallies,
    /// Open connections.
    pub(super) connections: AtomicUsize,
    controllers: Mutex<BTreeMap<u16, Arc<HostController>>>,
}

impl Target {
    pub(super) fn new(subsystem: &Arc<Subsystem>, at: SocketAddr, clock: &Clock, options: TargetOptions) -> Target {
        Target {
            port: subsystem.add_port(&at.to_string(), options.access),
            subsystem: Arc::clone(subsystem),
            budget: Budget::new(options.most_gathered_bytes),
            links: Arc::new(LinkFaults::new(&options.faults)),
            tallies: Tallies::default(),
            options,
            clock: clock.clone(),
            connections: AtomicUsize::new(0),
            controllers: Mutex::default(),
        }
    }

    fn controllers(&self) -> MutexGuard<'_, BTreeMap<u16, Arc<HostController>>> {
        self.controllers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a host may use the subsystem.
    fn admits(&self, host: &QualifiedName) -> bool {
        self.options.hosts.is_empty() || self.options.hosts.contains(host)
    }

    /// How a connecting host must authenticate; `None` if it need not.
    ///
    /// # Errors
    /// The host is unknown, or no random numbers are available.
    pub(super) fn examine(&self, connect: &Connect) -> Result<Option<ControllerExchange>, ConnectRefusal> {
        let Some(known) = &self.options.authentication else { return Ok(None) };
        if Target::is_discovery(connect) || connect.subsystem != self.options.name {
            return Ok(None);
        }
        let secrets = known.of_hosts.get(&connect.host).or(known.of_others.as_ref());
        let secrets = secrets.ok_or(ConnectRefusal::because(ConnectStatus::INVALID_HOST))?;
        let entropy = draw_entropy().map_err(|_| ConnectRefusal::because(Status::INTERNAL_ERROR))?;
        let names = (connect.host.as_str(), connect.subsystem.as_str());
        Ok(Some(ControllerExchange::new(secrets.clone(), names, &known.preferences, entropy)))
    }

    /// Whether a Connect is for the discovery subsystem.
    pub(super) fn is_discovery(connect: &Connect) -> bool {
        connect.subsystem.as_str() == DISCOVERY_NAME
    }

    /// The discovery records for a host that connected to the local address `at`: every port of
    /// the subsystem that it can reach.
    pub(super) fn records(&self, host: &QualifiedName, at: SocketAddr) -> Vec<DiscoveryRecord> {
        if !self.admits(host) {
            return Vec::new();
        }
        let mut records = Vec::new();
        for (port, number) in self.subsystem.ports().iter().zip(1..) {
            let address = if Arc::ptr_eq(port, &self.port) { Some(at) } else { reachable(port.name(), at) };
            let Some(address) = address else { continue };
            records.push(DiscoveryRecord {
                transport: TransportType::TCP,
                family: if address.is_ipv4() { 1 } else { 2 },
                kind: SubsystemType::NVM,
                port: number,
                address: address.ip().to_string(),
                service: address.port().to_string(),
                subsystem: self.options.name.clone(),
            });
        }
        records
    }

    /// Makes a controller for a host that connects an admin queue.
    pub(super) fn attach(&self, connect: &Connect) -> Result<Arc<HostController>, ConnectRefusal> {
        if connect.subsystem != self.options.name {
            return Err(ConnectRefusal::in_data(place::SUBSYSTEM));
        }
        if !self.admits(&connect.host) {
            return Err(ConnectRefusal::because(ConnectStatus::INVALID_HOST));
        }
        if connect.controller != RESERVED_CONTROLLER_ID {
            // Controllers are dynamic: none exists before a host connects to it.
            return Err(ConnectRefusal::in_data(place::CONTROLLER));
        }
        let busy = ConnectRefusal { status: ConnectStatus::CONTROLLER_BUSY, result: 0 };
        let mut controllers = self.controllers();
        let of_host = controllers.values().filter(|controller| controller.host == connect.host).count();
        if of_host >= self.options.most_controllers_of_host {
            return Err(busy);
        }
        let record = self.subsystem.register_at(&self.port).ok_or(busy)?;
        let controller = Arc::new(HostController {
            host: connect.host.clone(),
            host_id: connect.host_id,
            is_ready: AtomicBool::new(false),
            is_fatal: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            epoch: AtomicU32::new(0),
            queues: Mutex::default(),
            record,
        });
        controllers.insert(controller.record.id(), Arc::clone(&controller));
        Ok(controller)
    }

    /// Removes a controller whose admin connection is gone.
    pub(super) fn detach(&self, controller: &HostController) {
        controller.end();
        self.controllers().remove(&controller.record.id());
    }

    /// The controller for which a host connects an I/O queue, and its epoch.
    pub(super) fn join(&self, connect: &Connect) -> Result<(Arc<HostController>, u32), ConnectRefusal> {
        let controllers = self.controllers();
        let Some(controller) = controllers.get(&connect.controller) else {
            return Err(ConnectRefusal::in_data(place::CONTROLLER));
        };
        if connect.subsystem != self.options.name {
            return Err(ConnectRefusal::in_data(place::SUBSYSTEM));
        }
        if controller.host != connect.host {
            return Err(ConnectRefusal::because(ConnectStatus::INVALID_HOST));
        }
        if controller.host_id != connect.host_id {
            return Err(ConnectRefusal::in_data(place::HOST_ID));
        }
        if !controller.is_ready.load(Ordering::Acquire) {
            return Err(ConnectRefusal::because(Status::COMMAND_SEQUENCE_ERROR));
        }
        if connect.queue > self.subsystem.config().queue_pairs {
            return Err(ConnectRefusal::in_command(QUEUE_ID));
        }
        if connect.entries > MOST_ENTRIES {
            return Err(ConnectRefusal::in_command(QUEUE_SIZE));
        }
        if !controller.queues().insert(connect.queue) {
            return Err(ConnectRefusal::in_command(QUEUE_ID));
        }
        Ok((Arc::clone(controller), controller.epoch()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_ports_are_named_as_the_host_can_reach_them() {
        let at = |text: &str| -> SocketAddr { text.parse().unwrap() };
        for (port, from, expected) in [
            ("10.0.0.1:1", "10.0.0.2:9", Some("10.0.0.1:1")),
            ("0.0.0.0:1", "10.0.0.2:9", Some("10.0.0.2:1")),
            ("[::]:1", "10.0.0.2:9", Some("10.0.0.2:1")),
            ("[::]:1", "[::ffff:10.0.0.2]:9", Some("10.0.0.2:1")),
            ("0.0.0.0:1", "[fd00::2]:9", None),
            ("127.0.0.1:1", "10.0.0.2:9", None),
            ("127.0.0.1:1", "127.0.0.1:9", Some("127.0.0.1:1")),
            ("10.0.0.1:1", "127.0.0.1:9", Some("10.0.0.1:1")),
            ("vfio-user", "127.0.0.1:9", None),
        ] {
            assert_eq!(reachable(port, at(from)), expected.map(at), "{port} from {from}");
        }
    }
}
