//! One lane under test with its buffers, its scratch files and a ledger of who owns which slot.
//!
//! The ledger asserts ownership both ways: a slot is offered only while the loop owns it, and a
//! completion must name a slot that the lane owns. Nothing here waits forever: a lane that does not
//! answer fails.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use iolab_memory::SlotPool;

use super::ConformanceSetup;
use crate::{
    Completion, Completions, Engine, FileUse, Lane, LaneRequest, Op, OpKind, OpenError, Submission, TargetFile, Wait,
};

/// Bytes of one operation.
pub(super) const BLOCK: usize = 4096;
/// Blocks of the scratch file.
pub(super) const BLOCKS: usize = 64;
/// Bytes of one slot: larger than an operation, so that displacement within it can be seen.
pub(super) const SLOT_BYTES: usize = 2 * BLOCK;
/// A timeout that only a lane that never answers reaches.
pub(super) const PATIENCE_NS: u64 = 20_000_000_000;

// The value of O_DIRECT (open(2)) differs between architectures and the standard library does not
// name it.
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
const O_DIRECT: i32 = 0o200000;
#[cfg(any(target_arch = "powerpc", target_arch = "powerpc64"))]
const O_DIRECT: i32 = 0o400000;
#[cfg(not(any(target_arch = "aarch64", target_arch = "arm", target_arch = "powerpc", target_arch = "powerpc64")))]
const O_DIRECT: i32 = 0o40000;

/// A folder of files that disappears with this value.
pub(super) struct Scratch {
    folder: PathBuf,
    paths: Vec<PathBuf>,
    files: Vec<File>,
    pub(super) targets: Vec<TargetFile>,
}

/// How a scratch file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    ReadWrite,
    ReadOnly,
    WriteOnly,
    /// Not at all: the lane gets an invalid descriptor.
    Missing,
}

impl Scratch {
    fn new() -> Scratch {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("iolab-conformance-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for scratch files");
        Scratch { folder, paths: Vec::new(), files: Vec::new(), targets: Vec::new() }
    }

    /// Adds a file of `size_bytes` zeroes.
    fn add(&mut self, size_bytes: u64, access: Access, direct: bool) {
        let path = self.folder.join(format!("data.{}", self.targets.len()));
        File::create(&path).and_then(|file| file.set_len(size_bytes)).expect("a scratch file");
        let fd = if access == Access::Missing {
            -1
        } else {
            let file = open(&path, access, direct);
            let fd = file.as_raw_fd();
            self.files.push(file);
            fd
        };
        self.paths.push(path.clone());
        self.targets.push(TargetFile { path, fd, size_bytes, is_block_device: false });
    }

    /// Gives the files names in the form that an engine with its own devices needs.
    fn name(&mut self, device: fn(&Path, u64) -> String) {
        self.targets.iter_mut().for_each(|target| target.path = device(&target.path, target.size_bytes).into());
    }

    /// Bytes of file 0 as another reader sees them.
    pub(super) fn read_back(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let file = File::open(&self.paths[0]).expect("the scratch file");
        file.read_exact_at(&mut bytes, offset).expect("reading the scratch file");
        bytes
    }

    /// Writes to file 0 past the lane.
    pub(super) fn write_behind(&self, offset: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(&self.paths[0]).expect("the scratch file");
        file.write_all_at(bytes, offset).expect("writing the scratch file");
        file.sync_all().expect("syncing the scratch file");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A left-over temporary folder does not fail a test.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Opens a scratch file, without `O_DIRECT` where the file system refuses it.
fn open(path: &Path, access: Access, direct: bool) -> File {
    let mut options = OpenOptions::new();
    options.read(access != Access::WriteOnly).write(access != Access::ReadOnly);
    let plain = options.clone();
    if direct {
        options.custom_flags(O_DIRECT);
    }
    options.open(path).or_else(|_| plain.open(path)).expect("opening a scratch file")
}

/// A lane, the slots it may use and the ledger. Fields drop in order: lane, buffers, files.
pub(super) struct Rig<E: Engine> {
    lane: Option<E::Lane>,
    pub(super) pool: SlotPool,
    pub(super) scratch: Scratch,
    pub(super) depth: usize,
    probe: OpKind,
    in_lane: Vec<bool>,
    out: Completions,
}

impl<E: Engine> Rig<E> {
    /// A lane over one zeroed file of [`BLOCKS`] blocks (or many paths, for engines that use only
    /// paths).
    pub(super) fn new(setup: &ConformanceSetup, depth: usize) -> Rig<E> {
        Rig::with_files(setup, depth, &[((BLOCK * BLOCKS) as u64, Access::ReadWrite)])
            .unwrap_or_else(|error| panic!("{} does not open: {}", E::DESCRIPTION.name, error.message))
    }

    /// A lane over these files.
    pub(super) fn with_files(
        setup: &ConformanceSetup,
        depth: usize,
        files: &[(u64, Access)],
    ) -> Result<Rig<E>, OpenError> {
        let mut scratch = Scratch::new();
        match E::DESCRIPTION.capabilities.files {
            FileUse::Descriptors => files.iter().for_each(|&(size, access)| scratch.add(size, access, setup.direct)),
            FileUse::Devices | FileUse::DeviceNamedBy(_) => {
                files.iter().for_each(|&(size, _)| scratch.add(size, Access::Missing, false));
                scratch.name(setup.device.expect("the setup of an engine with devices says how they are named"));
            }
            FileUse::Objects => files.iter().for_each(|&(size, _)| scratch.add(size, Access::Missing, false)),
            FileUse::Paths | FileUse::Nothing => {
                (0..BLOCKS).for_each(|_| scratch.add(BLOCK as u64, Access::Missing, false));
            }
        }
        let pool = SlotPool::new(depth, SLOT_BYTES, 0, &setup.buffers).expect("buffers");
        let lane = open_lane::<E>(setup, depth, &pool, &scratch)?;
        let out = Completions::with_room(depth);
        Ok(Rig { lane: Some(lane), pool, scratch, depth, probe: setup.probe, in_lane: vec![false; depth], out })
    }

    /// Drops the lane, whatever it holds, and opens another on the same files and buffers.
    pub(super) fn reopen(&mut self, setup: &ConformanceSetup) {
        self.drop_lane();
        let lane = open_lane::<E>(setup, self.depth, &self.pool, &self.scratch);
        self.lane = Some(lane.unwrap_or_else(|error| panic!("the lane does not open again: {}", error.message)));
    }

    /// Drops the lane; the loop owns its slots again.
    pub(super) fn drop_lane(&mut self) {
        self.lane = None;
        self.in_lane.fill(false);
    }

    /// Gives the next reaps room for `room` completions.
    pub(super) fn set_room(&mut self, room: usize) {
        self.out = Completions::with_room(room);
    }

    /// An operation on one block of file 0 (or on one of many paths).
    pub(super) fn op(&self, kind: OpKind, slot: usize, block: usize) -> Op {
        let by_path = E::DESCRIPTION.capabilities.files == FileUse::Paths;
        let file = if by_path { (block % self.scratch.targets.len()) as u32 } else { 0 };
        let offset = if by_path { 0 } else { (block * BLOCK) as u64 };
        Op { offset, length: BLOCK as u32, buffer_offset: 0, file, slot: slot as u16, kind, priority: 0 }
    }

    /// The operation with which the queue is tested, on one block.
    pub(super) fn probe(&self, slot: usize, block: usize) -> Op {
        self.op(self.probe, slot, block)
    }

    /// Offers an operation.
    pub(super) fn submit(&mut self, op: &Op) -> Submission {
        assert!(!self.in_lane[op.slot as usize], "the suite itself used slot {} twice", op.slot);
        let answer = self.lane().submit(op);
        match answer {
            Submission::Accepted => self.in_lane[op.slot as usize] = true,
            Submission::Refused(errno) => assert!(errno > 0, "a refusal carries a positive errno, not {errno}"),
            Submission::Full => {}
        }
        answer
    }

    /// Offers an operation that the lane has room for.
    pub(super) fn accept(&mut self, op: &Op) {
        assert_eq!(self.submit(op), Submission::Accepted, "{op:?}");
    }

    /// Makes accepted operations visible.
    pub(super) fn flush(&mut self) {
        self.lane().flush().unwrap_or_else(|error| panic!("flush: {error:?}"));
    }

    /// Collects completions and checks that each belongs to an operation in flight.
    pub(super) fn reap(&mut self, wait: Wait) -> Vec<Completion> {
        self.collect(wait, false)
    }

    /// Flushes and reaps by the lane's combined call.
    pub(super) fn flush_and_reap(&mut self, wait: Wait) -> Vec<Completion> {
        self.collect(wait, true)
    }

    /// How many slots the lane owns.
    pub(super) fn in_flight(&self) -> usize {
        self.in_lane.iter().filter(|&&owned| owned).count()
    }

    /// Waits until the lane owns no slot.
    pub(super) fn drain(&mut self) -> Vec<Completion> {
        self.flush();
        let mut all = Vec::new();
        while self.in_flight() > 0 {
            let some = self.reap(Wait { at_least: 1, timeout_ns: PATIENCE_NS });
            assert!(!some.is_empty(), "{} operations in flight never completed", self.in_flight());
            all.extend(some);
        }
        all
    }

    /// Performs one operation alone. Returns its result, or the negative errno of a refusal. If the
    /// lane can do it in one call, it is also done that way: every operation here may be repeated.
    pub(super) fn perform(&mut self, op: &Op) -> i32 {
        let result = match self.submit(op) {
            Submission::Accepted => self.drain()[0].result,
            Submission::Refused(errno) => -errno,
            Submission::Full => panic!("Full with {} operations in flight: {op:?}", self.in_flight()),
        };
        if E::Lane::PERFORMS {
            let at_once = self.lane().perform(op).unwrap_or_else(|errno| -errno);
            assert_eq!(at_once, result, "perform and submit differ: {op:?}");
            assert_eq!(self.reap(Wait::POLL), [], "perform leaves nothing to reap");
        }
        result
    }

    /// Performs operations at the depth that the lane allows; results by position, refusals as
    /// negative errnos.
    pub(super) fn perform_all(&mut self, ops: &[Op]) -> Vec<i32> {
        let mut position = vec![usize::MAX; self.depth];
        let mut results = vec![i32::MIN; ops.len()];
        for (index, op) in ops.iter().enumerate() {
            loop {
                if self.in_lane[op.slot as usize] {
                    self.flush();
                    let wait = Wait { at_least: 1, timeout_ns: PATIENCE_NS };
                    self.reap(wait).iter().for_each(|done| results[position[done.slot as usize]] = done.result);
                    continue;
                }
                match self.submit(op) {
                    Submission::Accepted => position[op.slot as usize] = index,
                    Submission::Refused(errno) => results[index] = -errno,
                    Submission::Full => {
                        assert!(self.in_flight() > 0, "Full with nothing in flight");
                        self.drain().iter().for_each(|done| results[position[done.slot as usize]] = done.result);
                        continue;
                    }
                }
                break;
            }
        }
        self.drain().iter().for_each(|done| results[position[done.slot as usize]] = done.result);
        results
    }

    /// Fails unless `result` is that of an operation that moved or pretended to move `BLOCK` bytes.
    pub(super) fn assert_done(&self, result: i32) {
        let capabilities = E::DESCRIPTION.capabilities;
        match capabilities.files {
            files if holds_data(files) && capabilities.moves_data => assert_eq!(result, BLOCK as i32),
            FileUse::Descriptors
            | FileUse::Devices
            | FileUse::DeviceNamedBy(_)
            | FileUse::Objects
            | FileUse::Nothing => {
                assert!(result >= 0, "failed with {result}")
            }
            // Whether creating or deleting these paths succeeds depends on the engine.
            FileUse::Paths => {}
        }
    }

    fn lane(&mut self) -> &mut E::Lane {
        self.lane.as_mut().expect("an open lane")
    }

    fn collect(&mut self, wait: Wait, fused: bool) -> Vec<Completion> {
        let Rig { lane, out, in_lane, .. } = self;
        let lane = lane.as_mut().expect("an open lane");
        out.clear();
        let room = out.room_left();
        let answer = if fused { lane.flush_and_reap(wait, out) } else { lane.reap(wait, out) };
        let count = answer.unwrap_or_else(|error| panic!("reap: {error:?}"));
        assert_eq!(count, out.as_slice().len(), "reap returns how many completions it appended");
        assert!(count <= room, "{count} completions do not fit the room for {room}");
        for done in out.as_slice() {
            let slot = done.slot as usize;
            assert!(slot < in_lane.len(), "{done:?} names a slot that was never there");
            assert!(in_lane[slot], "{done:?} names a slot that is the loop's");
            in_lane[slot] = false;
        }
        out.as_slice().to_vec()
    }
}

/// Whether the lane keeps what is written.
pub(super) fn holds_data(files: FileUse) -> bool {
    matches!(files, FileUse::Descriptors | FileUse::Objects) || files.is_devices()
}

fn open_lane<E: Engine>(
    setup: &ConformanceSetup,
    depth: usize,
    pool: &SlotPool,
    scratch: &Scratch,
) -> Result<E::Lane, OpenError> {
    let request = LaneRequest {
        files: &scratch.targets,
        depth,
        buffers: pool.view(),
        options: &setup.options,
        direct: setup.direct,
        seed: 1,
        worker: 0,
    };
    E::open(&request)
}
