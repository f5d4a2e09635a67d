//! The promises, checked with the library of this machine. If there is none, each test says so and
//! proves nothing; with `IOLAB_REQUIRE_ROCKSDB` set, that is a failure.

use iolab_kv::conformance::{self, Setup};
use iolab_kv::{Durability, ErrorKind, Existing, Maintenance, OpenRequest, StoreKind};

use crate::RocksDb;

fn is_here() -> bool {
    match RocksDb.version() {
        Ok(_) => true,
        Err(error) => {
            assert!(std::env::var_os("IOLAB_REQUIRE_ROCKSDB").is_none(), "{error}");
            eprintln_once(&error.to_string());
            false
        }
    }
}

#[allow(clippy::print_stderr, reason = "a test that proves nothing says so")]
fn eprintln_once(text: &str) {
    eprintln!("skipped: {text}");
}

macro_rules! checks {
    ($setup:expr, $module:ident: $($check:ident)*) => {
        mod $module {
            use super::*;

            $(#[test]
            fn $check() {
                if is_here() {
                    conformance::$check(&RocksDb, &$setup);
                }
            })*
        }
    };
}

macro_rules! all_checks {
    ($module:ident, $setup:expr) => {
        checks!($setup, $module:
            description_is_well_formed
            random_operations_agree_with_the_model
            batches_keep_their_order
            every_length_is_kept
            a_cursor_goes_both_ways
            a_cursor_seeks_beside_keys
            a_cursor_keeps_what_it_saw
            threads_do_not_disturb_each_other
            readers_never_see_half_a_write
            existing_stores_are_used_as_told
            other_folders_are_left_alone
            two_cannot_open_one
            wrong_options_are_refused
            destroy_takes_only_what_it_owns
        );
    };
}

all_checks!(defaults, Setup::default());
all_checks!(
    small_and_counted,
    Setup {
        options: "write_buffer_size=16K;compression=kNoCompression;enable_pipelined_write=true;statistics=1",
        ..Setup::default()
    }
);

fn open(folder: &std::path::Path, options: &str) -> Box<dyn iolab_kv::Store> {
    RocksDb.open(&OpenRequest { folder, options, existing: Existing::Either }).unwrap()
}

#[test]
fn facts_and_figures_are_the_librarys() {
    if !is_here() {
        return;
    }
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("store");
    let store = open(
        &folder,
        "statistics=1;perf_level=5;compression=kNoCompression;block_based_table_factory={block_cache=1M}",
    );
    let facts = store.facts();
    assert_eq!(facts.compression.as_deref(), Some("none"));
    assert_eq!((facts.cache_bytes, facts.direct_reads), (Some(1 << 20), Some(false)));
    assert!(facts.version.split('.').count() == 3 && facts.options.contains("rocksdb_version="), "{}", facts.version);
    let before = store.figures();
    store.property("perf-context").unwrap();
    for number in 0..1000_u32 {
        store.put(&number.to_be_bytes(), &[7; 100], Durability::Logged).unwrap();
    }
    store.maintain(Maintenance::Flush).unwrap();
    assert!(store.get(&5_u32.to_be_bytes(), &mut |value| assert_eq!(value, [7; 100])).unwrap());
    let figures = store.figures().since(&before);
    let user = figures.user_bytes.unwrap();
    // The library counts its batches, which have a head each.
    assert!((104_000..130_000).contains(&user), "{figures:?}");
    assert!(figures.log_bytes.unwrap() >= user && figures.flush_bytes.unwrap() > 100_000, "{figures:?}");
    assert_eq!(figures.keys, Some(1000));
    assert!(figures.write_amplification().unwrap() > 1.5);
    assert!(store.property("perf-context").unwrap().contains("get_from_output_files_time"));
    assert!(store.property("stats").unwrap().contains("Cumulative writes"));
    assert_eq!(store.property("no such property"), None);
}

#[test]
fn a_damaged_store_is_told_from_a_wrong_folder() {
    if !is_here() {
        return;
    }
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("store");
    let store = open(&folder, "");
    store.put(b"key", b"value", Durability::Synced).unwrap();
    store.close().unwrap();
    let manifest = std::fs::read_to_string(folder.join("CURRENT")).unwrap();
    let manifest = folder.join(manifest.trim());
    let bytes = std::fs::read(&manifest).unwrap();
    std::fs::write(&manifest, vec![b'x'; bytes.len()]).unwrap();
    let request = OpenRequest { folder: &folder, options: "", existing: Existing::Required };
    let error = RocksDb.open(&request).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Corrupt, "{error}");
    assert!(error.message.contains("ldb repair"), "{error}");
    std::fs::write(&manifest, bytes).unwrap();
    let store = RocksDb.open(&request).unwrap();
    assert!(store.get(b"key", &mut |value| assert_eq!(value, b"value")).unwrap());
}

#[test]
fn a_compression_that_is_not_linked_in_is_an_option_refused() {
    if !is_here() {
        return;
    }
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("store");
    let request =
        OpenRequest { folder: &folder, options: "compression=kXpressCompression", existing: Existing::Either };
    let error = RocksDb.open(&request).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Option, "{error}");
}

#[test]
fn only_its_own_names_are_its_own() {
    for name in ["CURRENT", "LOCK", "LOG", "LOG.old.1699", "MANIFEST-000005", "OPTIONS-000007", "000004.log", "17.sst"]
    {
        assert!(RocksDb.owns(name), "{name}");
    }
    for name in ["notes.log", "a.sst", "MANIFEST-", "MANIFEST-x", "LOG.old", "log", "current", "000004.txt"] {
        assert!(!RocksDb.owns(name), "{name}");
    }
}

/// Whether the library that it needs is there or not: each time a sentence that says what to do.
#[test]
fn files_elsewhere_need_a_library_and_an_image() {
    if !is_here() {
        return;
    }
    let options = "filesystem=logfs:/nowhere/image";
    let request = OpenRequest { folder: std::path::Path::new("/db"), options, existing: Existing::Either };
    let error = RocksDb.open(&request).map(drop).unwrap_err();
    let advice = if error.kind == ErrorKind::NotInstalled { "--features shim" } else { "iolab fs mkfs" };
    assert!(error.message.contains(advice), "{error}");
}
