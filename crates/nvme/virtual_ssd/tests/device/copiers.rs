//! Dispatchers and copiers that are polled by the test, which controls the order of their steps.

use std::sync::atomic::Ordering;

use iolab_memory::SharedBytes;
use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{CompletionEntry, IoOpcode, Status, SubmissionEntry};
use iolab_pci_device::{DmaTable, InterruptTable};
use iolab_virtual_ssd::{Config, Controller, Copier, Dispatcher, REGISTER_BYTES, Registers, Subsystem, Wiring};

use crate::host::transfer;

const BASE: u64 = 0x10_0000;
const DATA: usize = 0x8000;

struct Rig {
    controller: Controller<DmaTable>,
    dispatchers: Vec<Dispatcher<DmaTable>>,
    copiers: Vec<Copier<DmaTable>>,
    registers: Registers,
    ram: SharedBytes,
}

/// Two queue pairs, each on its own dispatcher; the first dispatcher has a copier.
fn rig() -> Rig {
    let ram = SharedBytes::anonymous(0x10000).unwrap();
    let mut table = DmaTable::new();
    table.map_at(BASE, ram.clone()).unwrap();
    let subsystem = Subsystem::new(Config::parse("size=1M").unwrap()).unwrap();
    let registers = SharedBytes::anonymous(REGISTER_BYTES).unwrap();
    let wiring = Wiring { registers, interrupts: InterruptTable::with_vectors(1), memory: table };
    let (controller, mut dispatchers) = Controller::with_dispatchers(&subsystem, wiring, 2).unwrap();
    // Queue 2 belongs to dispatcher 0, queue 1 to dispatcher 1.
    let copiers = dispatchers[1].add_copiers(1);
    let registers = controller.registers().clone();
    let mut rig = Rig { controller, dispatchers, copiers, registers, ram };
    rig.registers.write(Register::AQA.0, 0x000f_000f);
    rig.registers.write(Register::ASQ.0, BASE as u32);
    rig.registers.write(Register::ACQ.0, BASE as u32 + 0x1000);
    rig.registers.write(Register::CC.0, 0x0046_0001);
    rig.poll(false);
    for queue in 1..=2u32 {
        let ring = |opcode: u8, at: u64, eleven: u32| {
            let at = BASE + at + u64::from(queue) * 0x2000;
            SubmissionEntry::new(opcode, 0).with_prps(at, 0).with_cdw(10, queue | 15 << 16).with_cdw(11, eleven)
        };
        rig.put(0, queue as usize * 2 - 2, ring(5, 0x1000, 1));
        rig.poll(false);
        rig.put(0, queue as usize * 2 - 1, ring(1, 0, 1 | queue << 16));
        rig.poll(false);
    }
    assert!((0..4).all(|place| rig.completion(0, place).is_some_and(|entry| entry.status().is_success())));
    rig
}

impl Rig {
    fn poll(&mut self, with_copiers: bool) {
        for _ in 0..3 {
            self.controller.poll(1);
            self.dispatchers.iter_mut().for_each(|dispatcher| {
                dispatcher.poll(1);
            });
            if with_copiers {
                self.copiers.iter_mut().for_each(|copier| {
                    copier.poll();
                });
            }
        }
    }

    fn put(&self, queue: usize, place: usize, command: SubmissionEntry) {
        self.ram.store_words(queue * 0x2000 + place * 64, command.words, Ordering::Relaxed);
        self.registers.write(0x1000 + 8 * queue as u32, place as u32 + 1);
    }

    fn completion(&self, queue: usize, place: usize) -> Option<CompletionEntry> {
        let words = self.ram.load_words(queue * 0x2000 + 0x1000 + place * 16);
        Some(CompletionEntry { words }).filter(CompletionEntry::phase)
    }
}

#[test]
fn a_command_waits_for_its_copy_and_other_queues_do_not() {
    let mut rig = rig();
    rig.ram.fill(DATA, 512, 7);
    let data = BASE + DATA as u64;
    rig.put(1, 0, transfer(IoOpcode::WRITE, 5, 1).with_prps(data, 0).with_cid(1));
    rig.put(2, 0, transfer(IoOpcode::READ, 5, 1).with_prps(data + 4096, 0).with_cid(2));
    rig.poll(false);
    assert_eq!(rig.completion(1, 0), None, "the copier has not run");
    assert_eq!(rig.completion(2, 0).map(|entry| entry.cid()), Some(2));
    rig.poll(true);
    assert_eq!(rig.completion(1, 0).map(|entry| entry.status()), Some(Status::SUCCESS));
    rig.put(2, 1, transfer(IoOpcode::READ, 5, 1).with_prps(data + 4096, 0).with_cid(3));
    rig.poll(false);
    assert_eq!(rig.ram.load_u32(DATA + 4096, Ordering::Relaxed), 0x0707_0707);
}

#[test]
fn a_copy_that_fails_fails_its_command() {
    let mut rig = rig();
    rig.put(1, 0, transfer(IoOpcode::READ, 0, 1).with_prps(64 << 40, 0).with_cid(1));
    rig.poll(true);
    assert_eq!(rig.completion(1, 0).map(|entry| entry.status().code()), Some(Status::DATA_TRANSFER_ERROR));
}

#[test]
fn a_reset_waits_for_copies() {
    let mut rig = rig();
    rig.put(1, 0, transfer(IoOpcode::WRITE, 0, 1).with_prps(BASE + DATA as u64, 0));
    rig.poll(false);
    let mut copier = rig.copiers.remove(0);
    rig.registers.write(Register::CC.0, 0);
    let copying = std::thread::spawn(move || {
        while !copier.poll() {
            std::thread::yield_now();
        }
    });
    rig.poll(false);
    assert_eq!(rig.registers.read(Register::CSTS.0), 0);
    copying.join().unwrap();
}
