//! Random operations on a store and on a map, which must agree.

use std::collections::BTreeMap;

use iolab_random::SplitMix64;

use super::Setup;
use super::rig::{Scratch, get, open, reopen};
use crate::{Batch, Durability, Existing, Maintenance, Seek, Store, StoreKind, Way};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Few keys, so that they are overwritten and deleted often; of several lengths, so that some are
/// prefixes of others.
fn some_key(random: &mut SplitMix64) -> Vec<u8> {
    let number = random.below(120) as u8;
    vec![number / 7; 1 + usize::from(number % 7)]
}

fn some_value(random: &mut SplitMix64) -> Vec<u8> {
    let length = if random.below(10) == 0 { 0 } else { random.below(300) as usize };
    (0..length).map(|_| random.next() as u8).collect()
}

fn some_durability(random: &mut SplitMix64) -> Durability {
    if random.below(50) == 0 { Durability::Synced } else { Durability::Logged }
}

/// Puts, deletions, batches and lookups in random order, with flushes, compactions and reopens
/// between them.
pub fn random_operations_agree_with_the_model(kind: &dyn StoreKind, setup: &Setup) {
    if !kind.description().keeps_data {
        return;
    }
    for seed in 1..=setup.seeds {
        let scratch = Scratch::new();
        let mut random = SplitMix64::new(seed);
        let mut model = Model::new();
        let mut store = open(kind, setup, &scratch.folder(), Existing::Forbidden);
        for number in 0..setup.operations {
            let place = format!("seed {seed}, operation {number}");
            match random.below(1000) {
                0..=4 => store = reopen(kind, setup, &scratch.folder(), store),
                5..=9 => store.maintain(Maintenance::Flush).expect(&place),
                10..=11 => store.maintain(Maintenance::Compact).expect(&place),
                12..=13 => store.maintain(Maintenance::Settle).expect(&place),
                14..=30 => compare_all(&*store, &model, &place),
                31..=200 => {
                    let key = some_key(&mut random);
                    assert_eq!(get(&*store, &key), model.get(&key).cloned(), "{place}: get {key:?}");
                }
                201..=300 => write_batch(&*store, &mut model, &mut random),
                301..=550 => {
                    let key = some_key(&mut random);
                    store.delete(&key, some_durability(&mut random)).expect(&place);
                    model.remove(&key);
                }
                _ => {
                    let (key, value) = (some_key(&mut random), some_value(&mut random));
                    store.put(&key, &value, some_durability(&mut random)).expect(&place);
                    model.insert(key, value);
                }
            }
        }
        compare_all(&*store, &model, &format!("seed {seed}, at the end"));
        let store = reopen(kind, setup, &scratch.folder(), store);
        compare_all(&*store, &model, &format!("seed {seed}, opened again"));
    }
}

fn write_batch(store: &dyn Store, model: &mut Model, random: &mut SplitMix64) {
    let mut batch = Batch::new();
    for _ in 0..random.below(12) {
        let key = some_key(random);
        if random.below(3) == 0 {
            batch.delete(&key);
            model.remove(&key);
        } else {
            let value = some_value(random);
            batch.put(&key, &value);
            model.insert(key, value);
        }
    }
    store.write(&batch, some_durability(random)).expect("a batch can be written");
}

/// Iterates over everything in both directions.
fn compare_all(store: &dyn Store, model: &Model, place: &str) {
    for (way, from) in [(Way::Forward, Seek::First), (Way::Back, Seek::Last)] {
        let mut cursor = store.cursor().expect(place);
        cursor.seek(from).expect(place);
        let mut seen = Vec::new();
        while let Some((key, value)) = cursor.entry() {
            seen.push((key.to_vec(), value.to_vec()));
            cursor.step(way).expect(place);
        }
        let mut known: Vec<_> = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        if way == Way::Back {
            known.reverse();
        }
        assert!(
            seen == known,
            "{place}: going {way:?}, the store has {} entries and the model {}, or others",
            seen.len(),
            known.len()
        );
    }
}

/// A later change of a batch wins over an earlier one of the same key.
pub fn batches_keep_their_order(kind: &dyn StoreKind, setup: &Setup) {
    if !kind.description().keeps_data {
        return;
    }
    let scratch = Scratch::new();
    let store = open(kind, setup, &scratch.folder(), Existing::Forbidden);
    let mut batch = Batch::new();
    batch.put(b"put, deleted", b"1");
    batch.delete(b"put, deleted");
    batch.delete(b"deleted, put");
    batch.put(b"deleted, put", b"2");
    batch.put(b"put, put", b"3");
    batch.put(b"put, put", b"4");
    store.write(&batch, Durability::Logged).expect("a batch can be written");
    assert_eq!(get(&*store, b"put, deleted"), None, "a deletion after a put of the same batch was lost");
    assert_eq!(get(&*store, b"deleted, put"), Some(b"2".to_vec()), "a put after a deletion of the same batch was lost");
    assert_eq!(get(&*store, b"put, put"), Some(b"4".to_vec()), "the last put of a batch did not win");
    store.write(&Batch::new(), Durability::Logged).expect("an empty batch changes nothing and is no error");
}

/// Keys and values of many lengths, with any bytes in them.
pub fn every_length_is_kept(kind: &dyn StoreKind, setup: &Setup) {
    if !kind.description().keeps_data {
        return;
    }
    let scratch = Scratch::new();
    let store = open(kind, setup, &scratch.folder(), Existing::Forbidden);
    let mut random = SplitMix64::new(9);
    let mut model = Model::new();
    for (key_length, value_length) in
        [(1, 0), (1, 1), (16, 100), (24, 4096), (16, 70_000), (255, 10), (1000, 1), (16, 1 << 20)]
    {
        let key: Vec<u8> = (0..key_length).map(|_| random.next() as u8).collect();
        let value: Vec<u8> = (0..value_length).map(|_| random.next() as u8).collect();
        store.put(&key, &value, Durability::Logged).expect("a put works");
        model.insert(key, value);
    }
    store.put(&[0, 255, 0], &[0; 40], Durability::Logged).expect("a put works");
    model.insert(vec![0, 255, 0], vec![0; 40]);
    let store = reopen(kind, setup, &scratch.folder(), store);
    for (key, value) in &model {
        assert!(get(&*store, key).as_ref() == Some(value), "a value of {} bytes came back otherwise", value.len());
    }
    compare_all(&*store, &model, "every length");
}
