//! Queue pairs on several threads while the controller is reset concurrently, in real time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use iolab_clock::Clock;
use iolab_nvme_driver::*;
use iolab_nvme_spec::event::{EventType, HealthEvent};
use iolab_pci_device::{DmaBuffer, DmaMapper};
use iolab_virtual_ssd::{Config, Embedded, Subsystem};

use crate::drive;

const THREADS: u64 = 3;
const SLOTS: u16 = 8;
const BLOCKS: u32 = 8;
const SLOT_BYTES: usize = 4096;

struct Worker {
    queue: QueuePair,
    namespace: Namespace,
    data: DmaBuffer,
    /// This worker alone uses the blocks from here on.
    first_lba: u64,
    /// The value last written through each slot.
    written: [u64; SLOTS as usize],
    reading: [bool; SLOTS as usize],
    busy: [bool; SLOTS as usize],
    done: u64,
}

impl Worker {
    fn slice(&self, slot: u16) -> DataWindow {
        DataWindow::of(&self.data, usize::from(slot) * SLOT_BYTES, SLOT_BYTES as u32).unwrap()
    }

    fn fill(&self, slot: u16, value: u64) {
        for word in 0..SLOT_BYTES / 8 {
            self.data.memory.store_u64(usize::from(slot) * SLOT_BYTES + word * 8, value, Ordering::Relaxed);
        }
    }

    /// Writes and reads through each slot in turn, and checks what was read.
    fn round(&mut self, stamp: u64) {
        for slot in 0..SLOTS {
            let at = usize::from(slot);
            if self.busy[at] {
                continue;
            }
            let (lba, slice) = (self.first_lba + u64::from(slot) * u64::from(BLOCKS), self.slice(slot));
            let submit = if self.reading[at] {
                self.fill(slot, !0);
                self.queue.read(slot, &self.namespace, lba, BLOCKS, slice)
            } else {
                self.written[at] = stamp ^ u64::from(slot) << 32;
                self.fill(slot, self.written[at]);
                self.queue.write(slot, &self.namespace, lba, BLOCKS, slice)
            };
            assert_eq!(submit, Submit::Accepted);
            self.busy[at] = true;
        }
        self.queue.flush();
        self.settle();
    }

    fn settle(&mut self) {
        self.queue.wait(1_000_000).unwrap();
        let Worker { queue, data, written, reading, busy, done, .. } = self;
        queue
            .reap(5, |completion| {
                let at = usize::from(completion.slot);
                assert_eq!(completion.outcome, CommandOutcome::Done);
                assert!(std::mem::replace(&mut busy[at], false), "slot {at} came back twice");
                if reading[at] {
                    for word in 0..SLOT_BYTES / 8 {
                        let seen = data.memory.load_u64(at * SLOT_BYTES + word * 8, Ordering::Relaxed);
                        assert_eq!(seen, written[at], "slot {at}, word {word}");
                    }
                }
                reading[at] = !reading[at];
                *done += 1;
            })
            .unwrap();
    }
}

#[test]
fn resets_under_load_lose_nothing_on_any_thread() {
    let clock = Clock::monotonic();
    let subsystem = Subsystem::new(Config { size_bytes: 1 << 20, ..Config::default() }).unwrap();
    let mut device = Embedded::new(&subsystem, clock.clone()).unwrap();
    let buffers: Vec<DmaBuffer> =
        (0..THREADS).map(|_| device.allocate(usize::from(SLOTS) * SLOT_BYTES).unwrap()).collect();
    let controller = Controller::open(Box::new(device), clock, ControllerOptions::default()).unwrap();
    let namespace = controller.namespace(1).unwrap();
    let (stop, settled) = (AtomicBool::new(false), AtomicUsize::new(0));
    let done = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .zip(buffers)
            .map(|(number, data)| {
                let options = QueueOptions { reaps_per_check: 16, replays: u8::MAX, ..QueueOptions::with_slots(SLOTS) };
                let queue = controller.queue_pair(options).unwrap();
                let mut worker = Worker {
                    queue,
                    namespace,
                    data,
                    first_lba: number * 256,
                    written: [0; SLOTS as usize],
                    reading: [false; SLOTS as usize],
                    busy: [false; SLOTS as usize],
                    done: 0,
                };
                let (stop, settled) = (&stop, &settled);
                scope.spawn(move || {
                    let mut stamp = number << 48;
                    while !stop.load(Ordering::Relaxed) {
                        stamp += 1;
                        worker.round(stamp);
                        settled.fetch_add(1, Ordering::Relaxed);
                    }
                    while worker.busy.contains(&true) {
                        worker.settle();
                    }
                    worker.done
                })
            })
            .collect();
        for reset in 1..=40 {
            // Waits for some work between resets, on any thread.
            let before = settled.load(Ordering::Relaxed);
            while settled.load(Ordering::Relaxed) < before + 20 {
                std::thread::yield_now();
            }
            controller.reset().unwrap();
            assert_eq!(controller.resets(), reset);
            assert_eq!(controller.namespaces().unwrap().len(), 1);
        }
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
    });
    assert!(done > 800, "{done}");
    assert!(controller.recoveries().iter().all(|recovery| recovery.fault == ResetCause::Requested));
}

#[test]
fn a_hot_drive_says_so() {
    let clock = Clock::simulated(1);
    let subsystem = Subsystem::new(Config { size_bytes: 1 << 20, ..Config::default() }).unwrap();
    let device = Embedded::new(&subsystem, clock.clone()).unwrap();
    let controller = Controller::open(Box::new(device), clock, drive::options()).unwrap();
    assert!(controller.next_event().unwrap().is_none());
    subsystem.set_temperature(400);
    let mut events = Vec::new();
    for _ in 0..20 {
        controller.namespace(1).unwrap();
        events.extend(controller.next_event().unwrap());
    }
    let event = events.first().expect("an event about the temperature");
    assert_eq!(event.reported.event_type(), EventType::HEALTH);
    assert_eq!(HealthEvent(event.reported.information()), HealthEvent::TEMPERATURE);
    let EventDetail::Health(log) = &event.detail else { panic!("{:?}", event.detail) };
    assert_eq!(log.composite_temperature.get(), 400);
}
