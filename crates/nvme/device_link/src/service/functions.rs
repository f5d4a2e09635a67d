//! Creates a function for each driver, and answers questions about the drive.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::{Function, Functions, MoreStatistics};
use iolab_clock::Clock;
use iolab_memory::SharedBytes;
use iolab_pci_device::{DmaTable, InterruptTable};
use iolab_virtual_ssd::{Controller, REGISTER_BYTES, Registers, Subsystem, Wiring};

use crate::service::threads::{NewTask, PolledState, ThreadInboxes};

/// Vectors of each function: one for the admin queue, and one for each possible queue pair.
const VECTORS: u16 = 65;
/// How long a reset may take, ns. It is done between two polls.
const RESET_NS: u64 = 5_000_000_000;
/// How long all threads may take to begin a new pass, ns: many times their longest sleep.
const SETTLE_NS: u64 = 100_000_000;

/// Connects drivers to the drive.
#[derive(Debug)]
pub(crate) struct Drive {
    name: String,
    subsystem: Arc<Subsystem>,
    inboxes: Mutex<ThreadInboxes>,
    clock: Clock,
    more: Option<Arc<dyn MoreStatistics>>,
}

impl Drive {
    pub(crate) fn new(
        name: &str,
        subsystem: &Arc<Subsystem>,
        inboxes: ThreadInboxes,
        clock: Clock,
        more: Option<Arc<dyn MoreStatistics>>,
    ) -> Drive {
        Drive { name: name.to_owned(), subsystem: Arc::clone(subsystem), inboxes: Mutex::new(inboxes), clock, more }
    }

    /// The counters of the drive, and the additional statistics.
    fn statistics(&self, as_json: bool) -> String {
        let drive = self.subsystem.statistics();
        match (&self.more, as_json) {
            (None, false) => drive.text(),
            (None, true) => drive.json(),
            (Some(more), false) => drive.text() + &more.text(),
            (Some(more), true) => {
                let (name, value) = more.json();
                let json = drive.json();
                // One object: the member is inserted before its end.
                let members = json.trim_end().trim_end_matches('}').trim_end();
                format!("{members},\n  \"{name}\": {value}\n}}\n")
            }
        }
    }
}

impl Functions for Drive {
    fn connect(&self, memory: DmaTable, interrupts: InterruptTable) -> Result<Box<dyn Function>, String> {
        let registers = SharedBytes::memfd("iolab-registers", REGISTER_BYTES.next_multiple_of(4096));
        let registers = registers.map_err(|error| format!("memory for registers: {error}"))?;
        let inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        let wiring = Wiring { registers: registers.clone(), interrupts, memory };
        let (controller, dispatchers) =
            Controller::with_dispatchers(&self.subsystem, wiring, inboxes.dispatchers.len())
                .map_err(|error| error.to_string())?;
        let state = Arc::new(PolledState::default());
        let ended = |_| "the device is being shut down".to_owned();
        for (inbox, mut dispatcher) in inboxes.dispatchers.iter().zip(dispatchers) {
            for (inbox, copier) in inboxes.workers.iter().zip(dispatcher.add_copiers(inboxes.workers.len())) {
                inbox.send(NewTask::Copier(Arc::clone(&state), Box::new(copier))).map_err(ended)?;
            }
            inbox.send(NewTask::Dispatcher(Arc::clone(&state), Box::new(dispatcher))).map_err(ended)?;
        }
        let first = inboxes.dispatchers.first().ok_or("the device has no dispatcher")?;
        let by_message = controller.registers().clone();
        first.send(NewTask::Controller(Arc::clone(&state), Box::new(controller))).map_err(ended)?;
        Ok(Box::new(ServedFunction {
            registers,
            by_message,
            queue_pairs: self.subsystem.config().queue_pairs,
            passes: inboxes.passes.clone(),
            state,
            clock: self.clock.clone(),
        }))
    }

    fn answer(&self, question: &str) -> Result<String, String> {
        match question {
            "name" => Ok(self.name.clone()),
            "stats" => Ok(self.statistics(false)),
            "stats json" => Ok(self.statistics(true)),
            other if other.starts_with("set ana=") => {
                let state = &other["set ana=".len()..];
                let (state, port) = state.split_once(" at ").map_or((state, None), |(state, at)| (state, Some(at)));
                self.subsystem.set_access(state, port).map(|()| String::new())
            }
            other => Err(format!("a served device cannot answer `{other}`")),
        }
    }

    fn vectors(&self) -> u16 {
        VECTORS
    }
}

/// The function of one driver.
struct ServedFunction {
    registers: SharedBytes,
    /// The same registers, with access rules.
    by_message: Registers,
    queue_pairs: u16,
    passes: Vec<Arc<AtomicU64>>,
    state: Arc<PolledState>,
    clock: Clock,
}

impl Function for ServedFunction {
    fn registers(&self) -> &SharedBytes {
        &self.registers
    }

    fn reset(&mut self) {
        let wanted = self.state.resets_requested.fetch_add(1, Ordering::Release).wrapping_add(1);
        let give_up_ns = self.clock.now_ns().saturating_add(RESET_NS);
        while self.state.resets_done.load(Ordering::Acquire) != wanted && self.clock.now_ns() < give_up_ns {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    fn read_u32(&self, offset: u32) -> u32 {
        self.by_message.read(offset)
    }

    fn write_u32(&self, offset: u32, value: u32) {
        self.by_message.write_checked(offset, value, self.queue_pairs);
    }

    /// A thread that has begun another pass has looked up the mappings again.
    fn settle(&self) {
        let before: Vec<u64> = self.passes.iter().map(|passes| passes.load(Ordering::Acquire)).collect();
        let give_up_ns = self.clock.now_ns().saturating_add(SETTLE_NS);
        let is_behind =
            || self.passes.iter().zip(&before).any(|(passes, seen)| passes.load(Ordering::Acquire) == *seen);
        while is_behind() && self.clock.now_ns() < give_up_ns {
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

impl Drop for ServedFunction {
    fn drop(&mut self) {
        self.state.gone.store(true, Ordering::Release);
    }
}
