//! The transport: the connection of the admin queue, properties, and reconnecting everything.

use std::sync::Arc;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_memory::SharedBytes;
use iolab_nvme_association::{Association, TargetAddress};
use iolab_nvme_driver::{
    ADMIN_DATA_SLOTS, Connection, ControllerSetup, DriverError, QueueLife, QueueRequest, Transport,
};
use iolab_nvme_fabrics::{property_get, property_set};
use iolab_nvme_spec::identify::IdentifyController;
use iolab_nvme_spec::registers::{Capabilities, ControllerConfiguration, ControllerStatus, Register};
use iolab_nvme_spec::{CompletionEntry, SubmissionEntry};
use iolab_pci_device::{DmaMapper, DmaTable, MapError};

use super::keep_alive::{KeepAlive, Turns};
use super::queue::{PROPERTY_CID, TcpQueue};

/// Entries of the admin queue: the minimum that the specification requires (Fabrics, section 5.3).
const ADMIN_ENTRIES: u32 = 32;
/// Slots of the admin queue besides those with data: for event requests.
const EVENT_SLOTS: u16 = 8;
/// How long a status is used without reading it again.
const STATUS_NS: u64 = 10_000_000;
/// The first pause before a connection is tried again, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A transport to a controller over TCP.
#[derive(Debug)]
pub struct Tcp {
    link: Arc<Association>,
    memory: DmaTable,
    admin: TcpQueue,
    turns: Arc<Turns>,
    /// The status that was read last, and the time.
    status: Option<(ControllerStatus, u64)>,
    _keep_alive: KeepAlive,
}

impl Tcp {
    /// Connects the admin queue of a new controller.
    ///
    /// # Errors
    /// The target cannot be reached, does not follow the protocol, or refuses.
    pub fn connect(address: TargetAddress, clock: &Clock) -> Result<Tcp, DriverError> {
        let link = Arc::new(Association::new(address, clock.clone()));
        let memory = DmaTable::new();
        let admin = TcpQueue::new(0, (ADMIN_ENTRIES, ADMIN_DATA_SLOTS + EVENT_SLOTS), &link, &memory)?;
        let turns = Arc::new(Turns::default());
        let keep_alive = KeepAlive::start(&link, &turns)
            .map_err(|error| DriverError::Disconnected(format!("starting the keep-alive thread: {error}")))?;
        let mut tcp = Tcp { link, memory, admin, turns, status: None, _keep_alive: keep_alive };
        tcp.connect_admin()?;
        Ok(tcp)
    }

    fn connect_admin(&mut self) -> Result<(), DriverError> {
        self.status = None;
        let controller = self.admin.connect()?;
        self.link.set_controller(controller);
        let shared = self.admin.share(&self.turns);
        shared.map_err(|error| DriverError::Disconnected(format!("sharing the admin queue: {error}")))
    }

    fn exchange(&mut self, entry: &SubmissionEntry) -> Result<CompletionEntry, DriverError> {
        self.link.intact()?;
        let answer = self.admin.exchange(entry)?;
        if !answer.status().is_success() {
            return Err(DriverError::Unsupported(format!("it refuses a property: {}", answer.status())));
        }
        Ok(answer)
    }
}

impl Connection for Tcp {
    fn capabilities(&mut self) -> Result<Capabilities, DriverError> {
        Ok(Capabilities(self.exchange(&property_get(Register::CAP, true, PROPERTY_CID))?.result()))
    }

    fn property(&mut self, register: Register) -> Result<u32, DriverError> {
        self.link.intact()?;
        let now_ns = self.link.clock.now_ns();
        // The driver reads the status with each poll for an answer. Each read would be a round
        // trip.
        if register == Register::CSTS
            && let Some((status, at_ns)) = self.status
            && now_ns.saturating_sub(at_ns) < STATUS_NS
        {
            return Ok(status.0);
        }
        let value = self.exchange(&property_get(register, false, PROPERTY_CID))?.dw0();
        if register == Register::CSTS {
            let status = ControllerStatus(value);
            self.status = (status.rdy() && !status.cfs()).then_some((status, now_ns));
        }
        Ok(value)
    }

    fn set_property(&mut self, register: Register, value: u32) -> Result<(), DriverError> {
        self.status = None;
        if register == Register::CC && !ControllerConfiguration(value).en() {
            self.admin.outlive_others();
        }
        self.exchange(&property_set(register, value, PROPERTY_CID)).map(drop)
    }

    fn reset(&mut self) -> Result<(), DriverError> {
        // The keep alive thread no longer uses the old connection, so nothing could report that it
        // broke.
        self.admin.disconnect();
        self.link.mend();
        let deadline_ns = self.link.clock.now_ns().saturating_add(self.link.address.reconnect_ns);
        let mut pause = FIRST_PAUSE;
        loop {
            match self.connect_admin() {
                Ok(()) => return Ok(()),
                // The next attempt would get the same answer.
                Err(error @ (DriverError::Unsupported(_) | DriverError::Refused(_))) => {
                    self.link.report(self.link.generation(), &error.to_string());
                    return Err(error);
                }
                Err(error) if self.link.clock.now_ns() >= deadline_ns => {
                    self.link.report(self.link.generation(), &error.to_string());
                    return Err(error);
                }
                Err(_) => {}
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn pause(&self, at_most: Duration) {
        self.admin.wait(at_most);
    }

    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        self.memory.map(memory)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.memory.unmap(address)
    }
}

impl ControllerSetup for Tcp {
    fn identified(&mut self, identify: &IdentifyController) -> Result<(), DriverError> {
        let command = size_of::<SubmissionEntry>() as u32;
        let capsule = identify.ioccsz.get().saturating_mul(16);
        if capsule < command || identify.iorcsz.get() == 0 {
            let what = format!("IOCCSZ {} or IORCSZ {}", identify.ioccsz.get(), identify.iorcsz.get());
            return Err(DriverError::BadDescription(format!("its capsules are too small for commands: {what}")));
        }
        // If the controller expects the data at an offset after the command, the data is sent only
        // when the controller requests it.
        let data = if identify.icdoff.get() == 0 { capsule - command } else { 0 };
        self.link.set_capsule_data(data.min(MOST_CAPSULE_DATA));
        Ok(())
    }

    fn setup_command(&mut self) -> Option<SubmissionEntry> {
        None
    }

    fn setup_answered(&mut self, _: bool) -> Result<(), DriverError> {
        Ok(())
    }
}

/// More data than this waits for R2T, whatever the controller accepts in a capsule.
const MOST_CAPSULE_DATA: u32 = 64 << 10;

impl Transport for Tcp {
    type Queue = TcpQueue;

    fn start_admin(&mut self) -> Result<(), DriverError> {
        self.link.intact()?;
        self.admin.restart();
        Ok(())
    }

    fn admin(&mut self) -> &mut TcpQueue {
        &mut self.admin
    }

    fn new_queue(&mut self, request: &QueueRequest<'_>) -> Result<TcpQueue, DriverError> {
        TcpQueue::new(request.id, (request.options.entries, request.options.slots), &self.link, &self.memory)
    }

    fn retire_queue(&mut self, queue: &mut TcpQueue, _: bool) {
        queue.disconnect();
        // The memory belongs to this process: the controller no longer accesses it.
        let _ = self.memory.unmap(queue.memory_address());
    }

    fn release(&mut self) {
        self.admin.disconnect();
    }
}
