//! The common behaviour of all engines of this crate, on real files, and that of individual ones.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

use iolab_engine::{
    Completion, Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait,
};
use iolab_memory::Backing;
use iolab_options::{Setting, Settings, Value};

use crate::read_write::{Psync, Pvsync, Pvsync2, Splice, Sync, Vsync};

const BLOCK: usize = 4096;
const BLOCKS: usize = 8;

/// A lane on one file of `BLOCKS` blocks, each filled with its number plus one.
struct Rig<E: Engine> {
    lane: E::Lane,
    pool: SlotPool,
    file: File,
}

fn op(kind: OpKind, block: usize, slot: u16) -> Op {
    let offset = (block * BLOCK) as u64;
    Op { offset, length: BLOCK as u32, buffer_offset: 0, file: 0, slot, kind, priority: 0 }
}

fn numbered_file() -> File {
    let file = tempfile::tempfile().unwrap();
    for block in 0..BLOCKS {
        file.write_all_at(&[block as u8 + 1; BLOCK], (block * BLOCK) as u64).unwrap();
    }
    file
}

impl<E: Engine> Rig<E> {
    fn new() -> Rig<E> {
        Rig::on(numbered_file(), &Settings::default())
    }

    fn on(file: File, options: &Settings) -> Rig<E> {
        Rig::with_fd(file.as_raw_fd(), file, options)
    }

    fn with_fd(fd: i32, file: File, options: &Settings) -> Rig<E> {
        let pool = SlotPool::new(4, BLOCK, 0, &Backing::Anonymous).unwrap();
        let size_bytes = file.metadata().unwrap().len();
        let target = TargetFile { path: "numbered".into(), fd, size_bytes, is_block_device: false };
        let request = LaneRequest {
            files: &[target],
            depth: 4,
            buffers: pool.view(),
            options,
            direct: false,
            seed: 3,
            worker: 0,
        };
        Rig { lane: E::open(&request).unwrap(), pool, file }
    }

    /// Submits all, flushes, reaps all; results by order of completion.
    fn run(&mut self, ops: &[Op]) -> Vec<Completion> {
        for op in ops {
            assert_eq!(self.lane.submit(op), Submission::Accepted, "{op:?}");
        }
        let mut out = Completions::with_room(ops.len());
        let wait = Wait { at_least: ops.len(), timeout_ns: u64::MAX };
        assert_eq!(self.lane.flush_and_reap(wait, &mut out), Ok(ops.len()));
        out.as_slice().to_vec()
    }

    fn result(&mut self, op: Op) -> i32 {
        self.run(&[op])[0].result
    }
}

fn reads_and_writes_reach_the_file<E: Engine>() {
    let mut rig = Rig::<E>::new();
    for block in [5, 0, 1, 7] {
        assert_eq!(rig.result(op(OpKind::Read, block, 2)), BLOCK as i32);
        assert!(rig.pool.slot_mut(2).iter().all(|&byte| byte == block as u8 + 1), "block {block}");
    }
    for block in [3, 4, 2] {
        rig.pool.slot_mut(1).fill(0xa0 + block as u8);
        assert_eq!(rig.result(op(OpKind::Write, block, 1)), BLOCK as i32);
        let mut written = vec![0; BLOCK];
        rig.file.read_exact_at(&mut written, (block * BLOCK) as u64).unwrap();
        assert!(written.iter().all(|&byte| byte == 0xa0 + block as u8), "block {block}");
    }
}

fn the_rest_of_a_short_transfer_goes_where_it_belongs<E: Engine>() {
    let mut rig = Rig::<E>::new();
    rig.pool.slot_mut(0).fill(0xee);
    let rest = Op { offset: 4096 + 1024, length: 3072, buffer_offset: 1024, ..op(OpKind::Read, 1, 0) };
    assert_eq!(rig.result(rest), 3072);
    assert!(rig.pool.slot_mut(0)[..1024].iter().all(|&byte| byte == 0xee));
    assert!(rig.pool.slot_mut(0)[1024..].iter().all(|&byte| byte == 2));
}

fn reads_end_with_the_file<E: Engine>() {
    let mut rig = Rig::<E>::new();
    rig.file.set_len((BLOCKS * BLOCK - 1000) as u64).unwrap();
    assert_eq!(rig.result(op(OpKind::Read, BLOCKS - 1, 0)), BLOCK as i32 - 1000);
    assert_eq!(rig.result(op(OpKind::Read, BLOCKS, 0)), 0);
}

fn errors_are_the_kernels<E: Engine>() {
    let named = tempfile::NamedTempFile::new().unwrap();
    let mut readonly = Rig::<E>::on(File::open(named.path()).unwrap(), &Settings::default());
    assert_eq!(readonly.result(op(OpKind::Write, 0, 0)), -libc::EBADF);
    assert_eq!(readonly.result(op(OpKind::Trim, 0, 0)), -libc::EBADF);
    let mut closed = Rig::<E>::with_fd(-1, numbered_file(), &Settings::default());
    for kind in [OpKind::Read, OpKind::Write, OpKind::Trim, OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange] {
        assert_eq!(closed.result(op(kind, 0, 0)), -libc::EBADF, "{kind:?}");
    }
    let mut far = Rig::<E>::new();
    assert_eq!(far.result(Op { offset: i64::MAX as u64, ..op(OpKind::Read, 0, 0) }), -libc::EINVAL);
    assert_eq!(far.result(op(OpKind::Read, 0, 0)), BLOCK as i32, "an error leaves the lane usable");
}

fn trims_punch_and_syncs_succeed<E: Engine>() {
    let mut rig = Rig::<E>::new();
    for kind in [OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange] {
        assert_eq!(rig.result(op(kind, 0, 0)), 0, "{kind:?}");
    }
    let blocks_before = rig.file.metadata().unwrap().blocks();
    assert_eq!(rig.result(op(OpKind::Trim, 2, 0)), 0);
    assert!(rig.file.metadata().unwrap().blocks() < blocks_before);
    assert_eq!(rig.result(op(OpKind::Read, 2, 0)), BLOCK as i32);
    assert!(rig.pool.slot_mut(0).iter().all(|&byte| byte == 0));
}

fn what_the_job_has_not_is_refused<E: Engine>() {
    let mut rig = Rig::<E>::new();
    let good = op(OpKind::Read, 0, 0);
    for (wrong, errno) in [
        (Op { file: 1, ..good }, libc::EBADF),
        (Op { file: 1, kind: OpKind::Sync, ..good }, libc::EBADF),
        (Op { slot: 4, ..good }, libc::EINVAL),
        (Op { buffer_offset: 1, ..good }, libc::EINVAL),
        (Op { offset: u64::MAX, ..good }, libc::EINVAL),
        (Op { length: BLOCK as u32 + 1, ..good }, libc::EINVAL),
    ] {
        assert_eq!(rig.lane.submit(&wrong), Submission::Refused(errno), "{wrong:?}");
    }
    assert_eq!(rig.result(good), BLOCK as i32);
}

fn the_lane_holds_its_depth_and_no_more<E: Engine>() {
    let mut rig = Rig::<E>::new();
    for slot in 0..4 {
        assert_eq!(rig.lane.submit(&op(OpKind::Read, usize::from(slot), slot)), Submission::Accepted);
    }
    assert_eq!(rig.lane.submit(&op(OpKind::Read, 0, 0)), Submission::Full);
    let mut out = Completions::with_room(8);
    let wait = Wait { at_least: 4, timeout_ns: u64::MAX };
    assert_eq!(rig.lane.flush_and_reap(wait, &mut out), Ok(4));
}

/// Skips the check if the file system has no `O_DIRECT`.
fn direct_transfers_work_where_the_file_system_has_them<E: Engine>() {
    let named = tempfile::NamedTempFile::new().unwrap();
    let opened = File::options().read(true).write(true).custom_flags(libc::O_DIRECT).open(named.path());
    let Ok(file) = opened else { return };
    file.set_len((BLOCKS * BLOCK) as u64).unwrap();
    let mut rig = Rig::<E>::on(file, &Settings::default());
    rig.pool.slot_mut(0).fill(0x5a);
    assert_eq!(rig.result(op(OpKind::Write, 3, 0)), BLOCK as i32);
    assert_eq!(rig.result(op(OpKind::Read, 3, 1)), BLOCK as i32);
    assert!(rig.pool.slot_mut(1).iter().all(|&byte| byte == 0x5a));
}

macro_rules! on_every_engine {
    ($($engine:ident $module:ident),*: $checks:tt) => { $(mod $module { on_every_engine!(@tests $engine $checks); })* };
    (@tests $engine:ident { $($check:ident),* $(,)? }) => {
        $(#[test] fn $check() { super::$check::<crate::read_write::$engine>(); })*
    };
}

on_every_engine!(Sync sync, Psync psync, Vsync vsync, Pvsync pvsync, Pvsync2 pvsync2, Splice splice: {
    reads_and_writes_reach_the_file,
    the_rest_of_a_short_transfer_goes_where_it_belongs,
    reads_end_with_the_file,
    errors_are_the_kernels,
    trims_punch_and_syncs_succeed,
    what_the_job_has_not_is_refused,
    the_lane_holds_its_depth_and_no_more,
    direct_transfers_work_where_the_file_system_has_them,
});

/// Moves the file's position without the lane's knowledge: the position of the next read shows
/// whether the lane called lseek.
fn read_after_moving_to_the_start<E: Engine>(block: usize) -> u8 {
    let mut rig = Rig::<E>::new();
    assert_eq!(rig.result(op(OpKind::Read, 2, 0)), BLOCK as i32);
    std::io::Seek::rewind(&mut &rig.file).unwrap();
    assert_eq!(rig.result(op(OpKind::Read, block, 0)), BLOCK as i32);
    rig.pool.slot_mut(0)[0]
}

#[test]
fn only_sync_and_vsync_use_the_position_and_only_to_go_elsewhere() {
    assert_eq!(read_after_moving_to_the_start::<Sync>(3), 1, "the next block is read without lseek");
    assert_eq!(read_after_moving_to_the_start::<Sync>(5), 6, "another block is sought");
    assert_eq!(read_after_moving_to_the_start::<Vsync>(3), 1);
    assert_eq!(read_after_moving_to_the_start::<Vsync>(5), 6);
    assert_eq!(read_after_moving_to_the_start::<Psync>(3), 4);
    assert_eq!(read_after_moving_to_the_start::<Pvsync>(3), 4);
    assert_eq!(read_after_moving_to_the_start::<Pvsync2>(3), 4);
}

#[test]
fn a_run_of_vsync_that_ends_early_is_dealt_out_in_order() {
    let mut rig = Rig::<Vsync>::new();
    rig.file.set_len((6 * BLOCK + 100) as u64).unwrap();
    let run: Vec<Op> = (0..4).map(|slot| op(OpKind::Read, 4 + usize::from(slot), slot)).collect();
    let results: Vec<(u32, i32)> = rig.run(&run).iter().map(|done| (done.slot, done.result)).collect();
    assert_eq!(results, [(0, BLOCK as i32), (1, BLOCK as i32), (2, 100), (3, 0)]);
    for (slot, byte) in [(0, 5), (1, 6)] {
        assert!(rig.pool.slot_mut(slot).iter().all(|&read| read == byte));
    }
}

#[test]
fn vsync_keeps_order_when_runs_break() {
    let mut rig = Rig::<Vsync>::new();
    rig.pool.slot_mut(1).fill(0x77);
    let ops = [
        op(OpKind::Read, 0, 0),
        op(OpKind::Write, 1, 1),
        op(OpKind::Read, 1, 2),
        Op { file: 0, ..op(OpKind::Sync, 0, 3) },
    ];
    let results: Vec<(u32, i32)> = rig.run(&ops).iter().map(|done| (done.slot, done.result)).collect();
    assert_eq!(results, [(0, BLOCK as i32), (1, BLOCK as i32), (2, BLOCK as i32), (3, 0)]);
    assert!(rig.pool.slot_mut(2).iter().all(|&byte| byte == 0x77), "the read sees the write before it");
}

#[test]
fn nowait_reads_what_is_cached() {
    let mut options = Settings::default();
    options.set("nowait", Setting { value: Value::Flag(true), text: "1".into(), source: 0, span: (0, 0) });
    let mut rig = Rig::<Pvsync2>::on(numbered_file(), &options);
    // A file system without RWF_NOWAIT returns EOPNOTSUPP; one with it still has the blocks just
    // written in memory.
    let result = rig.result(op(OpKind::Read, 1, 0));
    assert!([BLOCK as i32, -libc::EOPNOTSUPP, -libc::EAGAIN].contains(&result), "{result}");
}

#[test]
fn splice_takes_several_turns_through_its_pipe_and_leaves_nothing_in_it() {
    const LARGE: usize = (3 << 20) + 5 * 512;
    let file = tempfile::tempfile().unwrap();
    let mut pool = SlotPool::new(2, LARGE, 0, &Backing::Anonymous).unwrap();
    let target = TargetFile { path: "large".into(), fd: file.as_raw_fd(), size_bytes: 0, is_block_device: false };
    let options = Settings::default();
    let request = LaneRequest {
        files: &[target],
        depth: 1,
        buffers: pool.view(),
        options: &options,
        direct: false,
        seed: 0,
        worker: 0,
    };
    let mut lane = Splice::open(&request).unwrap();
    pool.slot_mut(0).iter_mut().enumerate().for_each(|(at, byte)| *byte = (at % 251) as u8);
    let whole =
        |kind, slot| Op { offset: 77, length: LARGE as u32, buffer_offset: 0, file: 0, slot, kind, priority: 0 };
    // One that fails with its bytes in the pipe comes first: the kernel limits the size of files.
    let beyond = Op { offset: i64::MAX as u64 - 10, ..whole(OpKind::Write, 0) };
    assert!(lane.perform(&beyond).unwrap() < 0);
    assert_eq!(lane.perform(&whole(OpKind::Write, 0)), Ok(LARGE as i32));
    assert_eq!(lane.perform(&whole(OpKind::Read, 1)), Ok(LARGE as i32));
    let written = pool.slot_mut(0).to_vec();
    assert!(pool.slot_mut(1) == written.as_slice());
    let mut on_file = vec![0; LARGE];
    file.read_exact_at(&mut on_file, 77).unwrap();
    assert!(on_file == written);
}
