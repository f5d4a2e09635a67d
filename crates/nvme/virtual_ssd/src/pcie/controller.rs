//! One controller: life cycle, admin queue, and the dispatchers of its I/O queues.
//!
//! ```text
//!             CC.EN=1                        CC.SHN
//!  disabled ──────────▶ ready (CSTS.RDY=1) ──────────▶ shut down (CSTS.SHST=2)
//!     ▲                   │  │ a queue is unreachable      │
//!     │     CC.EN=0       │  ▼                             │
//!     └── stopping ◀──────┴ failed (CSTS.CFS=1) ◀──────────┘
//! ```
//!
//! The host writes to memory. In every [`Controller::poll`], the controller reads CC, the doorbells
//! and a few other words. With its own dispatcher ([`Controller::inline`]), one poll does
//! everything. Otherwise ([`Controller::with_dispatchers`]), other threads poll the dispatchers,
//! and this one polls only the admin queue.
//!
//! Guarantees: CSTS.RDY is cleared only after every dispatcher has released its queues. Whatever a
//! host writes, the worst effect is CSTS.CFS. The controller does not handle I/O commands.

mod admin_queue;
mod life_cycle;
mod queues;
mod shared;

use std::sync::Arc;

use iolab_nvme_spec::identify::SglSupport;
use iolab_nvme_spec::registers::{Capabilities, ControllerConfiguration, SUBSYSTEM_RESET, Version};
use iolab_pci_device::{HostMemory, InterruptTable, SharedBytes};

pub(crate) use shared::{ControllerShared, Report};

use crate::admin::{AdminExecutor, FrontFeatures};
use crate::mailbox::Mailbox;
use crate::namespace::MOST_CONTROLLERS;
use crate::pcie::data::PcieData;
use crate::pcie::dispatcher::{Dispatcher, Order};
use crate::pcie::registers::{Identity, REGISTER_BYTES, Registers};
use crate::subsystem::Subsystem;
use admin_queue::AdminQueue;
use life_cycle::State;

/// Polls of a busy dispatcher before the registers are polled again.
const MOST_SKIPPED: u32 = 64;

/// What connects a controller to its host.
#[derive(Debug)]
pub struct Wiring<M> {
    /// Memory of [`REGISTER_BYTES`], which the host writes.
    pub registers: SharedBytes,
    /// Vectors whose interrupts the host waits for.
    pub interrupts: InterruptTable,
    /// The host's memory.
    pub memory: M,
}

/// Why a controller could not be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ControllerError {
    /// The subsystem has the maximum number of controllers already.
    #[error("the subsystem already has {MOST_CONTROLLERS} controllers: close one")]
    TooMany,
    /// The memory is too small for the registers.
    #[error("registers need {REGISTER_BYTES} bytes of memory")]
    FewRegisters,
    /// A controller without dispatchers.
    #[error("a controller needs at least one dispatcher")]
    NoDispatcher,
}

/// One controller of a subsystem.
#[derive(Debug)]
pub struct Controller<M> {
    subsystem: Arc<Subsystem>,
    shared: Arc<ControllerShared>,
    executor: AdminExecutor,
    /// The data of admin commands.
    data: PcieData<M>,
    queues: QueueTable,
    state: State,
    configuration: ControllerConfiguration,
    admin: Option<AdminQueue>,
    generation: u64,
    orders: Vec<Arc<Mailbox<Order>>>,
    inline: Option<Box<Dispatcher<M>>>,
    tokens: u32,
    /// Polls since the registers were last polled.
    skipped: u32,
    posted: u64,
}

/// Which I/O queues exist, for Create and Delete.
#[derive(Debug, Default)]
struct QueueTable {
    /// The completion queue of each submission queue, by identifier less one.
    submissions: Vec<Option<u16>>,
    /// Whether each completion queue exists, by identifier less one.
    completions: Vec<bool>,
}

impl<M: HostMemory + Clone> Controller<M> {
    /// Creates a controller that does everything in the polling thread.
    pub fn inline(subsystem: &Arc<Subsystem>, wiring: Wiring<M>) -> Result<Controller<M>, ControllerError> {
        let (mut controller, dispatchers) = Controller::with_dispatchers(subsystem, wiring, 1)?;
        controller.inline = dispatchers.into_iter().next().map(Box::new);
        Ok(controller)
    }

    /// Creates a controller whose I/O queues are distributed over `count` dispatchers; a thread
    /// must poll each of them.
    pub fn with_dispatchers(
        subsystem: &Arc<Subsystem>,
        wiring: Wiring<M>,
        count: usize,
    ) -> Result<(Controller<M>, Vec<Dispatcher<M>>), ControllerError> {
        if count == 0 {
            return Err(ControllerError::NoDispatcher);
        }
        let Wiring { registers, interrupts, memory } = wiring;
        let registers = Registers::new(registers).ok_or(ControllerError::FewRegisters)?;
        registers.initialise(identity(subsystem), false);
        registers.set_status(iolab_nvme_spec::registers::ControllerStatus(0));
        let record = subsystem.register().ok_or(ControllerError::TooMany)?;
        let front = front_features(subsystem, interrupts.count());
        let shared = Arc::new(ControllerShared::new(Arc::clone(&record), registers, interrupts));
        let orders: Vec<Arc<Mailbox<Order>>> = (0..count).map(|_| Arc::default()).collect();
        let dispatchers = orders.iter().map(|orders| {
            Dispatcher::new(Arc::clone(&shared), Arc::clone(subsystem), Arc::clone(orders), memory.clone())
        });
        let dispatchers = dispatchers.collect();
        let pairs = subsystem.config.queue_pairs;
        let controller = Controller {
            executor: AdminExecutor::new(Arc::clone(subsystem), record, front),
            queues: QueueTable::new(pairs),
            state: State::Disabled,
            configuration: ControllerConfiguration(0),
            admin: None,
            generation: memory.generation(),
            orders,
            inline: None,
            tokens: 0,
            skipped: 0,
            posted: 0,
            subsystem: Arc::clone(subsystem),
            shared,
            data: PcieData::new(memory),
        };
        Ok((controller, dispatchers))
    }
}

impl<M: HostMemory> Controller<M> {
    /// Does the work that is possible now. Returns whether there was any. While its own dispatcher
    /// is busy, the registers and the admin queue are polled less often.
    #[inline]
    pub fn poll(&mut self, now_ns: u64) -> bool {
        self.executor.set_time(now_ns);
        let mut worked = false;
        if let Some(dispatcher) = &mut self.inline {
            worked |= dispatcher.poll(now_ns);
        }
        self.skipped += 1;
        if worked && self.skipped < MOST_SKIPPED && !self.shared.record.inbox.has_messages() {
            return true;
        }
        self.skipped = 0;
        worked | self.poll_control()
    }

    /// Posts the completions that are due by now, and does nothing else.
    #[inline]
    pub(crate) fn poll_due(&mut self, now_ns: u64) {
        self.inline.iter_mut().for_each(|dispatcher| dispatcher.poll_due(now_ns));
    }

    /// Completions posted so far by this controller and its own dispatcher.
    #[inline]
    pub fn posted(&self) -> u64 {
        self.posted + self.inline.as_ref().map_or(0, |dispatcher| dispatcher.posted())
    }

    fn poll_control(&mut self) -> bool {
        let registers = &self.shared.registers;
        if registers.is_gone() {
            return false;
        }
        registers.take_masks();
        let configuration = registers.configuration();
        let wants_reset = registers.take_subsystem_reset() == SUBSYSTEM_RESET;
        let mut worked = false;
        if configuration != self.configuration {
            self.configure(configuration);
            worked = true;
        }
        if wants_reset {
            self.subsystem.reset();
            worked = true;
        }
        worked |= self.take_messages();
        worked |= self.poll_admin();
        // A dispatcher of this thread executes its orders at once, so that one poll completes a
        // command.
        let now_ns = self.executor.now_ns();
        if let Some(dispatcher) = &mut self.inline {
            worked |= dispatcher.take_orders(now_ns);
        }
        self.take_messages();
        worked
    }

    /// The next time at which [`Controller::poll`] has work that does not depend on the host.
    pub fn next_event_ns(&self) -> Option<u64> {
        let keep_alive = self.keep_alive_deadline_ns();
        let earlier = |first: Option<u64>, next: Option<u64>| first.into_iter().chain(next).min();
        self.inline.iter().fold(keep_alive, |first, dispatcher| earlier(first, dispatcher.next_event_ns()))
    }

    /// The registers, for transports that carry accesses as messages.
    pub fn registers(&self) -> &Registers {
        &self.shared.registers
    }

    /// The controller's identifier in its subsystem.
    pub fn id(&self) -> u16 {
        self.shared.record.id()
    }

    /// Arms the dispatchers that this controller polls itself; see [`Dispatcher::arm`].
    pub fn arm(&mut self, is_armed: bool) {
        self.inline.iter_mut().for_each(|dispatcher| dispatcher.arm(is_armed));
    }

    /// The orders of the dispatcher that owns a completion queue.
    fn owner(&self, completion_queue: u16) -> &Mailbox<Order> {
        &self.orders[usize::from(completion_queue) % self.orders.len()]
    }

    fn next_token(&mut self) -> u32 {
        self.tokens = self.tokens.wrapping_add(1);
        self.tokens
    }

    /// Log2 of the host's page size.
    fn page_shift(&self) -> u32 {
        12 + u32::from(self.configuration.mps())
    }
}

impl QueueTable {
    fn new(pairs: u16) -> QueueTable {
        QueueTable { submissions: vec![None; usize::from(pairs)], completions: vec![false; usize::from(pairs)] }
    }

    /// Whether any I/O queue exists.
    fn has_any(&self) -> bool {
        self.completions.iter().any(|exists| *exists)
    }
}

/// CAP and VS of the controllers of a subsystem.
fn identity(subsystem: &Subsystem) -> Identity {
    let sets = Capabilities::CSS_NVM | Capabilities::CSS_IDENTIFIED | Capabilities::CSS_NONE;
    let capabilities = Capabilities(0)
        .with_mqes((subsystem.config.queue_entries - 1) as u16)
        .with_cqr(true)
        .with_to(20)
        .with_nssrs(true)
        .with_css(sets)
        .with_mpsmin(0)
        .with_mpsmax(4)
        .with_crms(1);
    Identity { capabilities, version: Version::V1_4.0 }
}

/// The features of this front.
fn front_features(subsystem: &Subsystem, vectors: u16) -> FrontFeatures {
    FrontFeatures {
        queue_pairs: subsystem.config.queue_pairs,
        vectors,
        has_memory_queues: true,
        sgl: SglSupport(0).with_supported(1).with_bit_bucket(true).with_longer(true),
    }
}

impl<M> Drop for Controller<M> {
    fn drop(&mut self) {
        // If a host disappeared without CC.SHN, this counts as an unsafe shutdown.
        if matches!(self.state, State::Ready) && !self.shared.registers.is_gone() {
            self.subsystem.health.unsafe_shutdowns.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        self.shared.fail();
    }
}
