//! The engine on a library of its own (`tests/mock.c`), which keeps data in files of this machine
//! and misbehaves on demand: the conformance suite, and what becomes of each misdeed.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use iolab_engine::conformance::{BENCH_BLOCK, BENCH_DEPTH, ConformanceSetup, LaneBench, Value, numbered_blocks};
use iolab_engine::{Engine, OpKind, OpenError, Submission};
use tempfile::TempDir;

use crate::Nfs;

/// Loads the mock. The loader then finds it by its name when the engine asks for libnfs.
fn load() {
    static LOADED: OnceLock<()> = OnceLock::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/mock.c");
    LOADED.get_or_init(|| iolab_c_library::load_substitute(&source, &["libnfs.so.13"]));
}

fn setup(mode: &str) -> ConformanceSetup {
    load();
    ConformanceSetup::default().option("nfs_url", Value::Text(format!("nfs://mock/{mode}")))
}

iolab_engine::conformance_suite!(conformance, Nfs, setup("good"));
iolab_engine::conformance_suite!(several_connections, Nfs, setup("good").option("nfs_connections", Value::Integer(3)));

/// A lane on a file of a folder with the file `data`.
fn open(setup: &ConformanceSetup, name: &str) -> Result<(LaneBench<Nfs>, TempDir), OpenError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), numbered_blocks()).unwrap();
    Ok((LaneBench::open(folder.path().join(name), 0, &setup.options)?, folder))
}

#[test]
fn each_misdeed_of_the_library_has_its_errno_and_text() {
    let whole = BENCH_BLOCK as i32;
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
        let (mut bench, _folder) = open(&setup, "data").unwrap();
        assert_eq!(bench.all(OpKind::Read).unwrap(), [result; BENCH_DEPTH], "{mode}");
        if result == whole {
            assert!(bench.has_numbers(), "{mode}: the data");
        }
        // What follows goes the same way, though a connection that is gone refuses it at once.
        assert_eq!(bench.all(OpKind::Write).unwrap(), [result; BENCH_DEPTH], "{mode}");
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
        let (mut bench, _folder) = open(&setup(mode), "data").unwrap();
        assert!((0..BENCH_DEPTH).all(|slot| bench.submit(OpKind::Read, slot) == Submission::Accepted));
        bench.lane = None;
        assert_eq!(bench.first_bytes(), [0; BENCH_DEPTH], "{mode}: nothing was written after the end");
    }
}

#[test]
fn a_file_that_is_not_there_is_made_by_the_first_write() {
    let (mut bench, folder) = open(&setup("good"), "new").unwrap();
    let path = folder.path().join("new");
    assert_eq!(bench.all(OpKind::Read).unwrap(), [-libc::ENOENT; BENCH_DEPTH]);
    assert!(!path.exists());
    assert_eq!(bench.all(OpKind::Trim).unwrap(), [-libc::EOPNOTSUPP; BENCH_DEPTH]);
    assert_eq!(bench.all(OpKind::Write).unwrap(), [BENCH_BLOCK as i32; BENCH_DEPTH]);
    assert_eq!(path.metadata().unwrap().len(), (BENCH_DEPTH * BENCH_BLOCK) as u64);
    assert_eq!(bench.all(OpKind::Sync).unwrap(), [0; BENCH_DEPTH]);
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
        let error = open(&setup, "data").map(|_| ()).unwrap_err();
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
