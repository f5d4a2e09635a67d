//! The engines on libraries of its own (`tests/mock.c`), which keep images in files of this machine
//! and misbehave on demand: the conformance suite, and what becomes of each misdeed.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use iolab_engine::conformance::{BENCH_BLOCK, BENCH_DEPTH, ConformanceSetup, LaneBench, Value, numbered_blocks};
use iolab_engine::{Engine, LaneError, OpKind, OpenError};
use tempfile::TempDir;

use crate::{RadosObjects, Rbd};

/// Loads the mocks. The loader then finds them by their names when the engine asks for Ceph's.
fn load() {
    static LOADED: OnceLock<()> = OnceLock::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/mock.c");
    LOADED.get_or_init(|| iolab_c_library::load_substitute(&source, &["librados.so.2", "librbd.so.1"]));
}

fn setup() -> ConformanceSetup {
    load();
    ConformanceSetup::default().device(|path, _| format!("good:{}", path.display()))
}

iolab_engine::conformance_suite!(conformance, Rbd, setup());
iolab_engine::conformance_suite!(objects, RadosObjects, objects("good", true));
iolab_engine::conformance_suite!(objects_busy_polling, RadosObjects, objects("good", false).flag("busy_poll", true));
iolab_engine::conformance_suite!(busy_polling, Rbd, setup().flag("busy_poll", true));

/// Objects of a pool that is named as the mode.
fn objects(mode: &str, touches: bool) -> ConformanceSetup {
    load();
    let setup = ConformanceSetup::default().option("pool", Value::Text(mode.to_owned()));
    setup.flag("touch_objects", touches)
}

/// A lane on an image or an object; `prefix` precedes the name of its file, which is in the folder.
fn open<E: Engine>(prefix: &str, setup: &ConformanceSetup) -> Result<(LaneBench<E>, TempDir), OpenError> {
    load();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("image");
    std::fs::write(&file, numbered_blocks()).unwrap();
    let path = format!("{prefix}{}", file.display()).into();
    Ok((LaneBench::open(path, 0, &setup.options)?, folder))
}

#[test]
fn each_misdeed_of_the_library_has_its_errno() {
    let whole = BENCH_BLOCK as i32;
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
        let (mut bench, _folder) = open::<Rbd>(&format!("{mode}:"), &ConformanceSetup::default()).unwrap();
        assert_eq!(bench.all(OpKind::Read).unwrap(), [read; BENCH_DEPTH], "{mode}");
        if read == whole {
            assert!(bench.has_numbers(), "{mode}: the data");
        }
        assert_eq!(bench.all(OpKind::Write).unwrap(), [written; BENCH_DEPTH], "{mode}");
        assert_eq!(bench.all(OpKind::Sync).unwrap(), [written.min(0); BENCH_DEPTH], "{mode}");
    }
}

#[test]
fn a_library_that_hands_nothing_out_breaks_the_lane_and_the_end_is_reached() {
    let (mut bench, _folder) = open::<Rbd>("fails:", &ConformanceSetup::default()).unwrap();
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
        let error = open::<Rbd>("good:", &setup).map(|_| ()).unwrap_err();
        assert!(error.message.contains(text) && error.errno == Some(errno), "{}", error.message);
    }
}

#[test]
fn each_misdeed_beneath_objects_has_its_errno() {
    let whole = BENCH_BLOCK as i32;
    let table = [
        ("good", whole, whole),
        ("short", whole / 2, whole),
        ("twice", whole, whole),
        ("huge", whole, whole),
        ("error", -libc::EIO, -libc::EIO),
        ("refused", -libc::EBUSY, -libc::EBUSY),
    ];
    for (mode, read, written) in table {
        let (mut bench, _folder) = open::<RadosObjects>("", &objects(mode, true)).unwrap();
        assert_eq!(bench.all(OpKind::Read).unwrap(), [read; BENCH_DEPTH], "{mode}");
        if read == whole {
            assert!(bench.has_numbers(), "{mode}: the data");
        }
        assert_eq!(bench.all(OpKind::Write).unwrap(), [written; BENCH_DEPTH], "{mode}");
        assert_eq!(bench.all(OpKind::Sync).unwrap(), [written.min(0); BENCH_DEPTH], "{mode}");
    }
    let error = open::<RadosObjects>("", &objects("none", true)).map(|_| ()).unwrap_err();
    assert!(error.message.contains("pool none: No such file"), "{}", error.message);
}

#[test]
fn an_object_that_is_trimmed_to_its_end_keeps_its_size() {
    let (mut bench, _folder) = open::<RadosObjects>("", &objects("good", true)).unwrap();
    for kind in [OpKind::Trim, OpKind::Read] {
        let moved = if kind == OpKind::Read { BENCH_BLOCK as i32 } else { 0 };
        assert_eq!(bench.all(kind).unwrap(), [moved; BENCH_DEPTH]);
    }
    assert_eq!(bench.first_bytes(), [0; BENCH_DEPTH]);
}

#[test]
fn only_objects_of_others_that_hold_data_are_refused() {
    let setup = objects("good", true);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let refused =
        |path: &PathBuf, allowed: &[PathBuf]| RadosObjects::overwrite_refusal(path, &setup.options, "j", allowed);
    let theirs = place("theirs");
    std::fs::write(&theirs, "data").unwrap();
    std::fs::write(place("empty"), "").unwrap();
    let said = refused(&theirs, &[]).unwrap();
    assert!(said.contains("holds 4 bytes and was not made by iolab; job j would overwrite it"), "{said}");
    assert_eq!(refused(&theirs, std::slice::from_ref(&theirs)), None);
    // What a lane makes, or finds empty, is iolab's afterwards; what holds data stays as it is.
    for name in ["made", "empty", "theirs"] {
        let mut bench = LaneBench::<RadosObjects>::open(place(name), 9, &setup.options).unwrap();
        assert_eq!(bench.notes().is_empty(), name == "theirs", "{name}");
        assert_eq!(std::fs::metadata(place(name)).unwrap().len(), if name == "theirs" { 4 } else { 9 }, "{name}");
        std::fs::write(place(name), "more").unwrap();
        assert_eq!(refused(&place(name), &[]).is_some(), name == "theirs", "{name}");
    }
}
