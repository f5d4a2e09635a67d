//! The engines on a library of its own (`tests/mock.c`), which keeps files on this machine and
//! misbehaves on demand: the conformance suite, and what becomes of each misdeed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use iolab_engine::conformance::{BENCH_BLOCK, BENCH_DEPTH, ConformanceSetup, LaneBench, Value, numbered_blocks};
use iolab_engine::{Engine, OpKind};

use crate::{Gfapi, GfapiAsync};

/// Loads the mock. The loader then finds it by its name when the engine asks for Gluster's.
fn load() {
    static LOADED: OnceLock<()> = OnceLock::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/mock.c");
    LOADED.get_or_init(|| iolab_c_library::load_substitute(&source, &["libgfapi.so.0"]));
}

fn volume(mode: &str) -> ConformanceSetup {
    load();
    ConformanceSetup::default().option("volume", Value::Text(mode.to_owned()))
}

iolab_engine::conformance_suite!(calls, Gfapi, volume("good"));
iolab_engine::conformance_suite!(callbacks, GfapiAsync, volume("good"));

fn misdeeds<E: Engine>() {
    let whole = BENCH_BLOCK as i32;
    for (mode, expected) in [
        ("good", whole),
        ("short", whole / 2),
        ("twice", whole),
        ("huge", whole),
        ("error", -libc::EIO),
        ("refused", -libc::EBUSY),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, numbered_blocks()).unwrap();
        let mut bench = LaneBench::<E>::open(path, 0, &volume(mode).options).unwrap();
        assert_eq!(bench.all(OpKind::Read).unwrap(), [expected; BENCH_DEPTH], "{mode}");
        if expected == whole {
            assert!(bench.has_numbers(), "{mode}: the data");
        }
        assert_eq!(bench.all(OpKind::Write).unwrap(), [expected; BENCH_DEPTH], "{mode}");
        assert_eq!(bench.all(OpKind::Sync).unwrap(), [expected.min(0); BENCH_DEPTH], "{mode}");
    }
    let error = LaneBench::<E>::open("/nowhere".into(), 0, &volume("none").options).map(|_| ()).unwrap_err();
    assert!(error.message.contains("volume none of localhost:24007: No such file"), "{}", error.message);
}

#[test]
fn each_misdeed_of_the_library_has_its_errno() {
    misdeeds::<Gfapi>();
    misdeeds::<GfapiAsync>();
}

#[test]
fn only_files_of_others_that_hold_data_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let setup = volume("good");
    let refused =
        |name: &str, allowed: &[PathBuf]| Gfapi::overwrite_refusal(&place(name), &setup.options, "j", allowed);
    std::fs::write(place("theirs"), "data").unwrap();
    let said = refused("theirs", &[]).unwrap();
    assert!(said.contains("holds 4 bytes and was not made by iolab; job j would overwrite it"), "{said}");
    assert_eq!(refused("theirs", &[place("theirs")]), None);
    for (name, notes, bytes) in [("made", 1, 9), ("theirs", 0, 4)] {
        let mut bench = LaneBench::<GfapiAsync>::open(place(name), 9, &setup.options).unwrap();
        assert_eq!(bench.notes().lines().count(), notes, "{name}");
        assert_eq!(std::fs::metadata(place(name)).unwrap().len(), bytes, "{name}");
    }
    assert_eq!(std::fs::metadata(place("made")).unwrap().permissions().mode() & 0o7777, 0o1644);
    assert_eq!((refused("made", &[]), refused("theirs", &[]).is_some()), (None, true));
}
