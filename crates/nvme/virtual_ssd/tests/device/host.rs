//! A minimal host: a test fills and reads its rings itself, with no driver between the test and the
//! device.
//!
//! It checks every completion: phase, queue and head must be right before a test sees it.
#![allow(dead_code, reason = "every test of the folder uses a part of it")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use iolab_clock::Clock;
use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, IoOpcode, Status, SubmissionEntry};
use iolab_pci_device::{DmaBuffer, DmaMapper, PciFunction};
use iolab_virtual_ssd::{Config, ConfigError, Embedded, Subsystem};

/// A ring of each kind.
pub(crate) struct Pair {
    pub(crate) id: u16,
    pub(crate) submissions: DmaBuffer,
    pub(crate) completions: DmaBuffer,
    pub(crate) entries: u32,
    pub(crate) tail: u32,
    pub(crate) head: u32,
    pub(crate) phase: bool,
}

impl Pair {
    pub(crate) fn new(device: &mut Embedded, id: u16, entries: u32) -> Pair {
        let submissions = device.allocate(entries as usize * 64).unwrap();
        let completions = device.allocate(entries as usize * 16).unwrap();
        Pair { id, submissions, completions, entries, tail: 0, head: 0, phase: true }
    }

    /// Puts a command into the ring without ringing the doorbell.
    pub(crate) fn push(&mut self, command: SubmissionEntry) {
        self.submissions.memory.store_words(self.tail as usize * 64, command.words, Ordering::Relaxed);
        self.tail = (self.tail + 1) % self.entries;
    }

    /// The next completion, if there is one.
    pub(crate) fn peek(&self) -> Option<CompletionEntry> {
        let words = self.completions.memory.load_words::<2>(self.head as usize * 16);
        let entry = CompletionEntry { words };
        (entry.phase() == self.phase).then_some(entry)
    }

    /// Takes the next completion without ringing the doorbell.
    pub(crate) fn pop(&mut self) -> Option<CompletionEntry> {
        let entry = self.peek()?;
        assert_eq!(entry.sqid(), self.id, "a completion of another queue");
        self.head += 1;
        if self.head == self.entries {
            self.head = 0;
            self.phase = !self.phase;
        }
        Some(entry)
    }
}

pub(crate) struct Host {
    pub(crate) device: Embedded,
    pub(crate) clock: Clock,
    pub(crate) admin: Pair,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) data: DmaBuffer,
    next_cid: u16,
}

pub(crate) const DATA_BYTES: usize = 1 << 20;

/// A device in the power-on state.
pub(crate) fn plug_in(config: &str) -> (Embedded, Clock) {
    plug_into(&drive(Config::parse(config).unwrap()).unwrap())
}

pub(crate) fn plug_into(subsystem: &Arc<Subsystem>) -> (Embedded, Clock) {
    let clock = Clock::simulated(1_000_000);
    (Embedded::new(subsystem, clock.clone()).unwrap(), clock)
}

impl Host {
    /// Creates an enabled controller with `pairs` I/O queue pairs of 64 entries.
    pub(crate) fn new(config: &str, pairs: u16) -> Host {
        Host::with(plug_in(config), pairs)
    }

    pub(crate) fn with((mut device, clock): (Embedded, Clock), pairs: u16) -> Host {
        let admin = Pair::new(&mut device, 0, 32);
        let data = device.allocate(DATA_BYTES).unwrap();
        let mut host = Host { device, clock, admin, pairs: Vec::new(), data, next_cid: 0 };
        host.enable();
        for id in 1..=pairs {
            host.create_pair(id, 64);
        }
        host
    }

    /// Sets up the admin queues and waits until the controller is ready.
    pub(crate) fn enable(&mut self) {
        self.write_admin_registers();
        self.device.write_u32(Register::CC.0, 0x0046_0001 | 0b110 << 4);
        self.wait_for_status(1, 1);
    }

    pub(crate) fn write_admin_registers(&mut self) {
        let size = self.admin.entries - 1;
        self.device.write_u32(Register::AQA.0, size | size << 16);
        self.device.write_u64(Register::ASQ.0, self.admin.submissions.address);
        self.device.write_u64(Register::ACQ.0, self.admin.completions.address);
    }

    pub(crate) fn status(&self) -> u32 {
        self.device.read_u32(Register::CSTS.0)
    }

    pub(crate) fn wait_for_status(&self, mask: u32, value: u32) {
        for _ in 0..100 {
            if self.status() & mask == value {
                return;
            }
        }
        panic!("CSTS stays {:#x}, waited for {value:#x} in {mask:#x}", self.status());
    }

    /// Disables the controller and drops its queues.
    pub(crate) fn disable(&mut self) {
        self.device.write_u32(Register::CC.0, 0);
        self.wait_for_status(1, 0);
        self.pairs.clear();
        (self.admin.tail, self.admin.head, self.admin.phase) = (0, 0, true);
        self.admin.completions.memory.fill(0, self.admin.completions.memory.len(), 0);
    }

    pub(crate) fn create_pair(&mut self, id: u16, entries: u32) {
        let pair = Pair::new(&mut self.device, id, entries);
        assert_eq!(self.admin(create_cq(&pair)), Ok(0));
        assert_eq!(self.admin(create_sq(&pair)), Ok(0));
        self.pairs.push(pair);
    }

    pub(crate) fn cid(&mut self) -> u16 {
        self.next_cid = (self.next_cid + 1) % 60_000;
        self.next_cid
    }

    /// Sends an admin command and lets the device work.
    pub(crate) fn send_admin(&mut self, command: SubmissionEntry) -> u16 {
        let cid = self.cid();
        self.admin.push(command.with_cid(cid));
        self.device.write_u32(0x1000, self.admin.tail);
        self.device.poll();
        cid
    }

    /// The next completion of the admin queue, acknowledged.
    pub(crate) fn reap_admin(&mut self) -> Option<CompletionEntry> {
        let entry = self.admin.pop()?;
        self.device.write_u32(0x1004, self.admin.head);
        Some(entry)
    }

    /// Executes an admin command: returns dword 0, or the status without DNR and More.
    pub(crate) fn admin(&mut self, command: SubmissionEntry) -> Result<u32, Status> {
        self.admin_entry(command).map(|entry| entry.dw0())
    }

    pub(crate) fn admin_entry(&mut self, command: SubmissionEntry) -> Result<CompletionEntry, Status> {
        let cid = self.send_admin(command);
        let entry = self.reap_admin().expect("an admin command is answered in one poll");
        assert_eq!(entry.cid(), cid);
        if entry.status().is_success() { Ok(entry) } else { Err(entry.status().code()) }
    }

    /// Rings the tail doorbell of pair `index`.
    pub(crate) fn ring(&mut self, index: usize) {
        let pair = &self.pairs[index];
        self.device.write_u32(0x1000 + 8 * u32::from(pair.id), pair.tail);
    }

    pub(crate) fn reap(&mut self, index: usize) -> Option<CompletionEntry> {
        let pair = &mut self.pairs[index];
        let entry = pair.pop()?;
        let (id, head) = (pair.id, pair.head);
        self.device.write_u32(0x1004 + 8 * u32::from(id), head);
        Some(entry)
    }

    /// Sends an I/O command on the first pair and lets the device work.
    pub(crate) fn send(&mut self, command: SubmissionEntry) -> u16 {
        let cid = self.cid();
        self.pairs[0].push(command.with_cid(cid));
        self.ring(0);
        self.device.poll();
        cid
    }

    /// Executes an I/O command: returns its result, or the status without DNR and More.
    pub(crate) fn io(&mut self, command: SubmissionEntry) -> Result<u64, Status> {
        let entry = self.io_entry(command);
        if entry.status().is_success() { Ok(entry.result()) } else { Err(entry.status().code()) }
    }

    pub(crate) fn io_entry(&mut self, command: SubmissionEntry) -> CompletionEntry {
        let cid = self.send(command);
        for _ in 0..1000 {
            if let Some(entry) = self.reap(0) {
                assert_eq!(entry.cid(), cid);
                return entry;
            }
            self.device.pause(std::time::Duration::from_secs(1));
        }
        panic!("no answer to {command:?}");
    }

    /// A read into the data buffer.
    pub(crate) fn read(&self, lba: u64, blocks: u32) -> SubmissionEntry {
        transfer(IoOpcode::READ, lba, blocks).with_prps(self.data.address, self.second_page())
    }

    pub(crate) fn write(&self, lba: u64, blocks: u32) -> SubmissionEntry {
        transfer(IoOpcode::WRITE, lba, blocks).with_prps(self.data.address, self.second_page())
    }

    pub(crate) fn second_page(&self) -> u64 {
        self.data.address + 4096
    }

    /// Executes an admin command that returns data.
    pub(crate) fn fetch(&mut self, command: SubmissionEntry, bytes: usize) -> Result<Vec<u8>, Status> {
        self.data.memory.fill(0, DATA_BYTES, 0xee);
        let command = command.with_prps(self.data.address, self.second_page());
        self.admin(command)?;
        Ok(self.bytes(bytes))
    }

    pub(crate) fn bytes(&self, count: usize) -> Vec<u8> {
        let mut data = vec![0; count];
        self.data.memory.read(0, &mut data);
        data
    }

    pub(crate) fn fill(&self, value: u8) {
        self.data.memory.fill(0, DATA_BYTES, value);
    }
}

pub(crate) fn transfer(opcode: IoOpcode, lba: u64, blocks: u32) -> SubmissionEntry {
    SubmissionEntry::new(opcode.0, 0).with_nsid(1).with_slba(lba).with_cdw(12, blocks - 1)
}

pub(crate) fn admin(opcode: AdminOpcode) -> SubmissionEntry {
    SubmissionEntry::new(opcode.0, 0)
}

pub(crate) fn identify(cns: u8, nsid: u32) -> SubmissionEntry {
    admin(AdminOpcode::IDENTIFY).with_nsid(nsid).with_cdw(10, u32::from(cns))
}

pub(crate) fn create_cq(pair: &Pair) -> SubmissionEntry {
    let size = (pair.entries - 1) << 16;
    admin(AdminOpcode::CREATE_IO_CQ)
        .with_prps(pair.completions.address, 0)
        .with_cdw(10, u32::from(pair.id) | size)
        .with_cdw(11, 0b11 | u32::from(pair.id) << 16)
}

pub(crate) fn create_sq(pair: &Pair) -> SubmissionEntry {
    let size = (pair.entries - 1) << 16;
    admin(AdminOpcode::CREATE_IO_SQ)
        .with_prps(pair.submissions.address, 0)
        .with_cdw(10, u32::from(pair.id) | size)
        .with_cdw(11, 1 | u32::from(pair.id) << 16)
}

/// The drive, with its data in a file if its configuration names one.
pub(crate) fn drive(config: Config) -> Result<Arc<Subsystem>, ConfigError> {
    match config.media_file() {
        None => Subsystem::new(config),
        Some(path) => {
            let mut options = std::fs::OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).open(path).unwrap();
            Subsystem::with_file(config, file)
        }
    }
}
