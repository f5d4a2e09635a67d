//! The transport: the connection of the admin queue, properties, and reconnecting.

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
use iolab_pci_device::MapError;
use iolab_verbs::Adapter;

use crate::connect::driver_error;
use crate::keep_alive::{KeepAlive, Turns};
use crate::queue::{PROPERTY_CID, RdmaQueue};
use crate::regions::Regions;

/// Entries of the admin queue: the minimum that the specification requires (Fabrics, section 5.3).
const ADMIN_ENTRIES: u32 = 32;
/// Slots of the admin queue besides those with data: for event requests.
const EVENT_SLOTS: u16 = 8;
/// How long a status is used without reading it again.
const STATUS_NS: u64 = 10_000_000;
/// The first pause before a connection is tried again, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A transport to a controller over RDMA.
#[derive(Debug)]
pub struct Rdma {
    // The fields are dropped in this order.
    _keep_alive: KeepAlive,
    admin: RdmaQueue,
    regions: Regions,
    association: Arc<Association>,
    /// The status that was read last, and the time.
    status: Option<(ControllerStatus, u64)>,
}

impl Rdma {
    /// Connects the admin queue of a new controller.
    ///
    /// # Errors
    /// There are no libraries or no adapter for RDMA; or the target cannot be reached, does not
    /// follow the protocol, or refuses.
    pub fn connect(address: TargetAddress, clock: &Clock) -> Result<Rdma, DriverError> {
        let timeout = Duration::from_nanos(address.connect_ns);
        let adapter = Adapter::towards(address.at, timeout).map_err(|error| driver_error(&error))?;
        let association = Arc::new(Association::new(address, clock.clone()));
        let regions = Regions::new(adapter);
        let turns = Arc::new(Turns::default());
        let slots = ADMIN_DATA_SLOTS + EVENT_SLOTS;
        let admin = RdmaQueue::new(0, (ADMIN_ENTRIES, slots), &association, &regions, Some(&turns))?;
        let keep_alive = KeepAlive::start(&association, &turns)
            .map_err(|error| DriverError::Disconnected(format!("starting the keep-alive thread: {error}")))?;
        let mut rdma = Rdma { association, regions, admin, status: None, _keep_alive: keep_alive };
        rdma.connect_admin()?;
        Ok(rdma)
    }

    fn connect_admin(&mut self) -> Result<(), DriverError> {
        self.status = None;
        let controller = self.admin.connect()?;
        self.association.set_controller(controller);
        Ok(())
    }

    fn exchange(&mut self, entry: &SubmissionEntry) -> Result<CompletionEntry, DriverError> {
        self.association.intact()?;
        let answer = self.admin.exchange(entry)?;
        if !answer.status().is_success() {
            return Err(DriverError::Unsupported(format!("it refuses a property: {}", answer.status())));
        }
        Ok(answer)
    }
}

impl Connection for Rdma {
    fn capabilities(&mut self) -> Result<Capabilities, DriverError> {
        Ok(Capabilities(self.exchange(&property_get(Register::CAP, true, PROPERTY_CID))?.result()))
    }

    fn property(&mut self, register: Register) -> Result<u32, DriverError> {
        self.association.intact()?;
        let now_ns = self.association.clock.now_ns();
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
        self.association.mend();
        let deadline_ns = self.association.clock.now_ns().saturating_add(self.association.address.reconnect_ns);
        let mut pause = FIRST_PAUSE;
        loop {
            match self.connect_admin() {
                Ok(()) => return Ok(()),
                // The next attempt would get the same answer.
                Err(error @ (DriverError::Unsupported(_) | DriverError::Refused(_))) => {
                    self.association.report(self.association.generation(), &error.to_string());
                    return Err(error);
                }
                Err(error) if self.association.clock.now_ns() >= deadline_ns => {
                    self.association.report(self.association.generation(), &error.to_string());
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
        self.regions.map(memory)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.regions.unmap(address)
    }
}

impl ControllerSetup for Rdma {
    fn identified(&mut self, identify: &IdentifyController) -> Result<(), DriverError> {
        let command = size_of::<SubmissionEntry>() as u32;
        let capsule = identify.ioccsz.get().saturating_mul(16);
        if capsule < command || identify.iorcsz.get() == 0 {
            let what = format!("IOCCSZ {} or IORCSZ {}", identify.ioccsz.get(), identify.iorcsz.get());
            return Err(DriverError::BadDescription(format!("its capsules are too small for commands: {what}")));
        }
        // The controller may expect the data at an offset; then data is not sent in the capsule.
        let data = if identify.icdoff.get() == 0 { capsule - command } else { 0 };
        self.association.set_capsule_data(data);
        Ok(())
    }

    fn setup_command(&mut self) -> Option<SubmissionEntry> {
        None
    }

    fn setup_answered(&mut self, _: bool) -> Result<(), DriverError> {
        Ok(())
    }
}

impl Transport for Rdma {
    type Queue = RdmaQueue;

    fn start_admin(&mut self) -> Result<(), DriverError> {
        self.association.intact()?;
        self.admin.restart();
        Ok(())
    }

    fn admin(&mut self) -> &mut RdmaQueue {
        &mut self.admin
    }

    fn new_queue(&mut self, request: &QueueRequest<'_>) -> Result<RdmaQueue, DriverError> {
        let size = (request.options.entries, request.options.slots);
        RdmaQueue::new(request.id, size, &self.association, &self.regions, None)
    }

    fn retire_queue(&mut self, queue: &mut RdmaQueue, _: bool) {
        queue.disconnect();
        // Without a connection, its memory is no longer accessed.
        let _ = self.regions.unmap(queue.memory_address());
    }

    fn release(&mut self) {
        self.admin.disconnect();
    }
}
