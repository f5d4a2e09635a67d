//! The posixaio engine on real files.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use iolab_engine::{
    Completion, Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait,
};
use iolab_memory::Backing;
use iolab_options::Settings;

use crate::posixaio::{PosixAio, PosixAioLane};

const BLOCK: usize = 4096;
const DEPTH: usize = 8;

struct Rig {
    lane: PosixAioLane,
    pool: SlotPool,
}

fn op(kind: OpKind, block: usize, slot: u16) -> Op {
    let offset = (block * BLOCK) as u64;
    Op { offset, length: BLOCK as u32, buffer_offset: 0, file: 0, slot, kind, priority: 0 }
}

fn numbered_file() -> File {
    let file = tempfile::tempfile().unwrap();
    for block in 0..DEPTH {
        file.write_all_at(&[block as u8 + 1; BLOCK], (block * BLOCK) as u64).unwrap();
    }
    file
}

impl Rig {
    fn new(fd: i32) -> Rig {
        let pool = SlotPool::new(DEPTH, BLOCK, 0, &Backing::Anonymous).unwrap();
        let target = TargetFile { path: "queued".into(), fd, size_bytes: 0, is_block_device: false };
        let options = Settings::default();
        let buffers = pool.view();
        let request = LaneRequest {
            files: &[target],
            depth: DEPTH,
            buffers,
            options: &options,
            direct: false,
            seed: 0,
            worker: 0,
        };
        Rig { lane: PosixAio::open(&request).unwrap(), pool }
    }

    fn run(&mut self, ops: &[Op]) -> Vec<Completion> {
        for op in ops {
            assert_eq!(self.lane.submit(op), Submission::Accepted, "{op:?}");
        }
        let mut out = Completions::with_room(ops.len());
        let wait = Wait { at_least: ops.len(), timeout_ns: u64::MAX };
        assert_eq!(self.lane.flush_and_reap(wait, &mut out), Ok(ops.len()));
        let mut done = out.as_slice().to_vec();
        done.sort_by_key(|done| done.slot);
        done
    }

    fn result(&mut self, op: Op) -> i32 {
        self.run(&[op])[0].result
    }
}

#[test]
fn a_full_queue_of_reads_and_writes_completes() {
    let file = numbered_file();
    let mut rig = Rig::new(file.as_raw_fd());
    let reads: Vec<Op> = (0..DEPTH).map(|block| op(OpKind::Read, block, block as u16)).collect();
    let all: Vec<Completion> = (0..DEPTH as u32).map(|slot| Completion { slot, result: BLOCK as i32 }).collect();
    assert_eq!(rig.run(&reads), all);
    for block in 0..DEPTH {
        assert!(rig.pool.slot_mut(block).iter().all(|&byte| byte == block as u8 + 1), "block {block}");
        rig.pool.slot_mut(block).fill(0xb0 + block as u8);
    }
    let writes: Vec<Op> = reads.iter().map(|read| Op { kind: OpKind::Write, ..*read }).collect();
    assert_eq!(rig.run(&writes), all);
    for block in 0..DEPTH {
        let mut written = vec![0; BLOCK];
        file.read_exact_at(&mut written, (block * BLOCK) as u64).unwrap();
        assert!(written.iter().all(|&byte| byte == 0xb0 + block as u8), "block {block}");
    }
}

#[test]
fn syncs_trims_and_short_reads_say_what_they_did() {
    let file = numbered_file();
    let mut rig = Rig::new(file.as_raw_fd());
    for kind in [OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange] {
        assert_eq!(rig.result(op(kind, 0, 0)), 0, "{kind:?}");
    }
    let before = file.metadata().unwrap().blocks();
    assert_eq!(rig.result(op(OpKind::Trim, 3, 0)), 0);
    assert!(file.metadata().unwrap().blocks() < before);
    file.set_len((DEPTH * BLOCK - 96) as u64).unwrap();
    assert_eq!(rig.result(op(OpKind::Read, DEPTH - 1, 0)), BLOCK as i32 - 96);
    assert_eq!(rig.result(op(OpKind::Read, DEPTH, 0)), 0);
}

#[test]
fn errors_come_as_completions() {
    let named = tempfile::NamedTempFile::new().unwrap();
    let readonly = File::open(named.path()).unwrap();
    let mut rig = Rig::new(readonly.as_raw_fd());
    assert_eq!(rig.result(op(OpKind::Write, 0, 0)), -libc::EBADF);
    let mut rig = Rig::new(-1);
    for kind in [OpKind::Read, OpKind::Write, OpKind::Trim, OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange] {
        assert_eq!(rig.result(op(kind, 0, 0)), -libc::EBADF, "{kind:?}");
    }
}

#[test]
fn what_the_job_has_not_is_refused() {
    let file = numbered_file();
    let mut rig = Rig::new(file.as_raw_fd());
    let good = op(OpKind::Read, 0, 0);
    for (wrong, errno) in [
        (Op { file: 1, ..good }, libc::EBADF),
        (Op { slot: DEPTH as u16, ..good }, libc::EINVAL),
        (Op { buffer_offset: 1, ..good }, libc::EINVAL),
        (Op { offset: u64::MAX, ..good }, libc::EINVAL),
    ] {
        assert_eq!(rig.lane.submit(&wrong), Submission::Refused(errno), "{wrong:?}");
    }
    assert_eq!(rig.lane.submit(&good), Submission::Accepted);
    assert_eq!(rig.lane.submit(&good), Submission::Refused(libc::EINVAL), "the slot is the lane's");
}

/// glibc reads a pipe with `read(2)` after `pread64(2)` returns `ESPIPE`: an operation that waits
/// for as long as the test needs.
#[test]
fn an_operation_that_does_not_complete_stays_in_flight() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut rig = Rig::new(reader.as_raw_fd());
    assert_eq!(rig.lane.submit(&op(OpKind::Read, 0, 5)), Submission::Accepted);
    let mut out = Completions::with_room(1);
    for wait in [Wait::POLL, Wait { at_least: 1, timeout_ns: 0 }, Wait { at_least: 1, timeout_ns: 1_000_000 }] {
        assert_eq!(rig.lane.reap(wait, &mut out), Ok(0), "{wait:?}");
    }
    std::io::Write::write_all(&mut writer, b"at last").unwrap();
    assert_eq!(rig.lane.reap(Wait { at_least: 1, timeout_ns: u64::MAX }, &mut out), Ok(1));
    assert_eq!(out.as_slice(), [Completion { slot: 5, result: 7 }]);
    assert_eq!(&rig.pool.slot_mut(5)[..7], b"at last");
}

#[test]
fn polling_and_timeouts_return_and_nothing_is_lost() {
    let file = numbered_file();
    let mut rig = Rig::new(file.as_raw_fd());
    for slot in 0..DEPTH as u16 {
        assert_eq!(rig.lane.submit(&op(OpKind::Write, usize::from(slot), slot)), Submission::Accepted);
    }
    assert_eq!(rig.lane.submit(&op(OpKind::Write, 0, 0)), Submission::Full);
    let mut slots = Vec::new();
    while slots.len() < DEPTH {
        let mut out = Completions::with_room(3);
        for wait in [Wait::POLL, Wait { at_least: 3, timeout_ns: 1_000 }] {
            let room = out.room_left();
            assert!(rig.lane.reap(wait, &mut out).unwrap() <= room);
        }
        slots.extend(out.as_slice().iter().map(|done| done.slot));
    }
    slots.sort_unstable();
    assert_eq!(slots, (0..DEPTH as u32).collect::<Vec<_>>());
    let mut out = Completions::with_room(1);
    assert_eq!(rig.lane.reap(Wait { at_least: 1, timeout_ns: u64::MAX }, &mut out), Ok(0), "nothing to wait for");
}

#[test]
fn a_lane_may_be_dropped_with_operations_in_flight() {
    for _ in 0..20 {
        let file = numbered_file();
        let mut rig = Rig::new(file.as_raw_fd());
        for slot in 0..DEPTH as u16 {
            assert_eq!(rig.lane.submit(&op(OpKind::Read, usize::from(slot), slot)), Submission::Accepted);
        }
        drop(rig.lane);
        rig.pool.slot_mut(0).fill(0);
        assert!(rig.pool.slot_mut(0).iter().all(|&byte| byte == 0), "nobody writes the slots any more");
    }
}
