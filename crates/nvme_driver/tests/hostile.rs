//! A device that is an enemy: it scribbles over every ring and list it was given, makes up completions, and lies in its
//! registers. The driver may give it up; it must not panic, hang, lose a command or hand one back twice.

mod drive;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drive::Random;
use iolab_clock::Clock;
use iolab_nvme_driver::*;
use iolab_nvme_spec::registers::Register;
use iolab_pci_device::{DmaBuffer, DmaMapper, Interrupt, MapError, PciError, PciFunction, SharedBytes};
use iolab_virtual_ssd::{Config, Embedded, Subsystem};

/// A virtual SSD, and what is done to spite its driver.
struct Hostile {
    inner: Embedded,
    /// Memory that the driver shares with the device: all of it is the enemy's.
    given: Mutex<Vec<DmaBuffer>>,
    random: RefCell<Random>,
    /// Of a thousand looks at the device, how many go wrong.
    malice: u64,
    /// Behaves until this is set.
    awake: Arc<AtomicBool>,
}

impl Hostile {
    fn strikes(&self) -> bool {
        self.awake.load(Ordering::Relaxed) && self.random.borrow_mut().below(1000) < self.malice
    }

    /// Changes a word of shared memory, most often into something that looks like a completion.
    fn scribble(&self) {
        let given = self.given.lock().unwrap();
        let mut random = self.random.borrow_mut();
        let buffer = &given[random.below(given.len() as u64) as usize];
        let words = (buffer.memory.len() / 8) as u64;
        for _ in 0..=random.below(3) {
            // The start of a buffer is where rings are used most.
            let reach = if random.below(2) == 0 { words.min(64) } else { words };
            let at = random.below(reach) as usize;
            let word = match random.below(4) {
                0 => random.next(),
                1 => u64::MAX,
                2 => random.below(1 << 8) << 32 | random.below(4) << 16 | random.below(16) | random.below(2) << 48,
                _ => buffer.memory.load_u64(at * 8, Ordering::Relaxed) ^ 1 << random.below(64),
            };
            buffer.memory.store_u64(at * 8, word, Ordering::Release);
        }
    }
}

impl PciFunction for Hostile {
    fn read_u32(&self, offset: u32) -> u32 {
        let value = self.inner.read_u32(offset);
        if Register(offset) != Register::CSTS || !self.strikes() {
            return value;
        }
        let mut random = self.random.borrow_mut();
        match random.below(40) {
            0 => u32::MAX,
            1..20 => value ^ 1 << random.below(6),
            _ => random.next() as u32 >> 1,
        }
    }

    fn write_u32(&self, offset: u32, value: u32) {
        // Now and then a write is swallowed.
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

impl DmaMapper for Hostile {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        self.inner.map(memory)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.given.lock().unwrap().retain(|buffer| buffer.address != address);
        self.inner.unmap(address)
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError> {
        let buffer = self.inner.allocate(bytes)?;
        self.given.lock().unwrap().push(buffer.clone());
        Ok(buffer)
    }
}

/// What came of one enemy.
#[derive(Debug, Default)]
struct Tale {
    done: usize,
    failed: usize,
    lost: usize,
    resets: u32,
    given_up: bool,
    unopened: bool,
}

/// Drives one enemy until some hundred commands have ended or the driver gives it up.
fn fight(seed: u64, malice: u64, awake_from_start: bool) -> Tale {
    const SLOTS: u16 = 9;
    let clock = Clock::simulated(1);
    let subsystem = Subsystem::new(Config { size_bytes: 1 << 20, ..Config::default() }).unwrap();
    let mut inner = Embedded::new(&subsystem, clock.clone()).unwrap();
    let data = inner.allocate(1 << 16).unwrap();
    let awake = Arc::new(AtomicBool::new(awake_from_start));
    let device = Hostile {
        inner,
        given: Mutex::default(),
        random: RefCell::new(Random(seed)),
        malice,
        awake: Arc::clone(&awake),
    };
    let mut tale = Tale::default();
    let opened = Controller::open(Box::new(device), clock.clone(), drive::options()).and_then(|controller| {
        let namespace = controller.namespace(1)?;
        let options = QueueOptions { entries: 16, ..drive::queue_options(SLOTS) };
        let queue = controller.queue_pair(options)?;
        Ok((controller, namespace, queue))
    });
    let Ok((controller, namespace, mut queue)) = opened else {
        tale.unopened = true;
        return tale;
    };
    awake.store(true, Ordering::Relaxed);
    let mut busy = [false; SLOTS as usize];
    let mut random = Random(seed ^ 0xabcd);
    let end = clock.now_ns() + 3000 * drive::TIMEOUT_NS;
    for _ in 0..400 {
        assert!(clock.now_ns() < end, "seed {seed}: it goes on and on: {tale:?}");
        for slot in 0..SLOTS {
            if busy[usize::from(slot)] || tale.given_up {
                continue;
            }
            let slice = DmaSlice::new(data.address, 16384);
            let lba = random.below(64);
            let submit = match random.below(4) {
                0 => queue.write(slot, &namespace, lba, 32, slice),
                1 => queue.deallocate(slot, &namespace, &[(lba, 4)]),
                _ => queue.read(slot, &namespace, lba, 32, slice),
            };
            match submit {
                Submit::Accepted => busy[usize::from(slot)] = true,
                Submit::Full | Submit::Refused(Refusal::Dead) => {}
                Submit::Refused(refusal) => panic!("seed {seed}: {refusal}"),
            }
        }
        queue.flush();
        let waited = queue.wait(drive::TIMEOUT_NS / 10);
        let reaped = queue.reap(4, |completion| {
            let slot = usize::from(completion.slot);
            assert!(std::mem::replace(&mut busy[slot], false), "seed {seed}: slot {slot} came back twice");
            match completion.outcome {
                Outcome::Done => tale.done += 1,
                Outcome::Failed(_) => tale.failed += 1,
                Outcome::Lost(_) => tale.lost += 1,
            }
        });
        if reaped.is_err() {
            assert_eq!(queue.in_flight(), 0, "seed {seed}: given up with commands in flight");
            assert!(busy.iter().all(|busy| !busy), "seed {seed}: a command was lost without a word");
            tale.given_up = true;
            break;
        }
        assert!(waited.is_ok() || busy.iter().any(|busy| *busy) || queue.reap(1, |_| ()).is_err());
        let in_flight = busy.iter().filter(|busy| **busy).count();
        assert_eq!(queue.in_flight() as usize, in_flight, "seed {seed}: a slot is neither here nor there");
        // Errors are expected here; that they are errors, and not panics, is the point.
        drop(controller.next_event());
    }
    tale.resets = controller.resets();
    tale
}

#[test]
fn no_enemy_makes_the_driver_panic_hang_lose_or_double() {
    let mut all = Tale::default();
    let mut given_up = 0;
    for seed in 0..60 {
        let tale = fight(seed, [3, 20, 150][seed as usize % 3], false);
        all.done += tale.done;
        all.lost += tale.lost;
        all.resets += tale.resets;
        given_up += usize::from(tale.given_up);
    }
    // The enemies were real: commands were done, resets were needed, and some devices were beyond help.
    assert!(all.done > 1000 && all.resets > 50 && given_up > 5, "{all:?}, {given_up} given up");
}

#[test]
fn an_enemy_from_the_first_moment_is_opened_or_refused() {
    let unopened = (0..60).filter(|seed| fight(*seed, 100, true).unopened).count();
    assert!(unopened > 5, "only {unopened} of the enemies were refused");
}
