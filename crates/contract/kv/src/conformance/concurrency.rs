//! Threads that share one store.

use std::sync::atomic::{AtomicBool, Ordering};

use iolab_random::SplitMix64;

use super::Setup;
use super::rig::{Scratch, get, open, reopen};
use crate::{Batch, Durability, Existing, Store, StoreKind};

const THREADS: u64 = 4;

/// Every thread changes keys of its own; afterwards each key is as its thread left it.
pub fn threads_do_not_disturb_each_other(kind: &dyn StoreKind, setup: &Setup) {
    if !kind.description().keeps_data {
        return;
    }
    let scratch = Scratch::new();
    let store = open(kind, setup, &scratch.folder(), Existing::Forbidden);
    let operations = setup.operations / 4;
    let work = |thread: u64| {
        let mut random = SplitMix64::new(thread);
        let mut last = vec![None; 40];
        for number in 0..operations {
            let place = random.below(40) as usize;
            let key = format!("{thread}-{place}");
            if random.below(4) == 0 {
                store.delete(key.as_bytes(), Durability::Logged).expect("a deletion works");
                last[place] = None;
            } else {
                let value = format!("{thread} wrote {number}");
                store.put(key.as_bytes(), value.as_bytes(), Durability::Logged).expect("a put works");
                last[place] = Some(value.into_bytes());
            }
            assert_eq!(get(&*store, key.as_bytes()), last[place], "{key}: a thread does not see what it wrote");
        }
        last
    };
    let left: Vec<_> = std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread fails")).collect()
    });
    let store = reopen(kind, setup, &scratch.folder(), store);
    for (thread, values) in left.into_iter().enumerate() {
        for (place, value) in values.into_iter().enumerate() {
            let key = format!("{thread}-{place}");
            assert_eq!(get(&*store, key.as_bytes()), value, "{key}: opened again");
        }
    }
}

/// One thread writes the same number to two keys by batches; a reader sees both equal within one
/// cursor, and never a smaller number than before.
pub fn readers_never_see_half_a_write(kind: &dyn StoreKind, setup: &Setup) {
    if !kind.description().keeps_data {
        return;
    }
    let scratch = Scratch::new();
    let store = open(kind, setup, &scratch.folder(), Existing::Forbidden);
    write_pair(&*store, 0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut before = 0;
                while !done.load(Ordering::Acquire) {
                    let (one, two) = read_pair(&*store);
                    assert_eq!(one, two, "a reader sees half a batch");
                    assert!(one >= before, "a reader sees {one} after {before}");
                    before = one;
                }
            });
        }
        for number in 1..setup.operations as u64 / 4 {
            write_pair(&*store, number);
        }
        done.store(true, Ordering::Release);
    });
}

fn write_pair(store: &dyn Store, number: u64) {
    let mut batch = Batch::new();
    batch.put(b"one", &number.to_be_bytes());
    batch.put(b"two", &number.to_be_bytes());
    store.write(&batch, Durability::Logged).expect("a batch can be written");
}

fn read_pair(store: &dyn Store) -> (u64, u64) {
    let mut cursor = store.cursor().expect("a cursor can be made");
    let mut number = |key: &[u8]| {
        cursor.seek(crate::Seek::AtLeast(key)).expect("a cursor can be moved");
        let (_, value) = cursor.entry().expect("the key is there");
        u64::from_be_bytes(value.try_into().expect("a number was written"))
    };
    (number(b"one"), number(b"two"))
}
