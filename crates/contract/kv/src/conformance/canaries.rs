//! Tests of the suite: a correct store passes every check, and each broken promise fails one.
//!
//! The store is a map in memory, kept by folder so that it can be opened again; a marker file
//! stands in its folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::*;
use crate::{
    Access, Batch, Bytes, Change, Cursor, Durability, ErrorKind, Existing, Maintenance, OpenRequest, RangeCursor,
    Ranges, Store, StoreDescription, StoreError, StoreFacts, StoreFigures, StoreKind, Way, judge,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    LosesDeletions,
    LosesEmptyValues,
    LosesLastOfBatch,
    SortsBatches,
    SplitsBatches,
    ForgetsAtReopen,
    CursorSkipsLast,
    CursorSeesLaterWrites,
    BackSeekExclusive,
    OpensTwice,
    TakesAnyOption,
    OpensAnyFolder,
    DestroysEverything,
    IgnoresForbidden,
}

type Map = BTreeMap<Bytes, Bytes>;
type Shared = Arc<RwLock<Map>>;

struct Kept(Fault);

static FOLDERS: Mutex<BTreeMap<PathBuf, Shared>> = Mutex::new(BTreeMap::new());
static OPEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

const MARKER: &str = "kept.store";

static DESCRIPTION: StoreDescription =
    StoreDescription { name: "kept", summary: "A map in memory", details: "None.", install: "", keeps_data: true };

struct OpenMap {
    fault: Fault,
    folder: PathBuf,
    map: Shared,
}

struct Snapshot {
    fault: Fault,
    fixed: Map,
    live: Shared,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StoreKind for Kept {
    fn description(&self) -> &'static StoreDescription {
        &DESCRIPTION
    }

    fn version(&self) -> Result<String, StoreError> {
        Ok("1".to_owned())
    }

    fn recognises(&self, folder: &Path) -> bool {
        folder.join(MARKER).exists()
    }

    fn owns(&self, name: &str) -> bool {
        name == MARKER
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn Store>, StoreError> {
        let forgives = self.0 == Fault::IgnoresForbidden && request.existing == Existing::Forbidden;
        if self.0 != Fault::OpensAnyFolder && !forgives {
            judge(self, request)?;
        }
        if !request.options.is_empty() && self.0 != Fault::TakesAnyOption {
            return Err(StoreError::new(ErrorKind::Option, format!("no option {}", request.options)));
        }
        let folder = request.folder.to_owned();
        if !locked(&OPEN).insert(folder.clone()) && self.0 != Fault::OpensTwice {
            return Err(StoreError::new(ErrorKind::Busy, "it is open"));
        }
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        std::fs::write(folder.join(MARKER), "").expect("a file can be made");
        if self.0 == Fault::ForgetsAtReopen {
            locked(&FOLDERS).remove(&folder);
        }
        let map = locked(&FOLDERS).entry(folder.clone()).or_default().clone();
        Ok(Box::new(OpenMap { fault: self.0, folder, map }))
    }

    fn destroy(&self, folder: &Path) -> Result<(), StoreError> {
        if !self.recognises(folder) {
            return Err(StoreError::new(ErrorKind::Folder, "no store"));
        }
        locked(&FOLDERS).remove(folder);
        if self.0 == Fault::DestroysEverything {
            std::fs::remove_dir_all(folder).expect("a folder can be removed");
        } else {
            std::fs::remove_file(folder.join(MARKER)).expect("a file can be removed");
            let _ = std::fs::remove_dir(folder);
        }
        Ok(())
    }
}

impl Access for OpenMap {
    fn put(&self, key: &[u8], value: &[u8], _: Durability) -> Result<(), StoreError> {
        if self.fault != Fault::LosesEmptyValues || !value.is_empty() {
            self.map.write().unwrap().insert(key.to_vec(), value.to_vec());
        }
        Ok(())
    }

    fn delete(&self, key: &[u8], _: Durability) -> Result<(), StoreError> {
        if self.fault != Fault::LosesDeletions {
            self.map.write().unwrap().remove(key);
        }
        Ok(())
    }

    fn write(&self, batch: &Batch, _: Durability) -> Result<(), StoreError> {
        let mut changes: Vec<_> = batch.changes().collect();
        match self.fault {
            Fault::LosesLastOfBatch => drop(changes.pop()),
            Fault::SortsBatches => changes.sort_by_key(|change| matches!(change, Change::Put(..))),
            _ => {}
        }
        let mut map = self.map.write().unwrap();
        for change in changes {
            match change {
                Change::Put(key, value) => drop(map.insert(key.to_vec(), value.to_vec())),
                Change::Delete(key) => drop(map.remove(key)),
            }
            if self.fault == Fault::SplitsBatches {
                drop(map);
                std::thread::yield_now();
                map = self.map.write().unwrap();
            }
        }
        Ok(())
    }

    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError> {
        let map = self.map.read().unwrap();
        map.get(key).inspect(|value| visit(value)).map_or(Ok(false), |_| Ok(true))
    }

    fn cursor(&self) -> Result<Box<dyn Cursor + '_>, StoreError> {
        let fixed = self.map.read().unwrap().clone();
        Ok(Box::new(RangeCursor::new(Snapshot { fault: self.fault, fixed, live: self.map.clone() })))
    }
}

impl Ranges for Snapshot {
    type Iter = std::vec::IntoIter<Result<(Bytes, Bytes), StoreError>>;

    fn range(&self, from: Bound<&[u8]>, way: Way) -> Result<Self::Iter, StoreError> {
        let live = self.live.read().unwrap();
        let map = if self.fault == Fault::CursorSeesLaterWrites { &*live } else { &self.fixed };
        let bounds = match (way, from) {
            (Way::Forward, from) => (from, Bound::Unbounded),
            (Way::Back, Bound::Included(key)) if self.fault == Fault::BackSeekExclusive => {
                (Bound::Unbounded, Bound::Excluded(key))
            }
            (Way::Back, from) => (Bound::Unbounded, from),
        };
        let mut entries: Vec<_> =
            map.range::<[u8], _>(bounds).map(|(key, value)| Ok((key.clone(), value.clone()))).collect();
        if way == Way::Back {
            entries.reverse();
        }
        if self.fault == Fault::CursorSkipsLast && entries.len() > 2 {
            entries.pop();
        }
        Ok(entries.into_iter())
    }
}

impl Store for OpenMap {
    fn maintain(&self, _: Maintenance) -> Result<(), StoreError> {
        Ok(())
    }

    fn facts(&self) -> StoreFacts {
        StoreFacts::default()
    }

    fn figures(&self) -> StoreFigures {
        StoreFigures::default()
    }

    fn property(&self, _: &str) -> Option<String> {
        None
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Drop for OpenMap {
    fn drop(&mut self) {
        locked(&OPEN).remove(&self.folder);
    }
}

crate::kv_conformance_suite!(sound, &Kept(Fault::None));

type Check = fn(&dyn StoreKind, &Setup);

/// Each fault, and the check that must find it.
#[test]
fn every_fault_is_found() {
    let faults: [(Fault, Check); 14] = [
        (Fault::LosesDeletions, random_operations_agree_with_the_model),
        (Fault::LosesEmptyValues, every_length_is_kept),
        (Fault::LosesLastOfBatch, random_operations_agree_with_the_model),
        (Fault::SortsBatches, batches_keep_their_order),
        (Fault::SplitsBatches, readers_never_see_half_a_write),
        (Fault::ForgetsAtReopen, threads_do_not_disturb_each_other),
        (Fault::CursorSkipsLast, a_cursor_goes_both_ways),
        (Fault::CursorSeesLaterWrites, a_cursor_keeps_what_it_saw),
        (Fault::BackSeekExclusive, a_cursor_seeks_beside_keys),
        (Fault::OpensTwice, two_cannot_open_one),
        (Fault::TakesAnyOption, wrong_options_are_refused),
        (Fault::OpensAnyFolder, other_folders_are_left_alone),
        (Fault::DestroysEverything, destroy_takes_only_what_it_owns),
        (Fault::IgnoresForbidden, existing_stores_are_used_as_told),
    ];
    for (fault, check) in faults {
        let outcome = catch_unwind(|| check(&Kept(fault), &Setup::default()));
        assert!(outcome.is_err(), "{fault:?} was not found");
    }
}
