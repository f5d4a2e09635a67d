//! `lockfile`: operations of several jobs on one file exclude each other.
//!
//! ```text
//!  one word of each file, shared by all workers that lock it:
//!   bits 0-15 next ticket │ 16-31 ticket that is served │ 32-47 readers │ bit 48 writer
//! ```
//!
//! An operation draws a ticket and waits for its turn; then it waits until the file is free for it.
//! So nobody waits longer than for those who came before. The lock is held from the submission to
//! the completion of the operation. A worker that is killed cannot give its lock back: the locks of
//! its files then no longer hold anybody up.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iolab_engine::{Op, OpKind};
use iolab_memory::SharedRegion;
use iolab_plan::{FileLock, Plan, WorkerPlan};

use crate::hot_loop::checker::Checker;

const FIELD: u64 = (1 << 16) - 1;
const SERVED_SHIFT: u32 = 16;
const READERS_SHIFT: u32 = 32;
const WRITER: u64 = 1 << 48;
/// A worker was killed with the lock, or with a ticket.
const BROKEN: u64 = 1 << 63;

/// The locks of a worker's files, in the order of its plan.
#[derive(Debug, Clone)]
pub(crate) struct FileLocks {
    words: Arc<SharedRegion<AtomicU64>>,
    places: Box<[usize]>,
}

/// The locks of all workers, by their number; `None` for a worker that locks nothing.
pub(crate) fn shares(plan: &Plan) -> io::Result<Vec<Option<FileLocks>>> {
    let locks = |worker: &&WorkerPlan| worker.layout.lock != FileLock::None;
    let mut places: BTreeMap<&Path, usize> = BTreeMap::new();
    for file in plan.workers.iter().filter(locks).flat_map(|worker| &worker.files) {
        let next = places.len();
        places.entry(file.path.as_path()).or_insert(next);
    }
    let words = Arc::new(SharedRegion::new(places.len())?);
    let own = |worker: &WorkerPlan| {
        let places = worker.files.iter().map(|file| places[file.path.as_path()]).collect();
        FileLocks { words: Arc::clone(&words), places }
    };
    Ok(plan.workers.iter().map(|worker| locks(&worker).then(|| own(worker))).collect())
}

impl FileLocks {
    fn word(&self, file: u32) -> &AtomicU64 {
        &self.words[self.places[file as usize]]
    }

    /// Draws a ticket.
    fn ticket(&self, file: u32) -> u64 {
        let drawn = |word: u64| Some(word & !FIELD | word.wrapping_add(1) & FIELD);
        match self.word(file).fetch_update(Ordering::AcqRel, Ordering::Acquire, drawn) {
            Ok(before) | Err(before) => before & FIELD,
        }
    }

    /// Takes the lock if it is the turn of this ticket and the file is free.
    fn take(&self, file: u32, ticket: u64, exclusive: bool) -> bool {
        let taken = |word: u64| {
            if word & BROKEN != 0 {
                return Some(word);
            }
            let served = word >> SERVED_SHIFT & FIELD;
            let is_free = word & WRITER == 0 && (!exclusive || word >> READERS_SHIFT & FIELD == 0);
            let held = if exclusive { word | WRITER } else { word + (1 << READERS_SHIFT) };
            (served == ticket && is_free).then(|| with_next_served(held))
        };
        self.word(file).fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).is_ok()
    }

    /// Passes the turn on without taking the lock; `false` if it is not the turn of this ticket.
    fn pass(&self, file: u32, ticket: u64) -> bool {
        let passed = |word: u64| {
            let is_turn = word & BROKEN != 0 || word >> SERVED_SHIFT & FIELD == ticket;
            is_turn.then(|| with_next_served(word))
        };
        self.word(file).fetch_update(Ordering::AcqRel, Ordering::Acquire, passed).is_ok()
    }

    fn give_back(&self, file: u32, exclusive: bool) {
        let given = |word: u64| {
            let readers = word >> READERS_SHIFT & FIELD;
            Some(match exclusive {
                true => word & !WRITER,
                false if readers > 0 => word - (1 << READERS_SHIFT),
                false => word,
            })
        };
        let _ = self.word(file).fetch_update(Ordering::AcqRel, Ordering::Acquire, given);
    }

    /// The worker was killed: its locks hold nobody up any more.
    pub(crate) fn break_all(&self) {
        for place in &self.places {
            self.words[*place].fetch_or(BROKEN, Ordering::AcqRel);
        }
    }
}

fn with_next_served(word: u64) -> u64 {
    let served = (word >> SERVED_SHIFT).wrapping_add(1) & FIELD;
    word & !(FIELD << SERVED_SHIFT) | served << SERVED_SHIFT
}

/// The checker of a job that locks its files.
#[derive(Debug)]
pub(crate) struct Locking {
    locks: FileLocks,
    /// Reads exclude each other, too.
    all_exclude: bool,
    /// The ticket of the next operation.
    waiting: Option<(u32, u64)>,
    /// The lock of the next operation, which has not been accepted yet.
    taken: Option<Held>,
    slots: Box<[Option<Held>]>,
}

/// A lock that an operation holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    file: u32,
    exclusive: bool,
}

impl Locking {
    pub(crate) fn new(locks: FileLocks, lock: FileLock, depth: usize) -> Locking {
        let slots = vec![None; depth].into_boxed_slice();
        Locking { locks, all_exclude: lock == FileLock::Exclusive, waiting: None, taken: None, slots }
    }

    fn let_go(&mut self) {
        let held = self.slots.iter_mut().filter_map(Option::take).chain(self.taken.take());
        for Held { file, exclusive } in held {
            self.locks.give_back(file, exclusive);
        }
        if let Some((file, ticket)) = self.waiting.take() {
            // Everybody before it takes the lock for one operation only.
            while !self.locks.pass(file, ticket) {
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        }
    }
}

impl Checker for Locking {
    const CHECKS: bool = true;
    const FILLS: bool = false;

    fn check(&mut self, _read: &Op, _bytes: &[u8]) -> Result<(), i32> {
        Ok(())
    }

    fn admit(&mut self, op: &Op) -> bool {
        let wanted = Held { file: op.file, exclusive: self.all_exclude || op.kind != OpKind::Read };
        match self.taken {
            Some(taken) if taken == wanted => return true,
            // The engine refused the operation that it was taken for.
            Some(_) => self.let_go_of_taken(),
            None => {}
        }
        let ticket = match self.waiting {
            Some((file, ticket)) if file == op.file => ticket,
            Some((file, ticket)) => {
                if !self.locks.pass(file, ticket) {
                    return false;
                }
                self.locks.ticket(op.file)
            }
            None => self.locks.ticket(op.file),
        };
        self.waiting = Some((op.file, ticket));
        if !self.locks.take(op.file, ticket, wanted.exclusive) {
            return false;
        }
        self.waiting = None;
        self.taken = Some(wanted);
        true
    }

    fn accepted(&mut self, op: &Op, _begun_ns: u64) {
        self.slots[usize::from(op.slot)] = self.taken.take();
    }

    fn done(&mut self, op: &Op, _succeeded: bool) {
        if let Some(Held { file, exclusive }) = self.slots[usize::from(op.slot)].take() {
            self.locks.give_back(file, exclusive);
        }
    }
}

impl Locking {
    fn let_go_of_taken(&mut self) {
        if let Some(Held { file, exclusive }) = self.taken.take() {
            self.locks.give_back(file, exclusive);
        }
    }
}

impl Drop for Locking {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locks() -> FileLocks {
        FileLocks { words: Arc::new(SharedRegion::new(1).unwrap()), places: Box::new([0]) }
    }

    fn op(kind: OpKind, slot: u16) -> Op {
        Op { offset: 0, length: 4096, buffer_offset: 0, file: 0, slot, kind, priority: 0 }
    }

    #[test]
    fn readers_share_and_writers_come_in_turn() {
        let locks = locks();
        let locking = || Locking::new(locks.clone(), FileLock::ReadWrite, 4);
        let (mut one, mut two, mut three) = (locking(), locking(), locking());
        let (read, write) = (op(OpKind::Read, 0), op(OpKind::Write, 0));
        assert!(one.admit(&read) && two.admit(&read) && one.admit(&read), "asking again changes nothing");
        one.accepted(&read, 0);
        two.accepted(&read, 0);
        assert!(!three.admit(&write) && !one.admit(&op(OpKind::Read, 1)), "no reader passes a writer that waits");
        one.done(&read, true);
        assert!(!three.admit(&write));
        two.done(&read, true);
        assert!(three.admit(&write));
        three.accepted(&write, 0);
        assert!(!one.admit(&op(OpKind::Read, 1)));
        three.done(&write, false);
        assert!(one.admit(&op(OpKind::Read, 1)));
    }

    #[test]
    fn a_worker_that_ends_or_is_killed_holds_nobody_up() {
        let locks = locks();
        let locking = || Locking::new(locks.clone(), FileLock::Exclusive, 1);
        let (mut one, mut two, mut three) = (locking(), locking(), locking());
        let read = op(OpKind::Read, 0);
        assert!(one.admit(&read) && !two.admit(&read) && !three.admit(&read));
        drop(one);
        drop(two);
        assert!(three.admit(&read));
        let _killed = std::mem::ManuallyDrop::new(three);
        let mut four = locking();
        assert!(!four.admit(&read));
        locks.break_all();
        assert!(four.admit(&read));
    }
}
