//! The device with the driver of this project: embedded, with threads, and with a flash model.

use iolab_clock::Clock;
use iolab_memory::SharedBytes;
use iolab_nvme_driver::{
    CommandOutcome, Controller, ControllerOptions, DataWindow, Namespace, QueueOptions, QueuePair, Submit,
};
use iolab_pci_device::{DmaBuffer, PciDevice};
use iolab_virtual_ssd::{Config, Embedded, Subsystem, ThreadCounts, Threaded};

struct Rig {
    controller: Controller,
    namespace: Namespace,
    clock: Clock,
}

fn embedded(config: &str) -> Rig {
    let clock = Clock::simulated(1);
    let subsystem = Subsystem::new(Config::parse(config).unwrap()).unwrap();
    rig(Box::new(Embedded::new(&subsystem, clock.clone()).unwrap()), clock)
}

fn rig(device: Box<dyn PciDevice>, clock: Clock) -> Rig {
    let controller = Controller::open(device, clock.clone(), ControllerOptions::default()).unwrap();
    let namespace = controller.namespace(1).unwrap();
    Rig { controller, namespace, clock }
}

impl Rig {
    fn buffer(&self, bytes: usize) -> DmaBuffer {
        let memory = SharedBytes::anonymous(bytes).unwrap();
        let address = self.controller.map(&memory).unwrap();
        DmaBuffer { memory, address }
    }

    fn pair(&self, slots: u16) -> QueuePair {
        self.controller.queue_pair(QueueOptions::with_slots(slots)).unwrap()
    }
}

/// Calls `submit` for each of `count` commands through the slots of a pair, and expects all
/// commands to succeed.
fn all(pair: &mut QueuePair, count: u64, mut submit: impl FnMut(&mut QueuePair, u16, u64) -> Submit) {
    let mut free: Vec<u16> = (0..pair.slots()).collect();
    let (mut sent, mut done) = (0, 0);
    while done < count {
        while sent < count
            && let Some(slot) = free.pop()
        {
            assert!(matches!(submit(pair, slot, sent), Submit::Accepted), "command {sent}");
            sent += 1;
        }
        pair.flush();
        let reaped = pair.reap(64, |completion| {
            assert!(matches!(completion.outcome, CommandOutcome::Done), "{completion:?}");
            free.push(completion.slot);
            done += 1;
        });
        if reaped.unwrap() == 0 {
            pair.wait(1_000_000_000).unwrap();
        }
    }
}

fn written_is_read(rig: &Rig, pair: &mut QueuePair, first_lba: u64, pages: u64) {
    const BYTES: usize = 4096;
    let slots = usize::from(pair.slots());
    let buffer = rig.buffer(slots * BYTES);
    let slice = |slot: u16| DataWindow::of(&buffer, usize::from(slot) * BYTES, BYTES as u32).unwrap();
    let namespace = &rig.namespace;
    let blocks = 4096 / 512;
    all(pair, pages, |pair, slot, n| {
        buffer.memory.fill(usize::from(slot) * BYTES, BYTES, n as u8);
        pair.write(slot, namespace, first_lba + n * 8, blocks, slice(slot))
    });
    for n in 0..pages {
        all(pair, 1, |pair, slot, _| pair.read(slot, namespace, first_lba + n * 8, blocks, slice(slot)));
        let last = buffer.memory.load_u32((slots - 1) * BYTES + BYTES - 4, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(last, u32::from_ne_bytes([n as u8; 4]), "{n}");
    }
    all(pair, 1, |pair, slot, _| pair.flush_cache(slot, namespace));
    rig.controller.unmap(buffer.address).unwrap();
}

#[test]
fn an_embedded_device_keeps_what_the_driver_writes() {
    let rig = embedded("size=64M");
    assert_eq!(rig.controller.facts().model(), "iolab virtual SSD");
    let mut pair = rig.pair(16);
    written_is_read(&rig, &mut pair, 0, 500);
    rig.controller.reset().unwrap();
    written_is_read(&rig, &mut pair, 8000, 500);
    drop(pair);
    rig.controller.shut_down().unwrap();
}

#[test]
fn a_flash_model_gives_the_driver_its_times() {
    let rig = embedded("size=1G model=nand preset=970pro");
    let mut pair = rig.pair(32);
    let before_ns = rig.clock.now_ns();
    written_is_read(&rig, &mut pair, 0, 500);
    // Reads are done one at a time, so none is faster than a flash page and the firmware.
    assert!(rig.clock.now_ns() - before_ns > 500 * 50_000);
}

fn two_threads_of_the_driver(config: &str, threads: ThreadCounts) {
    let clock = Clock::monotonic();
    let subsystem = Subsystem::new(Config::parse(config).unwrap()).unwrap();
    let rig = rig(Box::new(Threaded::new(&subsystem, &clock, threads).unwrap()), clock);
    let pairs = [rig.pair(8), rig.pair(8)];
    std::thread::scope(|scope| {
        for (number, mut pair) in pairs.into_iter().enumerate() {
            let rig = &rig;
            scope.spawn(move || written_is_read(rig, &mut pair, number as u64 * 8000, 100));
        }
    });
    let totals = subsystem.totals();
    assert_eq!((totals.write_commands, totals.read_commands), (200, 200));
    rig.controller.reset().unwrap();
    written_is_read(&rig, &mut rig.pair(4), 0, 20);
    rig.controller.shut_down().unwrap();
}

#[test]
fn dispatchers_in_threads_of_their_own() {
    two_threads_of_the_driver("size=64M", ThreadCounts { dispatchers: 2, copiers: 0 });
}

#[test]
fn copiers_copy_for_dispatchers() {
    two_threads_of_the_driver("size=64M", ThreadCounts { dispatchers: 2, copiers: 2 });
    two_threads_of_the_driver("size=64M fault=slow:extra=20us,lba=0+4000", ThreadCounts { dispatchers: 1, copiers: 1 });
}

#[test]
fn the_same_run_takes_the_same_time_every_time() {
    let took = || {
        let rig = embedded("size=256M model=nand preset=970pro media=null");
        let mut pair = rig.pair(64);
        let buffer = rig.buffer(4096);
        let slice = DataWindow::of(&buffer, 0, 4096).unwrap();
        all(&mut pair, 3000, |pair, slot, n| {
            let lba = n * 7919 % 60_000 * 8;
            if n.is_multiple_of(2) {
                pair.write(slot, &rig.namespace, lba, 8, slice)
            } else {
                pair.read(slot, &rig.namespace, lba, 8, slice)
            }
        });
        rig.clock.now_ns()
    };
    assert_eq!(took(), took());
}
