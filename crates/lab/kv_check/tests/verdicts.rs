//! Stores that lose, invent and reorder operations, simulated by writing the corresponding content.

use iolab_kv::{Batch, Durability, Existing, OpenRequest, Store, StoreKind};
use iolab_kv_check::{Model, Promised, Shape, Violation, judge};
use iolab_kv_fjall::Fjall;

/// A store that holds these operations of round 1, and the folder that it is in.
fn holding(numbers: &[u64]) -> (tempfile::TempDir, Box<dyn Store>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = Fjall.open(&OpenRequest { folder: &path, options: "", existing: Existing::Either }).unwrap();
    let mut batch = Batch::new();
    for number in numbers {
        Shape::default().operation(1, *number).put_into(&mut batch);
        store.write(&batch, Durability::Logged).unwrap();
    }
    (folder, store)
}

fn verdict(numbers: &[u64], promised: Promised) -> Result<u64, Violation> {
    let (_folder, store) = holding(numbers);
    judge(&*store, &mut Model::default(), &Shape::default(), 1, promised).unwrap()
}

#[test]
fn prefixes_pass_and_nothing_else() {
    let promised = Promised { settled: 0, synced: 7, acknowledged: 10 };
    let upto = |last: u64| (1..=last).collect::<Vec<u64>>();
    for last in 7..=11 {
        assert_eq!(verdict(&upto(last), promised), Ok(last));
    }
    assert_eq!(verdict(&upto(6), promised), Err(Violation::Lost { synced: 7, found: 6 }));
    assert_eq!(verdict(&[], promised), Err(Violation::Lost { synced: 7, found: 0 }));
    assert_eq!(verdict(&upto(12), promised), Err(Violation::Invented { begun: 11, found: 12 }));
    // One in the middle is gone, or two have changed places.
    for wrong in [&[1, 2, 3, 4, 5, 6, 7, 9][..], &[2, 3, 4, 5, 6, 7, 8]] {
        assert!(matches!(verdict(wrong, promised), Err(Violation::NoPrefix { .. })), "{wrong:?}");
    }
}

#[test]
fn half_an_operation_is_none() {
    let (_folder, store) = holding(&[1, 2, 3]);
    let half = Shape::default().operation(1, 4);
    let (key, value) = &half.changes[0];
    store.put(key, value.as_deref().unwrap_or_default(), Durability::Logged).unwrap();
    let promised = Promised { settled: 0, synced: 3, acknowledged: 4 };
    let judged = judge(&*store, &mut Model::default(), &Shape::default(), 1, promised).unwrap();
    assert!(matches!(judged, Err(Violation::NoPrefix { found: 4, .. })), "{judged:?}");
}

#[test]
fn an_empty_store_is_right_where_nothing_was_promised() {
    assert_eq!(verdict(&[], Promised { acknowledged: 5, ..Promised::default() }), Ok(0));
}
