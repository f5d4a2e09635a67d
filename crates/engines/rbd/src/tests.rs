//! The engine on libraries of its own (`tests/mock.c`), which keep images in files of this machine
//! and misbehave on demand: the conformance suite, and what becomes of each misdeed.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use iolab_engine::conformance::{ConformanceSetup, Value};
use iolab_engine::{
    Completions, Engine, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, SlotPool, Submission, TargetFile, Wait,
};
use iolab_memory::Backing;

use crate::Rbd;

/// Loads the mocks. The loader then finds them by their names when the engine asks for Ceph's.
fn load() {
    static LOADED: OnceLock<()> = OnceLock::new();
    LOADED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/mock.c");
        for name in ["librados.so.2", "librbd.so.1"] {
            let file = folder.path().join(name);
            let compiler = Command::new("cc")
                .args(["-shared", "-fPIC", "-O1", &format!("-Wl,-soname,{name}"), "-o"])
                .args([&file, &source])
                .status();
            assert!(compiler.is_ok_and(|status| status.success()), "the C compiler, which Rust links with");
            let path: &'static str = Box::leak(file.display().to_string().into_boxed_str());
            iolab_c_library::CLibrary::load(path).unwrap();
        }
    });
}

fn setup() -> ConformanceSetup {
    load();
    ConformanceSetup::default().device(|path, _| format!("good:{}", path.display()))
}

iolab_engine::conformance_suite!(conformance, Rbd, setup());
iolab_engine::conformance_suite!(busy_polling, Rbd, setup().flag("busy_poll", true));

const BLOCK: usize = 4096;
const DEPTH: usize = 8;

/// A lane on an image of eight blocks, each full of its number from 1 on.
struct Bench {
    lane: crate::RbdLane,
    pool: SlotPool,
    _folder: tempfile::TempDir,
}

fn open(mode: &str, setup: &ConformanceSetup) -> Result<Bench, OpenError> {
    load();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("image");
    std::fs::write(&file, (0..DEPTH * BLOCK).map(|at| (at / BLOCK + 1) as u8).collect::<Vec<_>>()).unwrap();
    let pool = SlotPool::new(DEPTH, BLOCK, 0, &Backing::Anonymous).unwrap();
    let path = format!("{mode}:{}", file.display()).into();
    let files = [TargetFile { path, fd: -1, size_bytes: 0, is_block_device: false }];
    let request = LaneRequest {
        files: &files,
        depth: DEPTH,
        buffers: pool.view(),
        options: &setup.options,
        direct: false,
        seed: 1,
        worker: 0,
    };
    Ok(Bench { lane: Rbd::open(&request)?, pool, _folder: folder })
}

impl Bench {
    /// Results by slot of an operation in each, or the errno of its refusal, negative.
    fn all(&mut self, kind: OpKind) -> Result<Vec<i32>, LaneError> {
        let mut results = vec![i32::MIN; DEPTH];
        let mut expected = 0;
        for (slot, result) in results.iter_mut().enumerate() {
            let (offset, length) = ((slot * BLOCK) as u64, BLOCK as u32);
            let op = Op { offset, length, buffer_offset: 0, file: 0, slot: slot as u16, kind, priority: 0 };
            match self.lane.submit(&op) {
                Submission::Accepted => expected += 1,
                Submission::Refused(errno) => *result = -errno,
                Submission::Full => panic!("full"),
            }
        }
        let mut out = Completions::with_room(DEPTH);
        let found = self.lane.flush_and_reap(Wait { at_least: expected, timeout_ns: u64::MAX }, &mut out)?;
        assert_eq!(found, expected, "no operation is lost, none comes twice");
        for done in out.as_slice() {
            assert_eq!(results[done.slot as usize], i32::MIN, "one result for each");
            results[done.slot as usize] = done.result;
        }
        assert_eq!(self.lane.reap(Wait::POLL, &mut Completions::with_room(DEPTH))?, 0);
        Ok(results)
    }
}

#[test]
fn each_misdeed_of_the_library_has_its_errno() {
    let whole = BLOCK as i32;
    // What the library does, and what becomes of reads and of writes.
    let table = [
        ("good", whole, whole),
        ("short", whole / 2, whole),
        ("twice", whole, whole),
        ("stranger", whole, whole),
        ("huge", whole, whole),
        ("error", -libc::EIO, -libc::EIO),
        ("refused", -libc::EBUSY, -libc::EBUSY),
    ];
    for (mode, read, written) in table {
        let mut bench = open(mode, &ConformanceSetup::default()).unwrap();
        assert_eq!(bench.all(OpKind::Read).unwrap(), [read; DEPTH], "{mode}");
        if read == whole {
            assert!((0..DEPTH).all(|slot| bench.pool.slot_mut(slot)[0] == slot as u8 + 1), "{mode}: the data");
        }
        assert_eq!(bench.all(OpKind::Write).unwrap(), [written; DEPTH], "{mode}");
        assert_eq!(bench.all(OpKind::Sync).unwrap(), [written.min(0); DEPTH], "{mode}");
    }
}

#[test]
fn a_library_that_hands_nothing_out_breaks_the_lane_and_the_end_is_reached() {
    let mut bench = open("fails", &ConformanceSetup::default()).unwrap();
    let error = bench.all(OpKind::Read).unwrap_err();
    assert_eq!(error, LaneError { call: "rbd_poll_io_events", errno: libc::EBADF });
}

#[test]
fn what_cannot_be_opened_is_told() {
    let option = |name: &str, text: &str| ConformanceSetup::default().option(name, Value::Text(text.to_owned()));
    let table = [
        (option("clientname", "nobody"), libc::EACCES, "rbd: client nobody: Permission denied"),
        (option("pool", "none"), libc::ENOENT, "rbd: pool none: No such file"),
        (option("pool", "a\0b"), libc::EINVAL, "has a zero byte"),
    ];
    for (setup, errno, text) in table {
        let error = open("good", &setup).map(|_| ()).unwrap_err();
        assert!(error.message.contains(text) && error.errno == Some(errno), "{}", error.message);
    }
}
