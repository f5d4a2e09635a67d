//! A minimal host for the examples: one ring of each kind, and no checks except of the status.

use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, SubmissionEntry};
use iolab_pci_device::{DmaBuffer, DmaMapper, PciFunction, SharedBytes};
use iolab_virtual_ssd::Embedded;

const ENTRIES: usize = 1024;

pub(crate) struct Ring {
    submissions: DmaBuffer,
    completions: DmaBuffer,
    doorbells: SharedBytes,
    tail: usize,
    head: usize,
    phase: bool,
}

impl Ring {
    /// A ring whose doorbells are those of queue `id`.
    pub(crate) fn new(device: &mut Embedded, id: u32) -> Ring {
        let submissions = device.allocate(ENTRIES * 64).expect("memory for a queue");
        let completions = device.allocate(ENTRIES * 16).expect("memory for a queue");
        let doorbells = device.mapped_registers(0x1000 + id * 8).expect("doorbells in memory");
        Ring { submissions, completions, doorbells, tail: 0, head: 0, phase: true }
    }

    pub(crate) fn push(&mut self, command: SubmissionEntry) {
        self.submissions.memory.store_words(self.tail * 64, command.words, Ordering::Relaxed);
        self.tail = (self.tail + 1) % ENTRIES;
    }

    pub(crate) fn acknowledge(&self) {
        self.doorbells.store_u32(4, self.head as u32, Ordering::Release);
    }

    pub(crate) fn ring(&self) {
        self.doorbells.store_u32(0, self.tail as u32, Ordering::Release);
    }

    pub(crate) fn pop(&mut self) -> Option<CompletionEntry> {
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
            ring.acknowledge();
            return;
        }
    }
}

pub(crate) fn bring_up(device: &mut Embedded) -> Ring {
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
