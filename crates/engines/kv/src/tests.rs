//! The suite of engines on each store, and tests of the stores' own behaviour.

use iolab_engine::conformance::{ConformanceSetup, Value};
use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, Wait};

use iolab_memory::Backing;

use crate::Kv;

fn on(store: &str) -> ConformanceSetup {
    ConformanceSetup::default().option("store", Value::Text(store.to_owned()))
}

/// A setup with its own folder: tests run concurrently, and workers that name the same folder share
/// one store.
fn alone_on(store: &str) -> ConformanceSetup {
    let folder = tempfile::tempdir().unwrap();
    let path = Value::Text(folder.path().join("store").display().to_string());
    ConformanceSetup { keeps: Some(std::sync::Arc::new(folder)), ..on(store).option("store_path", path) }
}

iolab_engine::conformance_suite!(null, Kv, super::alone_on("null"));
iolab_engine::conformance_suite!(redb, Kv, super::alone_on("redb"));

struct Bench {
    lane: crate::KvLane,
    pool: SlotPool,
}

impl Bench {
    fn new(folder: &std::path::Path, more: &[(&str, Value)]) -> Bench {
        Bench::try_new(folder, more).unwrap()
    }

    fn try_new(folder: &std::path::Path, more: &[(&str, Value)]) -> Result<Bench, iolab_engine::OpenError> {
        let path = Value::Text(folder.display().to_string());
        let mut setup = on("redb").option("store_path", path);
        for (name, value) in more {
            setup = setup.option(name, value.clone());
        }
        let pool = SlotPool::new(4, 128, 0, &Backing::Anonymous).unwrap();
        let request = LaneRequest {
            files: &[],
            depth: 4,
            buffers: pool.view(),
            options: &setup.options,
            direct: false,
            seed: 1,
            worker: 0,
        };
        Kv::open(&request).map(|lane| Bench { lane, pool })
    }

    fn op(&mut self, kind: OpKind, number: u64) -> Result<i32, i32> {
        let op = Op { offset: number * 100, length: 100, buffer_offset: 0, file: 0, slot: 1, kind, priority: 0 };
        match self.lane.submit(&op) {
            Submission::Refused(errno) => return Err(errno),
            answer => assert_eq!(answer, Submission::Accepted),
        }
        let mut out = Completions::with_room(1);
        assert_eq!(self.lane.reap(Wait::POLL, &mut out), Ok(1));
        Ok(out.as_slice()[0].result)
    }
}

#[test]
fn blocks_are_keys_and_come_back_by_get_and_by_cursor() {
    let outer = tempfile::tempdir().unwrap();
    for scan in [true, false] {
        let mut bench = Bench::new(&outer.path().join("db"), &[("kv_scan", Value::Flag(scan))]);
        for number in [0, 1, 2, 4, 5] {
            bench.pool.slot_mut(1).fill(number as u8 + 1);
            assert_eq!(bench.op(OpKind::Write, number), Ok(100));
        }
        assert_eq!(bench.op(OpKind::Trim, 5), Ok(0));
        assert_eq!(bench.op(OpKind::Sync, 0), Ok(0));
        // In order across a gap, then elsewhere, then in order again.
        for (number, byte) in [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 0), (6, 0), (1, 2), (2, 3), (0, 1)] {
            bench.pool.slot_mut(1).fill(99);
            assert_eq!(bench.op(OpKind::Read, number), Ok(100));
            assert!(bench.pool.slot_mut(1)[..100].iter().all(|one| *one == byte), "block {number}, scan {scan}");
        }
        assert!(bench.lane.notes().iter().any(|note| note.contains("redb")), "{:?}", bench.lane.notes());
    }
}

#[test]
fn lanes_of_one_folder_share_the_store_and_others_are_told_what_is_wrong() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("db");
    let mut one = Bench::new(&folder, &[]);
    let mut two = Bench::new(&folder, &[]);
    one.pool.slot_mut(1).fill(7);
    one.op(OpKind::Write, 3).unwrap();
    two.op(OpKind::Read, 3).unwrap();
    assert_eq!(two.pool.slot_mut(1)[..100], [7; 100]);
    let differs = Bench::try_new(&folder, &[("store_options", Value::Text("cache_size=1".into()))]).err().unwrap();
    assert!(differs.message.contains("redb"), "{differs:?}");
    let unknown = Bench::try_new(&outer.path().join("x"), &[("store", Value::Text("leveldb".into()))]).err().unwrap();
    assert!(unknown.message.contains("rocksdb, fjall, redb, null"), "{unknown:?}");
    std::fs::write(outer.path().join("letter"), "dear").unwrap();
    let refused = Bench::try_new(outer.path(), &[]).err().unwrap();
    assert!(refused.is_refusal() && refused.message.contains("letter"), "{refused:?}");
}

#[test]
fn a_value_size_that_is_not_bs_is_refused_with_the_reason() {
    let outer = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(&outer.path().join("db"), &[("value_size", Value::Size(4096))]);
    assert_eq!(bench.op(OpKind::Write, 0), Err(22));
    assert!(bench.lane.notes().iter().any(|note| note.contains("value_size is 4096 but bs is 100")));
}
