//! State shared by the lanes of one process: the memory of devices that keep data, and the errors
//! still to be injected.
//!
//! Both live until the process ends, as in SPDK's applications, so that later jobs find the data of
//! earlier ones.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use iolab_engine::OpKind;
use iolab_memory::SharedBytes;

use crate::methods::{Fault, Injection, Operations};

/// A device of a file, and its size, which may change with the file.
type Key = (PathBuf, String, u64);

#[derive(Debug, Default)]
struct Kept {
    memories: HashMap<Key, SharedBytes>,
    faults: HashMap<Key, Arc<Faults>>,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

fn with_kept<T>(work: impl FnOnce(&mut Kept) -> T) -> T {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    work(kept.get_or_insert_default())
}

fn key(file: &Path, bdev: &str, bytes: u64) -> Key {
    (file.canonicalize().unwrap_or_else(|_| file.to_owned()), bdev.to_owned(), bytes)
}

/// The memory of a device.
pub(crate) fn memory(file: &Path, bdev: &str, bytes: u64) -> io::Result<SharedBytes> {
    let length = usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    with_kept(|kept| {
        let key = key(file, bdev, bytes);
        if let Some(memory) = kept.memories.get(&key) {
            return Ok(memory.clone());
        }
        let memory = SharedBytes::anonymous(length)?;
        kept.memories.insert(key, memory.clone());
        Ok(memory)
    })
}

/// The errors of a device.
pub(crate) fn faults(file: &Path, bdev: &str, injections: &[Injection]) -> Arc<Faults> {
    with_kept(|kept| {
        let make = || Arc::new(Faults::of(bdev, injections));
        Arc::clone(kept.faults.entry(key(file, bdev, 0)).or_insert_with(make))
    })
}

/// The errors that a device of `bdev_error_create` still has to inject, separately for each kind of
/// operation, as in SPDK.
#[derive(Debug, Default)]
pub(crate) struct Faults([Option<Pending>; 4]);

#[derive(Debug)]
struct Pending {
    fault: Fault,
    left: AtomicU32,
}

impl Faults {
    pub(crate) fn of(bdev: &str, injections: &[Injection]) -> Faults {
        let mut faults = Faults::default();
        for injection in injections.iter().filter(|injection| injection.bdev == bdev) {
            for (place, own) in
                [Operations::Read, Operations::Write, Operations::Trim, Operations::Flush].into_iter().enumerate()
            {
                if injection.operations != Operations::All && injection.operations != own {
                    continue;
                }
                faults.0[place] = match injection.error {
                    Fault::Clear => None,
                    fault => Some(Pending { fault, left: AtomicU32::new(injection.count) }),
                };
            }
        }
        faults
    }

    /// The error of the next operation of this kind.
    #[inline]
    pub(crate) fn next(&self, kind: OpKind) -> Option<Fault> {
        let place = match kind {
            OpKind::Read => 0,
            OpKind::Write => 1,
            OpKind::Trim => 2,
            OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => 3,
        };
        let pending = self.0[place].as_ref()?;
        let one_less = |left: u32| left.checked_sub(1);
        pending.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).ok()?;
        Some(pending.fault)
    }
}
