//! The mmap engine on real files, whole and by windows.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use iolab_engine::{Completions, Lane, LaneRequest, Op, OpKind, OpenError, SlotPool, Submission, TargetFile, Wait};
use iolab_memory::Backing;
use iolab_options::{Setting, Settings, Value};

use crate::mmap::MmapLane;
use crate::mmap::mapped_file::WINDOW_BYTES;

const BLOCK: usize = 4096;
const BLOCKS: usize = 16;
/// Two blocks: most operations of the tests cross or move it.
const SMALL_WINDOW: u64 = 8192;

struct Rig {
    lane: MmapLane,
    pool: SlotPool,
}

fn op(kind: OpKind, offset: usize, length: usize) -> Op {
    Op { offset: offset as u64, length: length as u32, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 }
}

/// A file whose every byte tells its block.
fn numbered_file() -> File {
    let file = tempfile::tempfile().unwrap();
    for block in 0..BLOCKS {
        file.write_all_at(&[block as u8 + 1; BLOCK], (block * BLOCK) as u64).unwrap();
    }
    file
}

impl Rig {
    fn try_new(file: &File, window: u64, direct: bool, options: &Settings) -> Result<Rig, OpenError> {
        let pool = SlotPool::new(1, 4 * BLOCK, 0, &Backing::Anonymous).unwrap();
        let size_bytes = file.metadata().unwrap().len();
        let target = TargetFile { path: "mapped".into(), fd: file.as_raw_fd(), size_bytes, is_block_device: false };
        let request =
            LaneRequest { files: &[target], depth: 1, buffers: pool.view(), options, direct, seed: 0, worker: 0 };
        Ok(Rig { lane: MmapLane::open(&request, window)?, pool })
    }

    fn new(file: &File, window: u64) -> Rig {
        Rig::try_new(file, window, false, &Settings::default()).unwrap()
    }

    fn result(&mut self, op: Op) -> i32 {
        assert_eq!(self.lane.submit(&op), Submission::Accepted, "{op:?}");
        let mut out = Completions::with_room(1);
        assert_eq!(self.lane.reap(Wait::POLL, &mut out), Ok(1));
        out.as_slice()[0].result
    }
}

#[test]
fn copies_reach_the_file_whole_and_by_windows() {
    for (window, direct) in [(WINDOW_BYTES, false), (SMALL_WINDOW, false), (WINDOW_BYTES, true), (SMALL_WINDOW, true)] {
        let file = numbered_file();
        let mut rig = Rig::try_new(&file, window, direct, &Settings::default()).unwrap();
        for offset in [0, 3 * BLOCK, BLOCK + 100, 12 * BLOCK, 5 * BLOCK + 1] {
            assert_eq!(rig.result(op(OpKind::Read, offset, 3 * BLOCK)), 3 * BLOCK as i32);
            let mut expected = vec![0; 3 * BLOCK];
            file.read_exact_at(&mut expected, offset as u64).unwrap();
            assert!(rig.pool.slot_mut(0)[..3 * BLOCK] == expected, "reading {offset} by windows of {window}");
        }
        for offset in [0, 7 * BLOCK + 5] {
            rig.pool.slot_mut(0).fill(0xcc);
            assert_eq!(rig.result(op(OpKind::Write, offset, 3 * BLOCK)), 3 * BLOCK as i32);
            let mut written = vec![0; 3 * BLOCK];
            file.read_exact_at(&mut written, offset as u64).unwrap();
            assert!(written.iter().all(|&byte| byte == 0xcc), "writing {offset} by windows of {window}");
        }
        for kind in [OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange] {
            assert_eq!(rig.result(op(kind, 0, BLOCK)), 0, "{kind:?}");
        }
    }
}

#[test]
fn the_end_of_the_file_is_an_end() {
    for window in [WINDOW_BYTES, SMALL_WINDOW] {
        let file = numbered_file();
        let length = (BLOCKS - 1) * BLOCK + 500;
        file.set_len(length as u64).unwrap();
        let mut rig = Rig::new(&file, window);
        assert_eq!(rig.result(op(OpKind::Read, length - 100, BLOCK)), 100);
        assert_eq!(rig.result(op(OpKind::Write, length - 100, BLOCK)), 100);
        assert_eq!(rig.result(op(OpKind::Read, length, BLOCK)), 0);
        assert_eq!(rig.result(op(OpKind::Write, length, BLOCK)), -libc::ENOSPC);
        assert_eq!(rig.lane.submit(&Op { offset: u64::MAX, ..op(OpKind::Read, 0, 1) }), Submission::Accepted);
        assert_eq!(file.metadata().unwrap().len(), length as u64, "a mapping makes no file longer");
    }
}

#[test]
fn an_empty_file_maps_to_nothing() {
    let file = tempfile::tempfile().unwrap();
    let mut rig = Rig::new(&file, WINDOW_BYTES);
    for (kind, expected) in [(OpKind::Read, 0), (OpKind::Write, -libc::ENOSPC), (OpKind::Sync, 0)] {
        assert_eq!(rig.result(op(kind, 0, BLOCK)), expected, "{kind:?}");
    }
}

#[test]
fn trimmed_ranges_are_holes_and_read_as_zeroes() {
    let file = numbered_file();
    let mut rig = Rig::new(&file, WINDOW_BYTES);
    assert_eq!(rig.result(op(OpKind::Sync, 0, 0)), 0);
    let before = file.metadata().unwrap().blocks();
    assert_eq!(rig.result(op(OpKind::Trim, 2 * BLOCK, 4 * BLOCK)), 0);
    assert!(file.metadata().unwrap().blocks() < before);
    assert_eq!(rig.result(op(OpKind::Read, 2 * BLOCK, 4 * BLOCK)), 4 * BLOCK as i32);
    assert!(rig.pool.slot_mut(0).iter().all(|&byte| byte == 0));
}

#[test]
fn access_is_that_of_the_descriptor() {
    let named = tempfile::NamedTempFile::new().unwrap();
    named.as_file().set_len(BLOCK as u64).unwrap();
    let readonly = File::open(named.path()).unwrap();
    let mut rig = Rig::new(&readonly, WINDOW_BYTES);
    assert_eq!(rig.result(op(OpKind::Read, 0, BLOCK)), BLOCK as i32);
    assert_eq!(rig.result(op(OpKind::Write, 0, BLOCK)), -libc::EBADF);
    let writeonly = File::options().write(true).open(named.path()).unwrap();
    let mut rig = Rig::new(&writeonly, WINDOW_BYTES);
    assert_eq!(rig.result(op(OpKind::Write, 0, BLOCK)), BLOCK as i32);
    assert_eq!(rig.result(op(OpKind::Read, 0, BLOCK)), -libc::EBADF);
    assert_eq!(rig.result(op(OpKind::Trim, 0, BLOCK)), 0);
}

#[test]
fn what_cannot_be_mapped_is_said_at_once() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let request_for = |fd: i32, size_bytes: u64| {
        let target = TargetFile { path: "some/pipe".into(), fd, size_bytes, is_block_device: true };
        let options = Settings::default();
        let buffers = iolab_engine::PoolView::EMPTY;
        let request =
            LaneRequest { files: &[target], depth: 1, buffers, options: &options, direct: false, seed: 0, worker: 0 };
        MmapLane::open(&request, WINDOW_BYTES).unwrap_err()
    };
    let error = request_for(reader.as_raw_fd(), 4096);
    assert!(error.message.starts_with("mapping some/pipe: "), "{}", error.message);
    assert_eq!(error.errno, Some(libc::ENODEV));
    assert_eq!(request_for(-1, 4096).errno, Some(libc::EBADF));
}

#[test]
fn huge_page_advice_is_given_where_the_kernel_knows_it() {
    let mut options = Settings::default();
    options.set("thp", Setting { value: Value::Flag(true), text: "1".into(), source: 0, span: (0, 0) });
    match Rig::try_new(&numbered_file(), SMALL_WINDOW, false, &options) {
        Ok(mut rig) => assert_eq!(rig.result(op(OpKind::Read, 9 * BLOCK, 4 * BLOCK)), 4 * BLOCK as i32),
        Err(error) => {
            assert_eq!(error.errno, Some(libc::EINVAL), "a kernel without transparent huge pages");
            assert!(error.message.ends_with("(with thp=1; try without)"), "{}", error.message);
        }
    }
}

#[test]
fn what_somebody_cuts_off_the_file_is_an_error_and_the_rest_is_there() {
    for window in [WINDOW_BYTES, SMALL_WINDOW] {
        let file = numbered_file();
        let mut rig = Rig::new(&file, window);
        assert_eq!(rig.result(op(OpKind::Read, 8 * BLOCK, BLOCK)), BLOCK as i32);
        file.set_len(4 * BLOCK as u64).unwrap();
        for kind in [OpKind::Read, OpKind::Write] {
            assert_eq!(rig.result(op(kind, 8 * BLOCK, BLOCK)), -libc::EIO, "{kind:?} by windows of {window}");
        }
        assert_eq!(rig.result(op(OpKind::Read, BLOCK, BLOCK)), BLOCK as i32);
        assert!(rig.pool.slot_mut(0)[..BLOCK].iter().all(|byte| *byte == 2));
        assert_eq!(rig.result(op(OpKind::Write, 2 * BLOCK, BLOCK)), BLOCK as i32);
        let mut written = vec![0; BLOCK];
        file.read_exact_at(&mut written, 2 * BLOCK as u64).unwrap();
        assert!(written.iter().all(|byte| *byte == 2));
        assert_eq!(file.metadata().unwrap().len(), 4 * BLOCK as u64, "nothing was made longer");
    }
}
