//! The driver with a virtual SSD, in one thread and on a simulated clock.

use iolab_clock::Clock;
use iolab_nvme_driver::*;
use iolab_pci_device::{DmaBuffer, DmaMapper, SharedBytes};
use iolab_random::SplitMix64;
use iolab_virtual_ssd::{Config, Embedded, Subsystem};

/// The time-out of commands: short, because a simulated clock advances in small steps.
pub(crate) const TIMEOUT_NS: u64 = 20_000_000;

pub(crate) struct Drive {
    pub(crate) controller: Controller,
    pub(crate) clock: Clock,
    memory: Memory,
}

/// Memory that stays mapped in the device while the test holds it. A device owns its table, so
/// buffers are allocated from it before it is handed to the driver.
struct Memory {
    pool: DmaBuffer,
    used: usize,
}

/// Bytes of buffers that one test may take.
const POOL_BYTES: usize = 8 << 20;

impl Drive {
    pub(crate) fn new(config: Config) -> Drive {
        Drive::with(config, options())
    }

    pub(crate) fn with(config: Config, options: ControllerOptions) -> Drive {
        let clock = Clock::simulated(1);
        let subsystem = Subsystem::new(config).expect("the configuration makes sense");
        let mut device = Embedded::new(&subsystem, clock.clone()).expect("the device can be made");
        let pool = device.allocate(POOL_BYTES).expect("memory");
        let controller = Controller::open(Box::new(device), clock.clone(), options).expect("the device works");
        Drive { controller, clock, memory: Memory { pool, used: 0 } }
    }

    pub(crate) fn queue(&self, slots: u16) -> QueuePair {
        self.controller.queue_pair(queue_options(slots)).expect("the device has queues")
    }

    /// A buffer of whole pages.
    pub(crate) fn buffer(&mut self, bytes: usize) -> Buffer {
        let offset = self.memory.used;
        self.memory.used += bytes.next_multiple_of(4096);
        let memory = self.memory.pool.memory.window(offset, bytes).expect("the test takes no more than the pool");
        let slice = DataWindow::of(&self.memory.pool, offset, bytes as u32).expect("within the pool");
        Buffer { memory, slice }
    }
}

pub(crate) fn options() -> ControllerOptions {
    ControllerOptions { admin_timeout_ns: TIMEOUT_NS, ..ControllerOptions::default() }
}

pub(crate) fn queue_options(slots: u16) -> QueueOptions {
    QueueOptions { timeout_ns: TIMEOUT_NS, reaps_per_check: 1, ..QueueOptions::with_slots(slots) }
}

pub(crate) struct Buffer {
    pub(crate) memory: SharedBytes,
    pub(crate) slice: DataWindow,
}

impl Buffer {
    pub(crate) fn contents(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.memory.len()];
        self.memory.read(0, &mut bytes);
        bytes
    }

    /// Fills the buffer with bytes that depend on position and seed.
    pub(crate) fn pattern(&self, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed);
        let bytes: Vec<u8> = (0..self.memory.len().div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).collect();
        self.memory.write(0, &bytes[..self.memory.len()]);
        bytes[..self.memory.len()].to_vec()
    }
}

/// splitmix64; bounds are applied by remainder.
#[derive(Debug, Clone)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next()
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Waits for this many completions.
pub(crate) fn collect(queue: &mut QueuePair, wanted: usize) -> Vec<Completion> {
    let mut ended = Vec::new();
    queue.flush();
    while ended.len() < wanted {
        assert!(queue.wait(20 * TIMEOUT_NS).expect("the device lives"), "{} of {wanted} came", ended.len());
        queue.reap(64, |completion| ended.push(completion)).expect("the device lives");
    }
    ended
}

/// Completes one accepted command.
pub(crate) fn one(queue: &mut QueuePair, submit: Submit) -> Completion {
    assert_eq!(submit, Submit::Accepted);
    collect(queue, 1)[0]
}

/// Completes one accepted command that must succeed.
pub(crate) fn done(queue: &mut QueuePair, submit: Submit) -> u64 {
    let completion = one(queue, submit);
    assert_eq!(completion.outcome, CommandOutcome::Done);
    completion.result
}

/// Completes one accepted command that the device must refuse.
pub(crate) fn refused(queue: &mut QueuePair, submit: Submit) -> iolab_nvme_spec::Status {
    match one(queue, submit).outcome {
        CommandOutcome::Failed(status) => status.code(),
        other => panic!("{other:?}"),
    }
}
