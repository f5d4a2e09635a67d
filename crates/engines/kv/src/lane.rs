//! The lane: one worker's access to a store.
//!
//! Unsafe because values are copied from and to slots, which are pointers.
#![allow(unsafe_code, reason = "island: copies between values and slot buffers")]
#![allow(clippy::disallowed_methods, reason = "the macro self_cell forgets what it has moved")]

use iolab_engine::{
    CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission, Wait,
};
use iolab_kv::{Batch, Cursor, Durability, ErrorKind, Seek, StoreError, Way};

use crate::options::Asked;
use crate::shared::{self, Handle, errno_of};

/// Errno of an impossible operation (errno(3)).
const EINVAL: i32 = 22;

type AnyCursor<'a> = Box<dyn Cursor + 'a>;

self_cell::self_cell!(
    /// A cursor with its store.
    struct Scan {
        owner: Handle,
        #[covariant]
        dependent: AnyCursor,
    }
);

/// The lane of [`crate::Kv`].
pub struct KvLane {
    opened: Handle,
    buffers: PoolView,
    finished: CompletionRow,
    key: Vec<u8>,
    asked: Asked,
    /// The cursor of a sequence of reads.
    scan: Option<Scan>,
    /// The block that follows the last one read.
    next_read: Option<u64>,
    notes: Vec<String>,
}

impl std::fmt::Debug for KvLane {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KvLane").field("opened", &self.opened).finish_non_exhaustive()
    }
}

impl KvLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<KvLane, OpenError> {
        let asked = Asked::of(request.options);
        let opened = shared::open(&asked)?;
        let mut lane = KvLane {
            opened,
            buffers: request.buffers,
            finished: CompletionRow::with_depth(request.depth),
            key: vec![b'0'; asked.key_size],
            asked,
            scan: None,
            next_read: None,
            notes: Vec::new(),
        };
        if request.worker == 0 {
            lane.notes = lane.facts();
        }
        Ok(lane)
    }

    /// Facts about the store for the recording.
    fn facts(&self) -> Vec<String> {
        let facts = self.opened.store.facts();
        let name = self.opened.kind.description().name;
        let cache = facts.cache_bytes.map_or(String::new(), |bytes| format!(", its own cache is {} KiB", bytes >> 10));
        let compression = facts.compression.as_deref().unwrap_or("unknown");
        let mut notes = vec![format!("Store: {name} {}, compression {compression}{cache}.", facts.version)];
        if !self.asked.options.is_empty() {
            notes.push(format!("Its options: {}.", self.asked.options));
        }
        if self.asked.durability == Durability::Unlogged {
            notes.push("It writes no log: a crash loses data that was not flushed.".to_owned());
        }
        if facts.assertions == Some(true) {
            notes.push("Its library was built with assertions; a release build is faster.".to_owned());
        }
        notes.extend(facts.notes);
        notes
    }

    /// The number of the key of an operation.
    fn number(op: &Op) -> u64 {
        op.offset / u64::from(op.length.max(1))
    }

    fn set_key(&mut self, number: u64) {
        self.key[..8].copy_from_slice(&number.to_be_bytes());
    }

    fn done(&mut self, op: &Op) -> Result<i32, StoreError> {
        let number = KvLane::number(op);
        if op.kind != OpKind::Read {
            self.scan = None;
        }
        self.set_key(number);
        match op.kind {
            OpKind::Read => {
                self.read(op, number)?;
                Ok(op.length as i32)
            }
            OpKind::Write => {
                // SAFETY: the slot is the lane's until it is reaped, and has room for the
                // operation.
                let value = unsafe { self.slot(op) }?;
                self.opened.store.put(&self.key, value, self.asked.durability)?;
                Ok(op.length as i32)
            }
            OpKind::Trim => self.opened.store.delete(&self.key, self.asked.durability).map(|()| 0),
            OpKind::Sync | OpKind::DataSync => self.opened.store.write(&Batch::new(), Durability::Synced).map(|()| 0),
            OpKind::SyncFileRange => Ok(0),
        }
    }

    fn read(&mut self, op: &Op, number: u64) -> Result<(), StoreError> {
        let follows = self.asked.scans && self.next_read == Some(number);
        self.next_read = Some(number + 1);
        // SAFETY: the slot is the lane's until it is reaped; nobody else has a reference to it.
        let slot = unsafe { self.slot(op) }?;
        let found = if follows {
            self.step_to(slot)?
        } else {
            self.scan = None;
            self.opened.store.get(&self.key, &mut |value| copy(slot, value))?
        };
        if !found {
            slot.fill(0);
        }
        Ok(())
    }

    /// Moves the cursor to this key. If keys are missing, it stops at a later one and waits.
    fn step_to(&mut self, slot: &mut [u8]) -> Result<bool, StoreError> {
        let mut scan = match self.scan.take() {
            Some(scan) => scan,
            None => {
                let mut scan = Scan::try_new(self.opened.clone(), |opened| opened.store.cursor())?;
                scan.with_dependent_mut(|_, cursor| cursor.seek(Seek::AtLeast(&self.key)))?;
                scan
            }
        };
        let key = self.key.as_slice();
        let found = scan.with_dependent_mut(|_, cursor| {
            while cursor.entry().is_some_and(|(at, _)| at < key) {
                cursor.step(Way::Forward)?;
            }
            let value = cursor.entry().filter(|(at, _)| *at == key).map(|(_, value)| value);
            Ok(value.map(|value| copy(slot, value)).is_some())
        })?;
        self.scan = Some(scan);
        Ok(found)
    }

    /// # Safety
    /// The lane owns the operation's slot, and no other reference to its bytes exists while this
    /// one is used.
    unsafe fn slot<'a>(&self, op: &Op) -> Result<&'a mut [u8], StoreError> {
        let length = op.length as usize;
        let start = self.buffers.range_ptr(usize::from(op.slot), op.buffer_offset as usize, length);
        let outside = || StoreError::new(ErrorKind::Option, "an operation is longer than its buffer");
        // SAFETY: the range lies within the slot; the caller says that it is the lane's alone.
        Ok(unsafe { std::slice::from_raw_parts_mut(start.ok_or_else(outside)?, length) })
    }
}

/// Copies as much of the value as the slot can hold, followed by zeroes.
fn copy(slot: &mut [u8], value: &[u8]) {
    let length = slot.len().min(value.len());
    slot[..length].copy_from_slice(&value[..length]);
    slot[length..].fill(0);
}

impl Lane for KvLane {
    const SYNCHRONOUS: bool = true;
    const PERFORMS: bool = true;

    fn submit(&mut self, op: &Op) -> Submission {
        if self.finished.is_full() {
            return Submission::Full;
        }
        let outcome = self.perform(op);
        self.finished.take(op.slot, outcome)
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let count = self.finished.drain_into(out);
        Ok(count)
    }

    fn perform(&mut self, op: &Op) -> Result<i32, i32> {
        let moves = op.kind.moves_data();
        if let Some(size) = self.asked.value_size.filter(|size| moves && *size != u64::from(op.length)) {
            if self.notes.iter().all(|note| !note.starts_with("value_size")) {
                self.notes.push(format!(
                    "value_size is {size} but bs is {}: a value is a block, so they must be equal.",
                    op.length
                ));
            }
            return Err(EINVAL);
        }
        self.done(op).map_err(|error| {
            if self.notes.len() < 100 && !self.notes.contains(&error.message) {
                self.notes.push(error.message.clone());
            }
            errno_of(&error)
        })
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
