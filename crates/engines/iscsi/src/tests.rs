//! The engine on a library of its own (`tests/mock.c`), which keeps units in files of this machine
//! and misbehaves on demand: the conformance suite, and what becomes of each misdeed.

use std::path::Path;
use std::sync::OnceLock;

use iolab_engine::conformance::{BENCH_BLOCK, BENCH_DEPTH, ConformanceSetup, LaneBench, Value, numbered_blocks};
use iolab_engine::{OpKind, OpenError, Submission};
use tempfile::TempDir;

use crate::Iscsi;

/// Loads the mock. The loader then finds it by its name when the engine asks for libiscsi.
fn load() {
    static LOADED: OnceLock<()> = OnceLock::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/mock.c");
    LOADED.get_or_init(|| iolab_c_library::load_substitute(&source, &["libiscsi.so.7"]));
}

fn setup() -> ConformanceSetup {
    load();
    ConformanceSetup::default().device(|path, _| format!("iscsi://good/{}/1", path.display()))
}

iolab_engine::conformance_suite!(conformance, Iscsi, setup());

/// A lane on a unit, whose file is in the folder.
fn open(mode: &str, setup: &ConformanceSetup) -> Result<(LaneBench<Iscsi>, TempDir), OpenError> {
    load();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("unit");
    std::fs::write(&file, numbered_blocks()).unwrap();
    let path = format!("iscsi://{mode}/{}/1", file.display()).into();
    Ok((LaneBench::open(path, 0, &setup.options)?, folder))
}

#[test]
fn each_misdeed_of_the_library_has_its_errno_and_text() {
    let whole = BENCH_BLOCK as i32;
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
        let (mut bench, _folder) = open(mode, &setup).unwrap();
        assert_eq!(bench.all(OpKind::Read).unwrap(), [result; BENCH_DEPTH], "{mode}");
        if result == whole {
            assert!(bench.has_numbers(), "{mode}: the data");
        }
        // What follows goes the same way, though a session that is gone refuses it at once.
        assert_eq!(bench.all(OpKind::Write).unwrap(), [result; BENCH_DEPTH], "{mode}");
        let told = bench.notes();
        assert!(told.contains(text) && told.is_empty() == text.is_empty(), "{mode}: {told}");
    }
}

#[test]
fn a_lane_that_is_dropped_with_operations_in_flight_is_called_back_and_nothing_happens() {
    for mode in ["good", "silent", "twice", "closed"] {
        let (mut bench, _folder) = open(mode, &ConformanceSetup::default()).unwrap();
        assert_eq!(bench.submit(OpKind::Read, 3), Submission::Accepted, "{mode}");
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
