//! A hostile device: it overwrites every ring and list that it was given, invents completions,
//! ignores register writes and reports false status. A byte string decides when and how; after its
//! end the device behaves correctly.
//!
//! The driver may give the device up. It must not panic, hang, lose a command or return one twice:
//! [`survive`] checks that.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolab_clock::Clock;
use iolab_nvme_driver::{
    CommandOutcome, Controller, ControllerOptions, DataWindow, DriverError, Namespace, QueueOptions, QueuePair,
    Refusal, Submit,
};
use iolab_nvme_spec::registers::Register;
use iolab_pci_device::{DmaBuffer, DmaMapper, Interrupt, MapError, PciError, PciFunction, SharedBytes};
use iolab_virtual_ssd::{Config, Embedded, Subsystem};

/// Bytes from here on make the device strike when it is accessed.
pub const STRIKE: u8 = 0xf0;
const TIMEOUT_NS: u64 = 20_000_000;
const SLOTS: u16 = 9;
/// Rounds of submitting and reaping.
const ROUNDS: usize = 60;

/// The byte string, read from the front; zeroes after its end.
#[derive(Debug)]
struct Choices {
    bytes: VecDeque<u8>,
}

impl Choices {
    fn byte(&mut self) -> u8 {
        self.bytes.pop_front().unwrap_or(0)
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    fn below(&mut self, bound: u64) -> u64 {
        (u64::from(self.byte()) | u64::from(self.byte()) << 8) % bound.max(1)
    }
}

/// A virtual SSD with hostile behaviour added.
struct Enemy {
    inner: Embedded,
    /// Memory that the driver shares with the device; the enemy may write to all of it.
    given: Mutex<Vec<DmaBuffer>>,
    choices: RefCell<Choices>,
    awake: Arc<AtomicBool>,
}

impl Enemy {
    fn strikes(&self) -> bool {
        self.awake.load(Ordering::Relaxed) && self.choices.borrow_mut().byte() >= STRIKE
    }

    /// Changes words of shared memory, most often into something that looks like a completion.
    fn scribble(&self) {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let mut choices = self.choices.borrow_mut();
        let Some(buffer) = given.get(choices.below(given.len() as u64) as usize) else { return };
        let words = (buffer.memory.len() / 8) as u64;
        for _ in 0..=choices.below(3) {
            // The start of a buffer is the part of a ring that is used most.
            let reach = if choices.byte() & 1 == 0 { words.min(64) } else { words };
            let at = choices.below(reach) as usize * 8;
            let word = match choices.byte() & 3 {
                0 => choices.word(),
                1 => u64::MAX,
                2 => choices.word() & 0x0001_00ff_0003_000f,
                _ => buffer.memory.load_u64(at, Ordering::Relaxed) ^ 1 << (choices.byte() & 63),
            };
            buffer.memory.store_u64(at, word, Ordering::Release);
        }
    }
}

impl PciFunction for Enemy {
    fn read_u32(&self, offset: u32) -> u32 {
        let value = self.inner.read_u32(offset);
        if Register(offset) != Register::CSTS || !self.strikes() {
            return value;
        }
        let mut choices = self.choices.borrow_mut();
        match choices.byte() {
            0..8 => u32::MAX,
            8..128 => value ^ 1 << (choices.byte() % 6),
            _ => choices.word() as u32 >> 1,
        }
    }

    fn write_u32(&self, offset: u32, value: u32) {
        // Some writes are ignored.
        if !self.strikes() {
            self.inner.write_u32(offset, value);
        }
    }

    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes> {
        self.inner.mapped_registers(offset)
    }

    fn interrupt(&mut self, vector: u16) -> Result<Interrupt, PciError> {
        self.inner.interrupt(vector)
    }

    fn reset(&mut self) -> Result<(), PciError> {
        self.inner.reset()
    }

    fn pause(&self, at_most: Duration) {
        self.inner.pause(at_most);
        if self.strikes() {
            self.scribble();
        }
    }
}

impl DmaMapper for Enemy {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        self.inner.map(memory)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).retain(|buffer| buffer.address != address);
        self.inner.unmap(address)
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError> {
        let buffer = self.inner.allocate(bytes)?;
        self.given.lock().unwrap_or_else(PoisonError::into_inner).push(buffer.clone());
        Ok(buffer)
    }
}

/// The result of a run with one enemy.
#[derive(Debug, Default, Clone)]
pub struct Summary {
    /// Commands that succeeded, or seemed to.
    pub done: usize,
    /// Commands that ended with a status.
    pub failed: usize,
    /// Commands without an answer.
    pub lost: usize,
    /// Resets of the controller.
    pub resets: u32,
    /// Whether the controller was given up.
    pub given_up: bool,
    /// Whether it was refused from the start.
    pub unopened: bool,
}

/// One run: the driver and bookkeeping of the test.
struct Session {
    controller: Controller,
    namespace: Namespace,
    queue: QueuePair,
    data: DataWindow,
    busy: [bool; SLOTS as usize],
    summary: Summary,
}

/// Runs the driver with one hostile device for some rounds, or until the driver gives it up. The
/// first byte decides whether the device is already hostile while it is opened.
pub fn survive(input: &[u8]) -> Summary {
    let clock = Clock::simulated(1);
    let config = Config { size_bytes: 1 << 20, ..Config::default() };
    let subsystem = Subsystem::new(config).expect("a configuration that makes sense");
    let mut inner = Embedded::new(&subsystem, clock.clone()).expect("a device can be made");
    let data = inner.allocate(1 << 14).expect("memory");
    let data = DataWindow::new(data.address, 1 << 14);
    let mut choices = Choices { bytes: input.iter().copied().collect() };
    let awake = Arc::new(AtomicBool::new(choices.byte() & 1 == 1));
    let device = Enemy { inner, given: Mutex::default(), choices: RefCell::new(choices), awake: Arc::clone(&awake) };
    let Ok(mut fight) = open(device, clock.clone(), data) else {
        return Summary { unopened: true, ..Summary::default() };
    };
    awake.store(true, Ordering::Relaxed);
    let end = clock.now_ns() + 10_000 * TIMEOUT_NS;
    for round in 0..ROUNDS {
        assert!(clock.now_ns() < end, "it goes on and on: {:?}", fight.summary);
        if !fight.round(round as u64) {
            break;
        }
    }
    fight.summary.resets = fight.controller.resets();
    fight.summary
}

fn open(device: Enemy, clock: Clock, data: DataWindow) -> Result<Session, DriverError> {
    let options = ControllerOptions { admin_timeout_ns: TIMEOUT_NS, ..ControllerOptions::default() };
    let controller = Controller::open(Box::new(device), clock, options)?;
    let namespace = controller.namespace(1)?;
    let options =
        QueueOptions { entries: 16, timeout_ns: TIMEOUT_NS, reaps_per_check: 1, ..QueueOptions::with_slots(SLOTS) };
    let queue = controller.queue_pair(options)?;
    Ok(Session { controller, namespace, queue, data, busy: [false; SLOTS as usize], summary: Summary::default() })
}

impl Session {
    /// Fills the slots and reaps once; `false` when the controller was given up.
    fn round(&mut self, round: u64) -> bool {
        for slot in 0..SLOTS {
            if !self.busy[usize::from(slot)] {
                self.submit(slot, round);
            }
        }
        self.queue.flush();
        // A wait fails if there is nothing left to wait for; the reap reports that.
        let _ = self.queue.wait(TIMEOUT_NS / 10);
        let Session { queue, busy, summary, .. } = self;
        let reaped = queue.reap(4, |completion| {
            let slot = usize::from(completion.slot);
            assert!(std::mem::replace(&mut busy[slot], false), "slot {slot} came back twice");
            match completion.outcome {
                CommandOutcome::Done => summary.done += 1,
                CommandOutcome::Failed(_) => summary.failed += 1,
                CommandOutcome::Lost(_) => summary.lost += 1,
            }
        });
        let in_flight = busy.iter().filter(|busy| **busy).count();
        assert_eq!(queue.in_flight() as usize, in_flight, "a command is neither here nor there");
        if reaped.is_err() {
            assert_eq!(in_flight, 0, "a command was lost without a word");
            summary.given_up = true;
            return false;
        }
        // Errors are expected here. The test checks that they are errors and not panics.
        drop(self.controller.next_event());
        true
    }

    fn submit(&mut self, slot: u16, round: u64) {
        let lba = (round * 7 + u64::from(slot)) % 64;
        let submit = match (round + u64::from(slot)) % 4 {
            0 => self.queue.write(slot, &self.namespace, lba, 32, self.data),
            1 => self.queue.deallocate(slot, &self.namespace, &[(lba, 4)]),
            _ => self.queue.read(slot, &self.namespace, lba, 32, self.data),
        };
        match submit {
            Submit::Accepted => self.busy[usize::from(slot)] = true,
            // The blocks do not fit if their size differs from the one that was reported first.
            Submit::Full | Submit::Refused(Refusal::Dead | Refusal::ShortData | Refusal::Length) => {}
            Submit::Refused(Refusal::Metadata) => {}
            Submit::Refused(refusal) => panic!("{refusal}"),
        }
    }
}
