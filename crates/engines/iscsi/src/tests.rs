//! The engine on a library of its own (`tests/mock.c`), which keeps units in files of this machine
//! and misbehaves on demand: the conformance suite, and what becomes of each misdeed.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use iolab_engine::conformance::{ConformanceSetup, Value};
use iolab_engine::{
    Completions, Engine, Lane, LaneRequest, Op, OpKind, OpenError, SlotPool, Submission, TargetFile, Wait,
};
use iolab_memory::Backing;

use crate::Iscsi;

/// Loads the mock. The loader then finds it by its name when the engine asks for libiscsi.
fn load() {
    static LOADED: OnceLock<()> = OnceLock::new();
    LOADED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mock.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/mock.c");
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wl,-soname,libiscsi.so.7", "-o"])
            .args([&file, &source])
            .status();
        assert!(compiler.is_ok_and(|status| status.success()), "the C compiler, which Rust links with");
        let name: &'static str = Box::leak(file.display().to_string().into_boxed_str());
        iolab_c_library::CLibrary::load(name).unwrap();
    });
}

fn setup() -> ConformanceSetup {
    load();
    ConformanceSetup::default().device(|path, _| format!("iscsi://good/{}/1", path.display()))
}

iolab_engine::conformance_suite!(conformance, Iscsi, setup());

const BLOCK: usize = 4096;
const DEPTH: usize = 8;

/// A lane on a unit of eight blocks, each full of its number from 1 on.
struct Bench {
    lane: Option<crate::IscsiLane>,
    pool: SlotPool,
    _folder: tempfile::TempDir,
}

fn open(mode: &str, setup: &ConformanceSetup) -> Result<Bench, OpenError> {
    load();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("unit");
    std::fs::write(&file, (0..DEPTH * BLOCK).map(|at| (at / BLOCK + 1) as u8).collect::<Vec<_>>()).unwrap();
    let pool = SlotPool::new(DEPTH, BLOCK, 0, &Backing::Anonymous).unwrap();
    let path = format!("iscsi://{mode}/{}/1", file.display()).into();
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
    Ok(Bench { lane: Some(Iscsi::open(&request)?), pool, _folder: folder })
}

impl Bench {
    /// Results by slot of an operation in each, or the errno of its refusal, negative.
    fn all(&mut self, kind: OpKind) -> Vec<i32> {
        let mut results = vec![i32::MIN; DEPTH];
        let mut expected = 0;
        for (slot, result) in results.iter_mut().enumerate() {
            let (offset, length) = ((slot * BLOCK) as u64, BLOCK as u32);
            let op = Op { offset, length, buffer_offset: 0, file: 0, slot: slot as u16, kind, priority: 0 };
            match self.lane.as_mut().unwrap().submit(&op) {
                Submission::Accepted => expected += 1,
                Submission::Refused(errno) => *result = -errno,
                Submission::Full => panic!("full"),
            }
        }
        let mut out = Completions::with_room(DEPTH);
        let found = self
            .lane
            .as_mut()
            .unwrap()
            .flush_and_reap(Wait { at_least: expected, timeout_ns: u64::MAX }, &mut out)
            .unwrap();
        assert_eq!(found, expected, "no operation is lost, none comes twice");
        for done in out.as_slice() {
            assert_eq!(results[done.slot as usize], i32::MIN, "one result for each");
            results[done.slot as usize] = done.result;
        }
        assert_eq!(self.lane.as_mut().unwrap().reap(Wait::POLL, &mut Completions::with_room(DEPTH)).unwrap(), 0);
        results
    }
}

#[test]
fn each_misdeed_of_the_library_has_its_errno_and_text() {
    let whole = BLOCK as i32;
    // What the library does, what becomes of operations, and what is told.
    let table = [
        ("good", whole, ""),
        ("twice", whole, ""),
        ("busy", -libc::EBUSY, "SCSI status 0x8: planted error"),
        ("lying", -libc::EBUSY, "SCSI status 0x8: planted error"),
        ("sense", -libc::EREMOTEIO, "SCSI status 0x2: planted error"),
        ("taskless", -libc::ENOMEM, ""),
        ("closed", -libc::ECONNRESET, "the session is gone: planted error"),
        ("silent", -libc::ETIMEDOUT, "the session is gone: the target is silent"),
    ];
    for (mode, result, text) in table {
        let setup = ConformanceSetup::default().option("iscsi_timeout", Value::Time(50_000_000));
        let mut bench = open(mode, &setup).unwrap();
        assert_eq!(bench.all(OpKind::Read), [result; DEPTH], "{mode}");
        if result == whole {
            assert!((0..DEPTH).all(|slot| bench.pool.slot_mut(slot)[0] == slot as u8 + 1), "{mode}: the data");
        }
        // What follows goes the same way, though a session that is gone refuses it at once.
        assert_eq!(bench.all(OpKind::Write), [result; DEPTH], "{mode}");
        let told = bench.lane.as_ref().unwrap().notes().join("\n");
        assert!(told.contains(text) && told.is_empty() == text.is_empty(), "{mode}: {told}");
    }
}

#[test]
fn a_lane_that_is_dropped_with_operations_in_flight_is_called_back_and_nothing_happens() {
    for mode in ["good", "silent", "twice", "closed"] {
        let mut bench = open(mode, &ConformanceSetup::default()).unwrap();
        let op =
            Op { offset: 0, length: BLOCK as u32, buffer_offset: 0, file: 0, slot: 3, kind: OpKind::Read, priority: 0 };
        assert_eq!(bench.lane.as_mut().unwrap().submit(&op), Submission::Accepted, "{mode}");
        bench.lane = None;
    }
}

#[test]
fn what_cannot_be_opened_is_told() {
    let table = [("refused", "cannot log in: planted refusal"), ("blockless", "it has blocks of 1000 bytes")];
    for (mode, text) in table {
        let error = open(mode, &ConformanceSetup::default()).map(|_| ()).unwrap_err();
        assert!(error.message.contains(text), "{}", error.message);
    }
}
