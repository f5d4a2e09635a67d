//! Instructions of the device for each 4 KiB read: a host by hand in one thread, to be run under a profiler.
//!
//! `path_cost [CONFIG [DEPTH [COMMANDS]]]`, for example `path_cost "media=null" 32 1000000`. The host itself does
//! next to nothing: one store of an entry, one look at a phase. Prints commands and the time they took.
#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, IoOpcode, SubmissionEntry};
use iolab_pci_device::{DmaBuffer, DmaMapper, PciFunction, SharedBytes};
use iolab_virtual_ssd::{Config, Embedded, Subsystem};

const ENTRIES: usize = 1024;

struct Ring {
    submissions: DmaBuffer,
    completions: DmaBuffer,
    doorbells: SharedBytes,
    tail: usize,
    head: usize,
    phase: bool,
}

impl Ring {
    fn new(device: &mut Embedded, id: u32) -> Ring {
        let submissions = device.allocate(ENTRIES * 64).expect("memory for a queue");
        let completions = device.allocate(ENTRIES * 16).expect("memory for a queue");
        let doorbells = device.mapped_registers(0x1000 + id * 8).expect("doorbells in memory");
        Ring { submissions, completions, doorbells, tail: 0, head: 0, phase: true }
    }

    fn push(&mut self, command: SubmissionEntry) {
        self.submissions.memory.store_words(self.tail * 64, command.words, Ordering::Relaxed);
        self.tail = (self.tail + 1) % ENTRIES;
    }

    fn ring(&self) {
        self.doorbells.store_u32(0, self.tail as u32, Ordering::Release);
    }

    fn pop(&mut self) -> Option<CompletionEntry> {
        let entry = CompletionEntry { words: self.completions.memory.load_words::<2>(self.head * 16) };
        if entry.phase() != self.phase {
            return None;
        }
        self.head += 1;
        if self.head == ENTRIES {
            (self.head, self.phase) = (0, !self.phase);
        }
        Some(entry)
    }
}

fn admin(device: &Embedded, ring: &mut Ring, command: SubmissionEntry) {
    ring.push(command);
    ring.ring();
    loop {
        device.pause(Duration::from_millis(1));
        if let Some(entry) = ring.pop() {
            assert!(entry.status().is_success(), "{}", entry.status());
            ring.doorbells.store_u32(4, ring.head as u32, Ordering::Release);
            return;
        }
    }
}

fn bring_up(device: &mut Embedded) -> Ring {
    let mut admin_ring = Ring::new(device, 0);
    device.write_u32(Register::AQA.0, (ENTRIES as u32 - 1) << 16 | (ENTRIES as u32 - 1));
    device.write_u64(Register::ASQ.0, admin_ring.submissions.address);
    device.write_u64(Register::ACQ.0, admin_ring.completions.address);
    device.write_u32(Register::CC.0, 0x0046_0001);
    while device.read_u32(Register::CSTS.0) & 1 == 0 {}
    let ring = Ring::new(device, 1);
    let size = (ENTRIES as u32 - 1) << 16 | 1;
    let command = |opcode: AdminOpcode, queue: &DmaBuffer| {
        SubmissionEntry::new(opcode.0, 1).with_prps(queue.address, 0).with_cdw(10, size)
    };
    let completions = command(AdminOpcode::CREATE_IO_CQ, &ring.completions).with_cdw(11, 1);
    admin(device, &mut admin_ring, completions);
    let submissions = command(AdminOpcode::CREATE_IO_SQ, &ring.submissions).with_cdw(11, 1 | 1 << 16);
    admin(device, &mut admin_ring, submissions);
    ring
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let config = arguments.get(1).map_or("media=null size=8G", String::as_str);
    let depth: u64 = arguments.get(2).map_or(32, |text| text.parse().expect("a depth"));
    let commands: u64 = arguments.get(3).map_or(1_000_000, |text| text.parse().expect("a number of commands"));
    let subsystem = Subsystem::new(Config::parse(config).expect("a configuration")).expect("a drive");
    let is_ideal = subsystem.timing_statistics().is_none();
    let clock = if is_ideal { Clock::best().0 } else { Clock::simulated(1) };
    let mut device = Embedded::new(&subsystem, clock).expect("a device");
    let mut ring = bring_up(&mut device);
    let data = device.allocate(4096).expect("memory for data");
    let wall = Clock::monotonic();
    let begun_ns = wall.now_ns();
    let (mut sent, mut done) = (0u64, 0u64);
    while done < commands {
        let wanted = (depth - (sent - done)).min(commands - sent);
        for _ in 0..wanted {
            let lba = sent.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << 20) * 8;
            let command = SubmissionEntry::new(IoOpcode::READ.0, (sent % depth) as u16).with_nsid(1).with_slba(lba);
            ring.push(command.with_cdw(12, 7).with_prps(data.address, 0));
            sent += 1;
        }
        ring.ring();
        device.pause(Duration::from_secs(1));
        while let Some(entry) = ring.pop() {
            assert!(entry.status().is_success(), "{}", entry.status());
            done += 1;
        }
        ring.doorbells.store_u32(4, ring.head as u32, Ordering::Release);
    }
    let took_ns = wall.now_ns() - begun_ns;
    println!("{commands} commands, {:.1} ns each", took_ns as f64 / commands as f64);
}
