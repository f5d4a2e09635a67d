//! A controller and its queue pairs behind any transport.
//!
//! A job may name devices of several kinds, and its loop drives all of them. One comparison
//! determines the kind of a queue; everything behind it is chosen by type.

use iolab_memory::SharedBytes;
use iolab_nvme_driver::{
    AsyncEvent, Completion, Controller, ControllerFacts, ControllerReset, DataWindow, DriverError, Namespace,
    QueueOptions, QueuePair, Submit, ZoneReport,
};
use iolab_nvme_rdma::Rdma;
use iolab_nvme_spec::log::{AnaState, LogPage};
use iolab_nvme_spec::zone::ZoneSendAction;
use iolab_nvme_tcp::Tcp;

/// Calls the same function for each kind.
macro_rules! each {
    ($kind:ident, $any:expr, $one:ident => $what:expr) => {
        match $any {
            $kind::Pcie($one) => $what,
            $kind::Tcp($one) => $what,
            $kind::Rdma($one) => $what,
        }
    };
}

/// A controller.
#[derive(Debug, Clone)]
pub enum AnyController {
    /// With registers and rings: on the PCI bus, in another process, or in this one.
    Pcie(Controller),
    /// Behind TCP.
    Tcp(Controller<Tcp>),
    /// Behind RDMA.
    Rdma(Controller<Rdma>),
}

impl AnyController {
    /// The facts that the controller reported when it was identified.
    pub fn facts(&self) -> &ControllerFacts {
        each!(AnyController, self, controller => controller.facts())
    }

    /// The active namespaces, as they are now.
    pub fn namespaces(&self) -> Result<Vec<Namespace>, DriverError> {
        each!(AnyController, self, controller => controller.namespaces())
    }

    /// One active namespace, as it is now.
    pub fn namespace(&self, nsid: u32) -> Result<Namespace, DriverError> {
        each!(AnyController, self, controller => controller.namespace(nsid))
    }

    /// How the controller reaches a namespace. See [`Controller::access`].
    pub fn access(&self, nsid: u32) -> Result<Option<AnaState>, DriverError> {
        each!(AnyController, self, controller => controller.access(nsid))
    }

    /// Makes memory accessible to the device. See [`Controller::map`].
    pub fn map(&self, memory: &SharedBytes) -> Result<u64, DriverError> {
        each!(AnyController, self, controller => controller.map(memory))
    }

    /// Unmaps what [`AnyController::map`] mapped. See [`Controller::unmap`].
    pub fn unmap(&self, address: u64) -> Result<(), DriverError> {
        each!(AnyController, self, controller => controller.unmap(address))
    }

    /// Reads a log page from its start. See [`Controller::log_page`].
    pub fn log_page(&self, page: LogPage, nsid: u32, retain: bool, to: &mut [u8]) -> Result<(), DriverError> {
        each!(AnyController, self, controller => controller.log_page(page, nsid, retain, to))
    }

    /// The events that the controller reported. See [`Controller::take_noticed`].
    pub(crate) fn take_noticed(&self) -> Vec<AsyncEvent> {
        each!(AnyController, self, controller => controller.take_noticed())
    }

    /// The latest resets of the controller. See [`Controller::recoveries`].
    pub(crate) fn recoveries(&self) -> Vec<ControllerReset> {
        each!(AnyController, self, controller => controller.recoveries())
    }

    /// How many times the controller was reset. See [`Controller::resets`].
    pub(crate) fn resets(&self) -> u32 {
        each!(AnyController, self, controller => controller.resets())
    }

    /// Whether the controller was given up.
    pub fn is_given_up(&self) -> bool {
        each!(AnyController, self, controller => controller.is_given_up())
    }

    /// Makes a pair of queues.
    pub fn queue_pair(&self, options: QueueOptions) -> Result<AnyPair, DriverError> {
        match self {
            AnyController::Pcie(controller) => controller.queue_pair(options).map(AnyPair::Pcie),
            AnyController::Tcp(controller) => {
                let options = for_fabric(controller.facts(), options);
                controller.queue_pair(options).map(|pair| AnyPair::Tcp(Box::new(pair)))
            }
            AnyController::Rdma(controller) => {
                let options = for_fabric(controller.facts(), options);
                controller.queue_pair(options).map(|pair| AnyPair::Rdma(Box::new(pair)))
            }
        }
    }
}

/// Targets often accept fewer entries than a drive: excess operations wait.
fn for_fabric(facts: &ControllerFacts, options: QueueOptions) -> QueueOptions {
    let wanted = if options.entries == 0 { u32::from(options.slots) + 1 } else { options.entries };
    QueueOptions { entries: wanted.clamp(2, facts.capabilities.max_queue_entries().max(2)), ..options }
}

/// A pair of queues.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a worker has few pairs, and that of rings is reached without a detour")]
pub enum AnyPair {
    /// Rings.
    Pcie(QueuePair),
    /// A connection.
    Tcp(Box<QueuePair<Tcp>>),
    /// A connection by RDMA.
    Rdma(Box<QueuePair<Rdma>>),
}

impl AnyPair {
    /// Reads blocks. See [`QueuePair::read`].
    #[inline(always)]
    pub fn read(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32, data: DataWindow) -> Submit {
        each!(AnyPair, self, pair => pair.read(slot, namespace, lba, blocks, data))
    }

    /// Writes blocks. See [`QueuePair::write`].
    #[inline(always)]
    pub fn write(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32, data: DataWindow) -> Submit {
        each!(AnyPair, self, pair => pair.write(slot, namespace, lba, blocks, data))
    }

    /// Deallocates blocks. See [`QueuePair::deallocate`].
    #[inline]
    pub fn deallocate(&mut self, slot: u16, namespace: &Namespace, ranges: &[(u64, u32)]) -> Submit {
        each!(AnyPair, self, pair => pair.deallocate(slot, namespace, ranges))
    }

    /// Makes written data permanent. See [`QueuePair::flush_cache`].
    #[inline]
    pub fn flush_cache(&mut self, slot: u16, namespace: &Namespace) -> Submit {
        each!(AnyPair, self, pair => pair.flush_cache(slot, namespace))
    }

    /// Changes the state of a zone. See [`QueuePair::manage_zone`].
    pub fn manage_zone(&mut self, slot: u16, namespace: &Namespace, zone: u64, action: ZoneSendAction) -> Submit {
        each!(AnyPair, self, pair => pair.manage_zone(slot, namespace, Some(zone), action))
    }

    /// Reports zones. See [`QueuePair::report_zones_here`].
    pub fn report_zones_here(&mut self, slot: u16, namespace: &Namespace, lba: u64) -> Submit {
        each!(AnyPair, self, pair => pair.report_zones_here(slot, namespace, lba))
    }

    /// What was reported. See [`QueuePair::zones_reported`].
    pub fn zones_reported(&self, slot: u16) -> Option<ZoneReport> {
        each!(AnyPair, self, pair => pair.zones_reported(slot))
    }

    /// Makes the accepted commands visible to the device.
    #[inline(always)]
    pub fn flush(&mut self) {
        each!(AnyPair, self, pair => pair.flush());
    }

    /// Calls `each` with completed commands. See [`QueuePair::reap`].
    #[inline(always)]
    pub fn reap(&mut self, max: usize, each: impl FnMut(Completion)) -> Result<usize, DriverError> {
        each!(AnyPair, self, pair => pair.reap(max, each))
    }

    /// Waits for a completion. See [`QueuePair::wait`].
    pub fn wait(&mut self, timeout_ns: u64) -> Result<bool, DriverError> {
        each!(AnyPair, self, pair => pair.wait(timeout_ns))
    }

    /// Commands accepted and not yet returned.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        each!(AnyPair, self, pair => pair.in_flight())
    }
}
