//! The inner state of the fake device: queues, commands, blocks.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use iolab_nvme_spec::command::*;
use iolab_nvme_spec::feature::{Feature, QueueCount};
use iolab_nvme_spec::identify::*;
use iolab_nvme_spec::registers::{ControllerConfiguration, ControllerStatus};
use iolab_nvme_spec::sgl::{SglDescriptor, SglType};
use iolab_nvme_spec::*;
use iolab_pci_device::{DmaTable, HostMemory, InterruptTable, MappingAccess, SharedBytes};

use super::script::{Act, Script};

const PAGE: u64 = 4096;
/// Namespace 1 has blocks of 512 bytes, namespace 3 of 4096.
pub(crate) const BLOCK_BYTES: [(u32, u64); 2] = [(1, 512), (3, 4096)];
const NAMESPACE_BYTES: usize = 16 << 20;

#[derive(Debug)]
struct Ring {
    address: u64,
    entries: u32,
    /// Head of a submission queue, tail of a completion queue.
    at: u32,
    phase: bool,
    vector: Option<u16>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) cc: ControllerConfiguration,
    pub(super) aqa: u32,
    pub(super) asq: u64,
    pub(super) acq: u64,
    pub(super) vanished: bool,
    fatal: bool,
    /// Status reads until the controller is ready.
    starting: u32,
    shutdown: bool,
    dma: DmaTable,
    doorbells: SharedBytes,
    script: Script,
    interrupts: InterruptTable,
    submission: BTreeMap<u16, Ring>,
    completion: BTreeMap<u16, Ring>,
    event_requests: Vec<u16>,
    shadow: Option<(u64, u64)>,
    blocks: BTreeMap<u32, Vec<u8>>,
}

impl State {
    pub(super) fn new(dma: DmaTable, doorbells: SharedBytes, script: Script, interrupts: InterruptTable) -> State {
        State {
            cc: ControllerConfiguration(0),
            aqa: 0,
            asq: 0,
            acq: 0,
            vanished: false,
            fatal: false,
            starting: 0,
            shutdown: false,
            dma,
            doorbells,
            script,
            interrupts,
            submission: BTreeMap::new(),
            completion: BTreeMap::new(),
            event_requests: Vec::new(),
            shadow: None,
            blocks: BLOCK_BYTES.iter().map(|(nsid, _)| (*nsid, vec![0; NAMESPACE_BYTES])).collect(),
        }
    }

    pub(super) fn status(&mut self) -> u32 {
        if self.cc.en() && self.starting > 0 && !Script::is_set(&self.script.never_ready) {
            self.starting -= 1;
        }
        let ready = self.cc.en() && self.starting == 0;
        ControllerStatus(0).with_rdy(ready).with_cfs(self.fatal).with_shst(if self.shutdown { 2 } else { 0 }).0
    }

    pub(super) fn configure(&mut self, value: u32) {
        let new = ControllerConfiguration(value);
        self.shutdown = new.shn() != 0;
        if new.en() && !self.cc.en() {
            assert_eq!((new.iosqes(), new.iocqes(), new.mps()), (6, 4, 0));
            let ring = |address, entries, phase| Ring { address, entries, at: 0, phase, vector: None };
            self.submission = BTreeMap::from([(0, ring(self.asq, (self.aqa & 0xfff) + 1, false))]);
            self.completion = BTreeMap::from([(0, ring(self.acq, (self.aqa >> 16 & 0xfff) + 1, true))]);
            self.starting = 3;
        } else if !new.en() {
            self.submission.clear();
            self.completion.clear();
            self.event_requests.clear();
            self.shadow = None;
            self.fatal = false;
            self.doorbells.fill_words(0, 4096, 0);
        }
        self.cc = new;
    }

    /// Executes everything that the doorbells announce; returns `false` if there was nothing.
    pub(super) fn work(&mut self) -> bool {
        let mut worked = false;
        self.raise_event();
        while !self.vanished && !self.fatal && self.cc.en() && self.starting == 0 {
            let queues: Vec<u16> = self.submission.keys().copied().collect();
            if queues.into_iter().filter(|qid| self.serve(*qid)).count() == 0 {
                break;
            }
            worked = true;
        }
        worked
    }

    fn tail(&mut self, qid: u16) -> u32 {
        let at = usize::from(qid) * 8;
        let rung = self.doorbells.load_u32(at, Ordering::Acquire);
        let Some((values, events)) = self.shadow.filter(|_| qid != 0) else { return rung };
        let mut value = [0; 4];
        self.dma.read(values + at as u64, &mut value).unwrap();
        // Asks for a notification when the driver goes beyond what the device has seen. Until then,
        // the register need not be written.
        self.dma.write(events + at as u64, &value).unwrap();
        if rung != 0 {
            self.script.doorbells.fetch_add(1, Ordering::Relaxed);
            self.doorbells.store_u32(at, 0, Ordering::Relaxed);
        }
        u32::from_le_bytes(value)
    }

    fn serve(&mut self, qid: u16) -> bool {
        let tail = self.tail(qid);
        let Some(queue) = self.submission.get_mut(&qid) else { return false };
        if queue.at == tail {
            return false;
        }
        assert!(tail < queue.entries, "queue {qid}: a tail of {tail} of {}", queue.entries);
        let mut bytes = [0; 64];
        self.dma.read(queue.address + u64::from(queue.at) * 64, &mut bytes).unwrap();
        queue.at = (queue.at + 1) % queue.entries;
        let entry = SubmissionEntry::read_from_bytes(&bytes).unwrap();
        match self.script.next(qid, &entry) {
            Act::Well => self.answer(qid, &entry, CompletionEntry::default()),
            Act::Garbled(garbage) => self.answer(qid, &entry, garbage),
            Act::Silent => drop(self.execute(qid, &entry)),
            Act::Drop => {}
            Act::Fail(status) => self.complete(qid, CompletionEntry::new(qid, entry.cid(), status)),
            Act::Twice => {
                self.answer(qid, &entry, CompletionEntry::default());
                self.complete(qid, CompletionEntry::new(qid, entry.cid(), Status::SUCCESS));
            }
            Act::Fatal => self.fatal = true,
            Act::Vanish => self.vanished = true,
        }
        true
    }

    fn answer(&mut self, qid: u16, entry: &SubmissionEntry, garbage: CompletionEntry) {
        let Some((status, result)) = self.execute(qid, entry) else { return };
        let mut completion = CompletionEntry::new(qid, entry.cid(), status).with_result(result);
        completion = completion.with_sqhd(self.submission.get(&qid).map_or(0, |queue| queue.at as u16));
        completion.words[0] ^= garbage.words[0];
        completion.words[1] ^= garbage.words[1];
        self.post(qid, completion);
    }

    fn complete(&mut self, qid: u16, entry: CompletionEntry) {
        let head = self.submission[&qid].at as u16;
        self.post(qid, entry.with_sqhd(head));
    }

    fn post(&mut self, qid: u16, entry: CompletionEntry) {
        // Both queues of a pair have the same number.
        let Some(queue) = self.completion.get_mut(&qid) else { return };
        let entry = entry.with_phase(queue.phase != entry.phase());
        let at = queue.address + u64::from(queue.at) * 16;
        let window = self.dma.window(at, 16, MappingAccess::ReadWrite).unwrap();
        window.store_words(0, entry.words, Ordering::Release);
        queue.at = (queue.at + 1) % queue.entries;
        queue.phase ^= queue.at == 0;
        if let Some(vector) = queue.vector {
            self.interrupts.signal(vector);
        }
    }

    fn raise_event(&mut self) {
        let event = self.script.event.load(Ordering::Relaxed);
        if event != 0
            && let Some(cid) = self.event_requests.pop()
        {
            self.script.event.store(0, Ordering::Relaxed);
            self.complete(0, CompletionEntry::new(0, cid, Status::SUCCESS).with_result(u64::from(event)));
        }
    }

    fn execute(&mut self, qid: u16, entry: &SubmissionEntry) -> Option<(Status, u64)> {
        if qid == 0 { self.execute_admin(entry) } else { Some((self.execute_io(entry), 0)) }
    }

    fn execute_admin(&mut self, entry: &SubmissionEntry) -> Option<(Status, u64)> {
        let mut result = 0;
        let dword10 = QueueDword10(entry.cdw(10));
        let vector = CreateCqDword11(entry.cdw(11));
        let ring = |phase, vector| Ring {
            address: entry.prp1(),
            entries: u32::from(dword10.qsize()) + 1,
            at: 0,
            phase,
            vector,
        };
        match AdminOpcode(entry.opc()) {
            AdminOpcode::IDENTIFY => self.identify(entry),
            AdminOpcode::CREATE_IO_CQ => {
                let vector = vector.ien().then_some(vector.iv());
                assert!(self.completion.insert(dword10.qid(), ring(true, vector)).is_none(), "a queue that exists");
            }
            AdminOpcode::CREATE_IO_SQ => {
                self.doorbells.store_u32(usize::from(dword10.qid()) * 8, 0, Ordering::Relaxed);
                assert!(self.completion.contains_key(&dword10.qid()), "no completion queue");
                assert!(self.submission.insert(dword10.qid(), ring(false, None)).is_none(), "a queue that exists");
            }
            AdminOpcode::DELETE_IO_SQ => assert!(self.submission.remove(&dword10.qid()).is_some()),
            AdminOpcode::DELETE_IO_CQ => assert!(self.completion.remove(&dword10.qid()).is_some()),
            AdminOpcode::SET_FEATURES if entry.cdw(10) == u32::from(Feature::NUMBER_OF_QUEUES.0) => {
                let asked = QueueCount(entry.cdw(11));
                result = u64::from(QueueCount(0).with_nsq(asked.nsq().min(7)).with_ncq(asked.ncq().min(7)).0);
            }
            AdminOpcode::SET_FEATURES => {}
            AdminOpcode::GET_LOG_PAGE => self.transfer(entry, &mut vec![7; 512], true),
            AdminOpcode::ABORT => result = 1,
            AdminOpcode::DOORBELL_BUFFER_CONFIG => self.shadow = Some((entry.prp1(), entry.prp2())),
            AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST => {
                self.event_requests.push(entry.cid());
                return None;
            }
            other => panic!("the driver sends {other:?}"),
        }
        Some((Status::SUCCESS, result))
    }

    fn identify(&mut self, entry: &SubmissionEntry) {
        let mut data = vec![0; 4096];
        match Cns(entry.cdw(10) as u8) {
            Cns::CONTROLLER => {
                data[4..8].copy_from_slice(b"FAKE");
                data[77] = 9; // MDTS: 2 MiB
                data[256..258].copy_from_slice(&(u16::from(Script::is_set(&self.script.shadow)) << 8).to_le_bytes());
                data[259] = 1; // AERL
                data[512..514].copy_from_slice(&[0x66, 0x44]);
                data[516] = 3;
                data[536] = u8::from(Script::is_set(&self.script.sgl));
            }
            Cns::NAMESPACE => {
                if let Some((_, block_bytes)) = BLOCK_BYTES.iter().find(|(nsid, _)| *nsid == entry.nsid()) {
                    data[..8].copy_from_slice(&(NAMESPACE_BYTES as u64 / block_bytes).to_le_bytes());
                    data[130] = block_bytes.trailing_zeros() as u8;
                }
            }
            Cns::ACTIVE_NAMESPACES => (data[0], data[4]) = (1, 3),
            // Zoned namespaces are among the command sets of all but the first combination.
            Cns::COMMAND_SETS => (data[0], data[8]) = (1, 1 | 1 << opcode::CommandSet::ZONED.0),
            Cns::NAMESPACE_IDENTIFIERS | Cns::COMMAND_SET_CONTROLLER => {}
            other => panic!("the driver asks for {other:?}"),
        }
        self.transfer(entry, &mut data, true);
    }

    fn execute_io(&mut self, entry: &SubmissionEntry) -> Status {
        let Some((_, block)) = BLOCK_BYTES.iter().find(|(nsid, _)| *nsid == entry.nsid()) else {
            return Status::INVALID_NAMESPACE;
        };
        let dword12 = ReadWriteDword12(entry.cdw(12));
        let range = |lba: u64, blocks: u64| {
            let start = (lba * block) as usize;
            start..start + (blocks * block) as usize
        };
        let at = range(entry.slba(), u64::from(dword12.nlb()) + 1);
        let opcode = IoOpcode(entry.opc());
        let has_range = !matches!(opcode, IoOpcode::FLUSH | IoOpcode::DATASET_MANAGEMENT);
        if has_range && at.end > NAMESPACE_BYTES {
            return Status::LBA_OUT_OF_RANGE;
        }
        let mut blocks = self.blocks.remove(&entry.nsid()).unwrap();
        let mut status = Status::SUCCESS;
        match opcode {
            IoOpcode::READ => self.transfer(entry, &mut blocks[at], true),
            IoOpcode::WRITE => self.transfer(entry, &mut blocks[at], false),
            IoOpcode::COMPARE => {
                let mut other = vec![0; at.len()];
                self.transfer(entry, &mut other, false);
                if blocks[at] != other[..] {
                    status = Status::COMPARE_FAILURE;
                }
            }
            IoOpcode::WRITE_ZEROES => blocks[at].fill(0),
            IoOpcode::DATASET_MANAGEMENT => {
                assert_eq!(entry.cdw(11), 4);
                let mut ranges = vec![0; (entry.cdw(10) as usize + 1) * 16];
                self.transfer(entry, &mut ranges, false);
                for bytes in ranges.chunks_exact(16) {
                    let it = DatasetRange::read_from_bytes(bytes).unwrap();
                    blocks[range(it.slba.get(), u64::from(it.nlb.get()))].fill(0);
                }
            }
            IoOpcode::FLUSH | IoOpcode::VERIFY => {}
            _ => status = Status::INVALID_OPCODE,
        }
        self.blocks.insert(entry.nsid(), blocks);
        status
    }

    /// Moves the data of a command, following its data pointer according to the specification.
    fn transfer(&mut self, entry: &SubmissionEntry, data: &mut [u8], to_host: bool) {
        let mut done = 0;
        for (address, bytes) in self.places(entry, data.len() as u64) {
            let part = &mut data[done..done + bytes as usize];
            let moved = if to_host { self.dma.write(address, part) } else { self.dma.read(address, part) };
            moved.expect("the driver names memory that is mapped");
            done += bytes as usize;
        }
        assert_eq!(done, data.len(), "the data pointer is too short");
    }

    fn word(&mut self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        self.dma.read(address, &mut bytes).expect("a list entry is mapped");
        u64::from_le_bytes(bytes)
    }

    fn places(&mut self, entry: &SubmissionEntry, bytes: u64) -> Vec<(u64, u64)> {
        if entry.cdw0().psdt() != 0 {
            return self.sgl_places(entry.sgl1());
        }
        let first = bytes.min(PAGE - entry.prp1() % PAGE);
        let mut places = vec![(entry.prp1(), first)];
        let mut left = bytes - first;
        if left > 0 && left <= PAGE {
            assert_eq!(entry.prp2() % PAGE, 0, "PRP 2 is a page");
            places.push((entry.prp2(), left));
            left = 0;
        }
        let mut at = entry.prp2();
        while left > 0 {
            let value = self.word(at);
            assert_eq!(value % PAGE, 0, "a list entry is a page");
            if at % PAGE == PAGE - 8 && left > PAGE {
                at = value;
                continue;
            }
            let part = left.min(PAGE);
            places.push((value, part));
            left -= part;
            at += 8;
        }
        places
    }

    fn sgl_places(&mut self, first: SglDescriptor) -> Vec<(u64, u64)> {
        match first.kind() {
            SglType::DATA_BLOCK => vec![(first.address(), u64::from(first.length()))],
            SglType::LAST_SEGMENT => {
                let count = u64::from(first.length()) / 16;
                let descriptors = (0..count).map(|index| {
                    let at = first.address() + index * 16;
                    SglDescriptor { words: [self.word(at), self.word(at + 8)] }
                });
                descriptors.map(|it| (it.address(), u64::from(it.length()))).collect()
            }
            other => panic!("the driver starts an SGL with {other:?}"),
        }
    }
}
