//! A hostile host, which a fuzzer and a property test run.
//!
//! A byte string drives one host with one device. The host writes registers and doorbells, fills
//! rings and lists with arbitrary entries, and maps, unmaps and write-protects pages while commands
//! are in flight. [`run`] then checks that only memory that was mapped writable has changed.
//! Running it also checks that the device does not panic.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use iolab_memory::{MappingAccess, SharedBytes};
use iolab_nvme_spec::registers::Register;
use iolab_pci_device::{DmaMapper, DmaTable, InterruptTable};

use crate::{Config, Controller, REGISTER_BYTES, Registers, Subsystem, Wiring};

const PAGE: usize = 4096;
/// Pages of the host's memory; those from [`FORBIDDEN`] are never mapped writable.
const PAGES: usize = 32;
const FORBIDDEN: usize = 24;
/// The host's memory starts at this address for the device.
const BASE: u64 = 0x10_0000;
/// Contents of the forbidden pages.
const GUARD: u8 = 0xa5;

/// The configurations of the drives.
const CONFIGS: [&str; 4] = [
    "size=1M mdts=64k queues=4 queue_entries=64",
    "size=1M lba=4k namespaces=3 media=null queues=64",
    "size=4M zone=256k max_open=2 max_active=3 mdts=0",
    "size=1M fault=drop:times=2 fault=double:times=2 fault=wrong-phase:times=1 fault=slow:extra=3us fault=timeout:after=5,times=1",
];

/// Words of the byte string; zeroes after its end.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }
}

struct Machine {
    controller: Controller<DmaTable>,
    registers: Registers,
    table: DmaTable,
    memory: SharedBytes,
    mapped: [bool; PAGES],
    now_ns: u64,
    commands: u64,
}

/// Runs a script, and returns how many commands it submitted. Panics if the device has broken a
/// guarantee.
pub fn run(script: &[u8]) -> u64 {
    let mut script = Script(script);
    let config = CONFIGS[usize::from(script.byte()) % CONFIGS.len()];
    let Some(mut machine) = Machine::new(config) else { return 0 };
    machine.boot();
    while !script.0.is_empty() {
        machine.step(&mut script);
    }
    machine.check();
    machine.commands
}

impl Machine {
    fn new(config: &str) -> Option<Machine> {
        let subsystem: Arc<Subsystem> = Subsystem::new(Config::parse(config).ok()?).ok()?;
        let memory = SharedBytes::memfd("iolab-hostile", PAGES * PAGE).ok()?;
        memory.fill(FORBIDDEN * PAGE, (PAGES - FORBIDDEN) * PAGE, GUARD);
        let table = DmaTable::new();
        let wiring = Wiring {
            registers: SharedBytes::anonymous(REGISTER_BYTES).ok()?,
            interrupts: InterruptTable::with_vectors(4),
            memory: table.clone(),
        };
        let controller = Controller::inline(&subsystem, wiring).ok()?;
        let registers = controller.registers().clone();
        Some(Machine { controller, registers, table, memory, mapped: [false; PAGES], now_ns: 1, commands: 0 })
    }

    /// Maps most pages and enables the controller with queues in the first ones, so that scripts
    /// reach the commands.
    fn boot(&mut self) {
        (0..FORBIDDEN - 4).for_each(|page| self.map(page, MappingAccess::ReadWrite));
        (FORBIDDEN..FORBIDDEN + 4).for_each(|page| self.map(page, MappingAccess::Read));
        self.registers.write(Register::AQA.0, 0x000f_000f);
        self.registers.write(Register::ASQ.0, BASE as u32);
        self.registers.write(Register::ACQ.0, BASE as u32 + PAGE as u32);
        self.registers.write(Register::CC.0, 0x0046_0061);
        self.controller.poll(self.now_ns);
        let create = |opcode: u64, page: u64, eleven: u64| {
            [opcode, 0, 0, BASE + page * 4096, 0, 1 | 15 << 16 | eleven << 32, 0, 0]
        };
        self.memory.store_words(0, create(5, 3, 1), Ordering::Relaxed);
        self.memory.store_words(64, create(1, 2, 1 | 1 << 16), Ordering::Relaxed);
        self.registers.write(0x1000, 2);
        self.controller.poll(self.now_ns);
    }

    fn map(&mut self, page: usize, access: MappingAccess) {
        let access = if page >= FORBIDDEN { MappingAccess::Read } else { access };
        let file = self.memory.file().and_then(|(file, _)| file.try_clone_to_owned().ok());
        let Some(Ok(piece)) = file.map(|file| SharedBytes::of_file(file, (page * PAGE) as u64, PAGE, access)) else {
            return;
        };
        self.unmap(page);
        self.mapped[page] = self.table.map_at(BASE + (page * PAGE) as u64, piece).is_ok();
    }

    fn unmap(&mut self, page: usize) {
        if std::mem::take(&mut self.mapped[page]) {
            let _ = self.table.unmap(BASE + (page * PAGE) as u64);
        }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let (what, place) = (script.byte(), script.byte());
        let page = usize::from(place) % PAGES;
        match what % 16 {
            // Entries in the rings are as arbitrary as everything else, but often have valid
            // opcodes and addresses.
            0..=4 => self.command(script, what, place),
            5 | 6 => self.registers.write(0x1000 + 4 * u32::from(place % 8), u32::from(script.byte() % 20)),
            7 => self.registers.write_checked(script.word() as u32 % 0x2100, script.word() as u32, 4),
            8 => {
                self.registers.memory().store_u32(usize::from(place % 64) * 4, script.word() as u32, Ordering::Relaxed)
            }
            9 => self.unmap(page),
            10 => self.map(page, MappingAccess::Read),
            11 => self.map(page, MappingAccess::ReadWrite),
            12 => {
                let offset = page % FORBIDDEN * PAGE + usize::from(script.byte()) * 16;
                let words = [self.address(script), script.word()];
                self.memory.store_words(offset, words, Ordering::Relaxed);
            }
            13 => {
                self.registers.write(Register::CC.0, [0, 0x0046_0061, 0x0046_4061, 0x0046_00e1][usize::from(place % 4)])
            }
            _ => self.now_ns += u64::from(place) * 100,
        }
        self.controller.poll(self.now_ns);
        let _ = self.controller.next_event_ns();
    }

    /// An address that is probably in the host's memory.
    fn address(&self, script: &mut Script<'_>) -> u64 {
        match script.byte() {
            255 => script.word(),
            page => {
                BASE + u64::from(page) % PAGES as u64 * PAGE as u64
                    + if page.is_multiple_of(5) { script.word() % 4096 } else { 0 }
            }
        }
    }

    fn command(&mut self, script: &mut Script<'_>, what: u8, place: u8) {
        self.commands += 1;
        let is_io = what.is_multiple_of(2);
        let ring = if is_io { 2 } else { 0 };
        let flags =
            if script.byte().is_multiple_of(8) { script.word() & 0xffff } else { u64::from(place % 3 == 2) << 14 };
        let nsid = [1, 1, 1, 2, 3, u64::from(u32::MAX)][usize::from(script.byte()) % 6];
        let opcode = u64::from(script.byte());
        let mut words = [opcode | flags << 8 & 0xff00 | u64::from(place) << 16 | nsid << 32, 0, 0, 0, 0, 0, 0, 0];
        words[3] = self.address(script);
        words[4] = self.address(script);
        words[5] = script.word() & if script.byte().is_multiple_of(4) { u64::MAX } else { 0xff_0000_0fff };
        words[6] = script.word() & if script.byte().is_multiple_of(4) { u64::MAX } else { 0x1_ffff_c000_003f };
        let tail_offset = if is_io { 0x1008 } else { 0x1000 };
        let tail = self.registers.read(tail_offset) % 16;
        self.memory.store_words(ring * PAGE + tail as usize * 64, words, Ordering::Relaxed);
        self.registers.write(tail_offset, (tail + 1) % 16);
        // The host consumes everything that was posted.
        let head = script.byte();
        if head.is_multiple_of(2) {
            self.registers.write(tail_offset + 4, u32::from(head / 2 % 16));
        }
    }

    /// Checks that memory that was never mapped writable is unchanged.
    fn check(&self) {
        let mut guarded = vec![0; (PAGES - FORBIDDEN) * PAGE];
        self.memory.read(FORBIDDEN * PAGE, &mut guarded);
        assert!(guarded == [GUARD; (PAGES - FORBIDDEN) * PAGE], "the device wrote to memory that it may only read");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]
        #[test]
        fn hostile_hosts_are_survived(script in proptest::collection::vec(proptest::num::u8::ANY, 0..4000)) {
            run(&script);
        }
    }

    /// `IOLAB_HOSTILE_COMMANDS` sets the number of commands.
    #[test]
    fn many_hostile_commands_are_survived_within_bounds() {
        let wanted = std::env::var("IOLAB_HOSTILE_COMMANDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4_000);
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut commands = 0;
        while commands < wanted {
            let script = std::iter::repeat_with(|| {
                state ^= state >> 12;
                state ^= state << 25;
                state ^= state >> 27;
                (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8
            });
            commands += run(&script.take(8_000).collect::<Vec<u8>>());
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        let peak_kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(peak_kib < 1 << 20, "{peak_kib} KiB after {commands} commands");
    }

    /// Scripts must reach the commands; otherwise they would prove nothing.
    #[test]
    fn the_machine_boots_and_its_queues_work() {
        for config in CONFIGS {
            let mut machine = Machine::new(config).unwrap();
            machine.boot();
            assert_eq!(machine.registers.read(Register::CSTS.0), 1, "{config}");
            assert_eq!(machine.controller.posted(), 2, "{config}");
        }
    }

    #[test]
    fn canary_a_write_to_a_guarded_page_is_seen() {
        let machine = Machine::new(CONFIGS[0]).unwrap();
        machine.memory.fill(FORBIDDEN * PAGE + 5, 1, 0);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| machine.check())).is_err());
    }
}
