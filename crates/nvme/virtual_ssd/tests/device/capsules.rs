//! The same execution behind a second front, which has no bus: the effect of a command must not
//! depend on the front.

use std::sync::Arc;

use iolab_nvme_spec::identify::{AdminCapabilities, IdentifyController};
use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, FromBytes, IoOpcode, Status, SubmissionEntry};
use iolab_virtual_ssd::capsules::{Capsules, Command, Response};
use iolab_virtual_ssd::{Config, Subsystem};

use crate::host::{Host, admin, identify, plug_into, transfer};

struct Rig {
    front: Capsules,
    now_ns: u64,
    next_cid: u16,
}

impl Rig {
    fn new(config: &str) -> Rig {
        Rig::on(&Subsystem::new(Config::parse(config).unwrap()).unwrap())
    }

    fn on(subsystem: &Arc<Subsystem>) -> Rig {
        let mut front = Capsules::new(subsystem).unwrap();
        front.set_property(Register::CC, 0x0046_0001 | 0b110 << 4);
        assert_eq!(front.property(Register::CSTS) & 1, 1);
        Rig { front, now_ns: 1_000_000, next_cid: 0 }
    }

    fn send(&mut self, queue: u16, entry: SubmissionEntry, data: Vec<u8>) -> u16 {
        self.next_cid += 1;
        self.front.send(Command { queue, entry: entry.with_cid(self.next_cid), data });
        self.next_cid
    }

    /// Executes a command, and returns its answer when it is due.
    fn run(&mut self, queue: u16, entry: SubmissionEntry, data: Vec<u8>) -> (CompletionEntry, Vec<u8>) {
        let cid = self.send(queue, entry, data);
        let mut answers = self.front.poll(self.now_ns);
        while answers.is_empty() {
            self.now_ns = self.front.next_event_ns().expect("the command is answered some time");
            answers = self.front.poll(self.now_ns);
        }
        let [Response { queue: from, completion, data }] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!((*from, completion.cid()), (queue, cid));
        (*completion, data.clone())
    }

    fn io(&mut self, entry: SubmissionEntry, data: Vec<u8>) -> Result<(u64, Vec<u8>), Status> {
        let (completion, data) = self.run(1, entry, data);
        if completion.status().is_success() { Ok((completion.result(), data)) } else { Err(completion.status().code()) }
    }

    fn admin(&mut self, entry: SubmissionEntry, data: Vec<u8>) -> Result<Vec<u8>, Status> {
        let (completion, data) = self.run(0, entry, data);
        if completion.status().is_success() { Ok(data) } else { Err(completion.status().code()) }
    }
}

fn flush() -> SubmissionEntry {
    SubmissionEntry::new(IoOpcode::FLUSH.0, 0).with_nsid(1)
}

#[test]
fn identify_tells_what_this_front_has() {
    let mut rig = Rig::new("size=16M");
    let data = rig.admin(identify(1, 0), Vec::new()).unwrap();
    let controller = IdentifyController::read_from_bytes(&data).unwrap();
    assert!(controller.mn.starts_with(b"iolab virtual SSD"));
    let capabilities = AdminCapabilities(controller.oacs.get());
    assert!(capabilities.format() && !capabilities.doorbell_buffer(), "there are no doorbells");
    let namespace = rig.admin(identify(0, 1), Vec::new()).unwrap();
    assert_eq!(u64::from_le_bytes(namespace[..8].try_into().unwrap()), 32768, "blocks of 512 bytes");
    assert_eq!(rig.admin(identify(0, 9), Vec::new()), Err(Status::INVALID_NAMESPACE));
    for opcode in [AdminOpcode::CREATE_IO_SQ, AdminOpcode::DELETE_IO_CQ, AdminOpcode::DOORBELL_BUFFER_CONFIG] {
        assert_eq!(rig.admin(admin(opcode), Vec::new()), Err(Status::INVALID_OPCODE), "{opcode}");
    }
}

#[test]
fn written_blocks_are_read_and_flushed() {
    let mut rig = Rig::new("size=16M");
    let written: Vec<u8> = (0..8192u32).map(|at| (at / 5) as u8).collect();
    assert_eq!(rig.io(transfer(IoOpcode::WRITE, 100, 16), written.clone()), Ok((0, Vec::new())));
    assert_eq!(rig.io(flush(), Vec::new()).map(|answer| answer.0), Ok(0));
    assert_eq!(rig.io(transfer(IoOpcode::READ, 100, 16), Vec::new()), Ok((0, written.clone())));
    assert_eq!(rig.io(transfer(IoOpcode::READ, 116, 1), Vec::new()), Ok((0, vec![0; 512])));
    assert_eq!(rig.io(transfer(IoOpcode::COMPARE, 100, 16), written).map(|answer| answer.0), Ok(0));
    assert_eq!(rig.io(transfer(IoOpcode::COMPARE, 100, 1), vec![9; 512]), Err(Status::COMPARE_FAILURE));
    let short = rig.io(transfer(IoOpcode::WRITE, 0, 2), vec![1; 1023]);
    assert_eq!(short, Err(Status::DATA_SGL_LENGTH_INVALID));
    assert_eq!(rig.io(transfer(IoOpcode::READ, 0, 2), Vec::new()), Ok((0, vec![0; 1024])), "nothing was written");
    assert_eq!(rig.io(transfer(IoOpcode::READ, 32768, 1), Vec::new()), Err(Status::LBA_OUT_OF_RANGE));
}

#[test]
fn appends_answer_where_they_went_and_zones_know_it() {
    let mut rig = Rig::new("size=16M zone=1M");
    for (data, lba) in [(1, 2048), (2, 2056)] {
        let append = transfer(IoOpcode::ZONE_APPEND, 2048, 8);
        assert_eq!(rig.io(append, vec![data; 4096]).map(|answer| answer.0), Ok(lba));
    }
    let report = SubmissionEntry::new(IoOpcode::ZONE_MANAGEMENT_RECEIVE.0, 0).with_nsid(1).with_slba(2048);
    let (_, report) = rig.io(report.with_cdw(12, 31), Vec::new()).unwrap();
    assert_eq!(u64::from_le_bytes(report[64 + 24..][..8].try_into().unwrap()), 2064, "the write pointer");
    assert_eq!(rig.io(transfer(IoOpcode::READ, 2056, 8), Vec::new()), Ok((0, vec![2; 4096])));
    assert_eq!(rig.io(transfer(IoOpcode::WRITE, 2048, 8), vec![3; 4096]), Err(Status::ZONE_INVALID_WRITE));
}

#[test]
fn faults_of_the_media_and_of_the_way_happen_here_too() {
    let mut rig =
        Rig::new("size=16M fault=media-error:op=read,lba=7 fault=drop:opcode=1,times=1 fault=timeout:opcode=0");
    assert_eq!(rig.io(transfer(IoOpcode::READ, 0, 8), Vec::new()), Err(Status::UNRECOVERED_READ_ERROR));
    assert_eq!(rig.io(transfer(IoOpcode::READ, 8, 8), Vec::new()).map(|answer| answer.0), Ok(0));
    let log = SubmissionEntry::new(AdminOpcode::GET_LOG_PAGE.0, 0).with_cdw(10, 1 | 15 << 16);
    let log = rig.admin(log, Vec::new()).unwrap();
    assert_eq!(u64::from_le_bytes(log[16..24].try_into().unwrap()), 0, "the first block of the transfer");
    assert_eq!(u16::from_le_bytes(log[8..10].try_into().unwrap()), 1, "its queue");
    rig.send(1, transfer(IoOpcode::WRITE, 0, 1), vec![5; 512]);
    rig.send(1, flush(), Vec::new());
    assert_eq!(rig.front.poll(u64::MAX), [], "the write's answer is dropped, the flush is never executed");
    assert_eq!(rig.io(transfer(IoOpcode::READ, 0, 7), Vec::new()).unwrap().1[0], 5, "the write was done");
    let mut rig = Rig::new("size=16M fault=fatal:opcode=2");
    rig.send(1, transfer(IoOpcode::READ, 0, 1), Vec::new());
    assert_eq!(rig.front.poll(0), []);
    assert_eq!(rig.front.property(Register::CSTS), 2, "fatal");
}

#[test]
fn answers_wait_for_the_time_of_the_model() {
    let mut rig = Rig::new("size=16M model=simple fault=slow:opcode=2,extra=1ms,times=1");
    let start_ns = rig.now_ns;
    rig.io(transfer(IoOpcode::READ, 0, 8), Vec::new()).unwrap();
    let slow_ns = rig.now_ns - start_ns;
    let start_ns = rig.now_ns;
    rig.io(transfer(IoOpcode::READ, 0, 8), Vec::new()).unwrap();
    let plain_ns = rig.now_ns - start_ns;
    assert!(plain_ns > 0 && slow_ns == plain_ns + 1_000_000, "{slow_ns} {plain_ns}");
}

/// One drive is behind both fronts: each host reads what the other wrote, and is notified of
/// changes.
#[test]
fn two_fronts_have_one_drive() {
    let drive = Subsystem::new(Config::parse("size=16M").unwrap()).unwrap();
    let mut host = Host::with(plug_into(&drive), 1);
    let mut rig = Rig::on(&drive);
    host.fill(0x5a);
    assert_eq!(host.io(host.write(40, 8)), Ok(0));
    assert_eq!(rig.io(transfer(IoOpcode::READ, 40, 8), Vec::new()), Ok((0, vec![0x5a; 4096])));
    rig.io(transfer(IoOpcode::WRITE, 41, 1), vec![1; 512]).unwrap();
    assert_eq!(host.io(host.read(40, 2)), Ok(0));
    assert_eq!(host.bytes(1024)[511..513], [0x5a, 1]);
    // Enables namespace attribute notices, and requests events.
    let configure = admin(AdminOpcode::SET_FEATURES).with_cdw(10, 0x0b).with_cdw(11, 1 << 8);
    rig.admin(configure, Vec::new()).unwrap();
    let request = rig.send(0, admin(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST), Vec::new());
    assert_eq!(rig.front.poll(rig.now_ns), []);
    assert_eq!(host.admin(admin(AdminOpcode::FORMAT_NVM).with_nsid(1)), Ok(0));
    let events = rig.front.poll(rig.now_ns);
    assert_eq!(events.iter().map(|event| event.completion.cid()).collect::<Vec<u16>>(), [request]);
    assert_eq!(rig.io(transfer(IoOpcode::READ, 40, 1), Vec::new()), Ok((0, vec![0; 512])), "formatted");
}
