//! Memory that the host unmaps or makes read-only while the device uses it: this may cause
//! CSTS.CFS, never a crash.

use std::sync::atomic::Ordering;

use iolab_clock::Clock;
use iolab_memory::SharedBytes;
use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{CompletionEntry, IoOpcode, Status, SubmissionEntry};
use iolab_pci_device::{DmaMapper, DmaTable, InterruptTable, MappingAccess};
use iolab_virtual_ssd::{Config, Controller, REGISTER_BYTES, Registers, Subsystem, Wiring};

use crate::host::{Host, transfer};

#[test]
fn a_queue_that_vanishes_is_fatal_when_it_is_needed() {
    let vanish = |what: fn(&mut Host) -> u64| {
        let mut host = Host::new("size=16M", 1);
        assert_eq!(host.io(host.read(0, 1)), Ok(0));
        let address = what(&mut host);
        host.device.unmap(address).unwrap();
        host.device.poll();
        assert_eq!(host.status(), 1, "nothing needed it yet");
        host
    };
    let mut host = vanish(|host| host.pairs[0].submissions.address);
    host.send(host.read(0, 1));
    assert_eq!(host.status(), 0b11);
    let mut host = vanish(|host| host.pairs[0].completions.address);
    host.send(host.read(0, 1));
    assert_eq!(host.status(), 0b11);
    let mut host = vanish(|host| host.admin.submissions.address);
    host.send_admin(SubmissionEntry::new(6, 0));
    assert_eq!(host.status(), 0b11);
    let mut host = vanish(|host| host.admin.completions.address);
    host.send_admin(SubmissionEntry::new(6, 0));
    assert_eq!(host.status(), 0b11);
    let mut host = vanish(|host| host.data.address);
    let read = host.read(0, 1);
    assert_eq!(host.io(read), Err(Status::DATA_TRANSFER_ERROR), "data is a matter of the command");
    assert_eq!(host.status(), 1);
}

/// A machine as its firmware uses it: queues in the legacy area below 1 MiB, which the chip set
/// maps again in pieces.
struct Machine {
    table: DmaTable,
    ram: SharedBytes,
    controller: Controller<DmaTable>,
    registers: Registers,
    clock: Clock,
    mapped: Vec<u64>,
}

const LEGACY: u64 = 0xc_0000;
const LEGACY_BYTES: usize = 0x3_0000;
const ADMIN_SQ: u64 = 0xe_0000;
const ADMIN_CQ: u64 = 0xe_1000;
const IO_SQ: u64 = 0xe_2000;
const IO_CQ: u64 = 0xe_3000;

impl Machine {
    fn new() -> Machine {
        let mut table = DmaTable::new();
        let ram = SharedBytes::memfd("iolab-machine", LEGACY_BYTES).unwrap();
        table.map_at(LEGACY, ram.clone()).unwrap();
        let subsystem = Subsystem::new(Config::parse("size=16M").unwrap()).unwrap();
        let wiring = Wiring {
            registers: SharedBytes::anonymous(REGISTER_BYTES).unwrap(),
            interrupts: InterruptTable::with_vectors(4),
            memory: table.clone(),
        };
        let controller = Controller::inline(&subsystem, wiring).unwrap();
        let registers = controller.registers().clone();
        Machine { table, ram, controller, registers, clock: Clock::simulated(0), mapped: vec![LEGACY] }
    }

    fn poll(&mut self) {
        self.controller.poll(self.clock.now_ns());
    }

    fn put(&mut self, ring: u64, place: usize, command: SubmissionEntry, doorbell: u32) {
        self.ram.store_words((ring - LEGACY) as usize + place * 64, command.words, Ordering::Relaxed);
        self.registers.write(doorbell, place as u32 + 1);
        self.poll();
    }

    fn completion(&self, ring: u64, place: usize) -> CompletionEntry {
        CompletionEntry { words: self.ram.load_words((ring - LEGACY) as usize + place * 16) }
    }

    fn boot(&mut self) {
        self.registers.write(Register::AQA.0, 0x0007_0007);
        self.registers.write(Register::ASQ.0, ADMIN_SQ as u32);
        self.registers.write(Register::ACQ.0, ADMIN_CQ as u32);
        self.registers.write(Register::CC.0, 0x0046_0001);
        self.poll();
        let create = |opcode: u8, ring, eleven| {
            SubmissionEntry::new(opcode, 0).with_prps(ring, 0).with_cdw(10, 1 | 7 << 16).with_cdw(11, eleven)
        };
        self.put(ADMIN_SQ, 0, create(5, IO_CQ, 1), 0x1000);
        self.put(ADMIN_SQ, 1, create(1, IO_SQ, 1 | 1 << 16), 0x1000);
        assert!((0..2).all(|place| self.completion(ADMIN_CQ, place).phase()));
    }

    fn read(&mut self, place: usize) {
        let data = LEGACY + 0x1000;
        self.put(IO_SQ, place, transfer(IoOpcode::READ, 0, 1).with_prps(data, 0), 0x1008);
    }

    /// Maps the area again in pieces. Pieces for which `is_read_only` is true are read-only, as a
    /// chip set does with shadow RAM.
    fn map_again(&mut self, is_read_only: impl Fn(u64) -> bool) {
        const PIECE: usize = 0x4000;
        for address in std::mem::take(&mut self.mapped) {
            self.table.unmap(address).unwrap();
        }
        for offset in (0..LEGACY_BYTES).step_by(PIECE) {
            let address = LEGACY + offset as u64;
            self.mapped.push(address);
            let access = if is_read_only(address) { MappingAccess::Read } else { MappingAccess::ReadWrite };
            let (file, _) = self.ram.file().unwrap();
            let file = file.try_clone_to_owned().unwrap();
            self.table.map_at(address, SharedBytes::of_file(file, offset as u64, PIECE, access).unwrap()).unwrap();
        }
    }
}

#[test]
fn queues_survive_being_mapped_again_in_pieces() {
    let mut machine = Machine::new();
    machine.boot();
    machine.read(0);
    assert!(machine.completion(IO_CQ, 0).phase());
    machine.map_again(|_| false);
    machine.read(1);
    assert!(machine.completion(IO_CQ, 1).phase());
    assert_eq!(machine.registers.read(Register::CSTS.0), 1);
}

#[test]
fn queues_that_become_read_only_are_fatal_and_never_written() {
    let mut machine = Machine::new();
    machine.boot();
    machine.read(0);
    for _ in 0..3 {
        machine.map_again(|address| address >= 0xe_0000);
        machine.poll();
        machine.map_again(|address| address < 0xe_0000);
        machine.poll();
    }
    assert_eq!(machine.registers.read(Register::CSTS.0), 1, "idle queues are nobody's business");
    machine.map_again(|address| address >= 0xe_0000);
    machine.read(1);
    assert!(!machine.completion(IO_CQ, 1).phase(), "what is read only is not written");
    assert_eq!(machine.registers.read(Register::CSTS.0), 0b11);
    // After a reset, and with new queues in writable memory, the device works again.
    machine.map_again(|_| false);
    machine.registers.write(Register::CC.0, 0);
    machine.poll();
    assert_eq!(machine.registers.read(Register::CSTS.0), 0);
    machine.ram.fill((ADMIN_CQ - LEGACY) as usize, 0x1000, 0);
    machine.ram.fill((IO_CQ - LEGACY) as usize, 0x1000, 0);
    machine.boot();
    machine.read(0);
    assert!(machine.completion(IO_CQ, 0).phase());
}

#[test]
fn a_ring_may_lie_in_several_mappings() {
    let mut host = Host::new("size=16M", 0);
    // 256 commands fill four pages, each with its own mapping.
    let mut table = DmaTable::new();
    let pages: Vec<SharedBytes> = (0..4).map(|_| SharedBytes::anonymous(4096).unwrap()).collect();
    pages.iter().enumerate().for_each(|(n, page)| table.map_at(0x10_0000 + n as u64 * 4096, page.clone()).unwrap());
    let rest = SharedBytes::anonymous(0x10000).unwrap();
    table.map_at(0x20_0000, rest.clone()).unwrap();
    let subsystem = host.device.subsystem().clone();
    let wiring = Wiring {
        registers: SharedBytes::anonymous(REGISTER_BYTES).unwrap(),
        interrupts: InterruptTable::with_vectors(1),
        memory: table,
    };
    let mut controller = Controller::inline(&subsystem, wiring).unwrap();
    let registers = controller.registers().clone();
    registers.write(Register::AQA.0, 0x00ff_00ff);
    registers.write(Register::ASQ.0, 0x10_0000);
    registers.write(Register::ACQ.0, 0x20_0000);
    registers.write(Register::CC.0, 0x0046_0001);
    controller.poll(0);
    for n in 0..200usize {
        let command = SubmissionEntry::new(0x18, n as u16);
        pages[n / 64].store_words(n % 64 * 64, command.words, Ordering::Relaxed);
    }
    registers.write(0x1000, 200);
    controller.poll(0);
    for n in 0..200usize {
        let entry = CompletionEntry { words: rest.load_words(n * 16) };
        assert!(entry.phase() && entry.status().is_success() && entry.cid() == n as u16, "{n}");
    }
    host.disable();
}
