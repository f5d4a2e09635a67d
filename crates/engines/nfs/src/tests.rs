//! The engine on a library of its own (`tests/mock.c`), which keeps data in files of this machine
//! and misbehaves on demand: the conformance suite, and what becomes of each misdeed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use iolab_engine::conformance::{ConformanceSetup, Value};
use iolab_engine::{
    Completions, Engine, Lane, LaneRequest, Op, OpKind, OpenError, SlotPool, Submission, TargetFile, Wait,
};
use iolab_memory::Backing;

use crate::Nfs;

/// Loads the mock. The loader then finds it by its name when the engine asks for libnfs.
fn load() {
    static LOADED: OnceLock<()> = OnceLock::new();
    LOADED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mock.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/mock.c");
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wl,-soname,libnfs.so.13", "-o"])
            .args([&file, &source])
            .status();
        assert!(compiler.is_ok_and(|status| status.success()), "the C compiler, which Rust links with");
        let name: &'static str = Box::leak(file.display().to_string().into_boxed_str());
        iolab_c_library::CLibrary::load(name).unwrap();
    });
}

fn setup(mode: &str) -> ConformanceSetup {
    load();
    ConformanceSetup::default().option("nfs_url", Value::Text(format!("nfs://mock/{mode}")))
}

iolab_engine::conformance_suite!(conformance, Nfs, setup("good"));
iolab_engine::conformance_suite!(several_connections, Nfs, setup("good").option("nfs_connections", Value::Integer(3)));

const BLOCK: usize = 4096;
const DEPTH: usize = 8;

/// A lane on one file of eight blocks, each full of its number from 1 on.
struct Bench {
    lane: Option<crate::NfsLane>,
    pool: SlotPool,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn open(setup: &ConformanceSetup, name: Option<&str>) -> Result<Bench, OpenError> {
    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..DEPTH * BLOCK).map(|at| (at / BLOCK + 1) as u8).collect();
    let path = folder.path().join(name.unwrap_or("data"));
    std::fs::write(folder.path().join("data"), content).unwrap();
    let pool = SlotPool::new(DEPTH, BLOCK, 0, &Backing::Anonymous).unwrap();
    let files = [TargetFile { path: path.clone(), fd: -1, size_bytes: 0, is_block_device: false }];
    let request = LaneRequest {
        files: &files,
        depth: DEPTH,
        buffers: pool.view(),
        options: &setup.options,
        direct: false,
        seed: 1,
        worker: 0,
    };
    Ok(Bench { lane: Some(Nfs::open(&request)?), pool, path, _folder: folder })
}

impl Bench {
    fn lane(&mut self) -> &mut crate::NfsLane {
        self.lane.as_mut().unwrap()
    }

    fn submit(&mut self, kind: OpKind, slot: usize) -> Submission {
        let (offset, length) = ((slot * BLOCK) as u64, BLOCK as u32);
        self.lane().submit(&Op { offset, length, buffer_offset: 0, file: 0, slot: slot as u16, kind, priority: 0 })
    }

    /// Results by slot of an operation in each, or the errno of its refusal, negative.
    fn all(&mut self, kind: OpKind) -> Vec<i32> {
        let mut results = vec![i32::MIN; DEPTH];
        let mut expected = 0;
        for (slot, result) in results.iter_mut().enumerate() {
            match self.submit(kind, slot) {
                Submission::Accepted => expected += 1,
                Submission::Refused(errno) => *result = -errno,
                Submission::Full => panic!("full"),
            }
        }
        let mut out = Completions::with_room(DEPTH);
        let found = self.lane().flush_and_reap(Wait { at_least: expected, timeout_ns: u64::MAX }, &mut out).unwrap();
        assert_eq!(found, expected, "no operation is lost, none comes twice");
        for done in out.as_slice() {
            assert_eq!(results[done.slot as usize], i32::MIN, "one result for each");
            results[done.slot as usize] = done.result;
        }
        let more = self.lane().reap(Wait::POLL, &mut Completions::with_room(DEPTH)).unwrap();
        assert_eq!(more, 0);
        results
    }

    fn first_byte(&mut self, slot: usize) -> u8 {
        self.pool.slot_mut(slot)[0]
    }

    fn notes(&self) -> String {
        self.lane.as_ref().unwrap().notes().join("\n")
    }
}

#[test]
fn each_misdeed_of_the_library_has_its_errno_and_text() {
    let whole = BLOCK as i32;
    // What the library does, what becomes of reads, and what is told.
    let table = [
        ("good", whole, ""),
        ("short", whole / 2, ""),
        ("twice", whole, ""),
        ("huge", whole, ""),
        ("error", -libc::EIO, "planted error"),
        ("closed", -libc::ECONNRESET, "the connection is gone: the server has closed it"),
        ("silent", -libc::ETIMEDOUT, "the connection is gone: the server is silent"),
    ];
    for (mode, result, text) in table {
        let setup = setup(mode).option("nfs_timeout", Value::Time(50_000_000));
        let mut bench = open(&setup, None).unwrap();
        assert_eq!(bench.all(OpKind::Read), [result; DEPTH], "{mode}");
        if result == whole {
            assert!((0..DEPTH).all(|slot| bench.first_byte(slot) == slot as u8 + 1), "{mode}: the data");
        }
        // What follows goes the same way, though a connection that is gone refuses it at once.
        assert_eq!(bench.all(OpKind::Write), [result; DEPTH], "{mode}");
        assert!(
            bench.notes().contains(text) && bench.notes().is_empty() == text.is_empty(),
            "{mode}: {}",
            bench.notes()
        );
    }
}

#[test]
fn a_lane_that_is_dropped_with_operations_in_flight_is_called_back_and_nothing_happens() {
    for mode in ["good", "silent", "twice"] {
        let mut bench = open(&setup(mode), None).unwrap();
        assert!((0..DEPTH).all(|slot| bench.submit(OpKind::Read, slot) == Submission::Accepted));
        bench.lane = None;
        assert!((0..DEPTH).all(|slot| bench.first_byte(slot) == 0), "{mode}: nothing was written after the end");
    }
}

#[test]
fn a_file_that_is_not_there_is_made_by_the_first_write() {
    let mut bench = open(&setup("good"), Some("new")).unwrap();
    assert_eq!(bench.all(OpKind::Read), [-libc::ENOENT; DEPTH]);
    assert!(!bench.path.exists());
    assert_eq!(bench.all(OpKind::Trim), [-libc::EOPNOTSUPP; DEPTH]);
    assert_eq!(bench.all(OpKind::Write), [BLOCK as i32; DEPTH]);
    assert_eq!(bench.path.metadata().unwrap().len(), (DEPTH * BLOCK) as u64);
    assert_eq!(bench.all(OpKind::Sync), [0; DEPTH]);
}

#[test]
fn what_cannot_be_opened_is_told() {
    load();
    let url = |text: &str| ConformanceSetup::default().option("nfs_url", Value::Text(text.to_owned()));
    let table = [
        (ConformanceSetup::default(), libc::EINVAL, "write nfs_url=nfs://HOST/EXPORT"),
        (url("http://mock/good"), libc::EINVAL, "this is no URL of NFS"),
        (url("nfs://mock/"), libc::EINVAL, "nfs://mock/: it cannot be read: the mock's text"),
        (url("nfs://mo\0ck/"), libc::EINVAL, "has a zero byte"),
        (url("nfs://mock/refused"), libc::EACCES, "nfs://mock/refused: cannot mount it: planted refusal"),
    ];
    for (setup, errno, text) in table {
        let error = open(&setup, None).map(|_| ()).unwrap_err();
        assert!(error.message.contains(text) && error.errno == Some(errno), "{}", error.message);
    }
}

#[test]
fn files_of_somebody_else_are_not_written_to() {
    use std::os::unix::fs::PermissionsExt;
    let options = setup("good").options;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs");
    let judged = |allowed: &[PathBuf]| Nfs::overwrite_refusal(&path, &options, "j", allowed);
    assert_eq!(judged(&[]), None, "it is not there");
    std::fs::write(&path, "").unwrap();
    assert_eq!(judged(&[]), None, "it is empty");
    std::fs::write(&path, "theirs").unwrap();
    let said = judged(&[]).unwrap();
    assert!(said.contains("holds 6 bytes and was not made by iolab; job j would overwrite it"), "{said}");
    assert_eq!(judged(std::slice::from_ref(&path)), None, "it is allowed");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o1644)).unwrap();
    assert_eq!(judged(&[]), None, "it has the mark");
}
