//! Reader-writer locks on inodes and on names in directories.
//!
//! An operation names all its locks at once; they are taken in the order of their keys, so that
//! operations cannot deadlock. Each lock is granted in the order of requests. Locks are held by
//! operations, never by open files.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use iolab_executor::Notify;
use smallvec::{SmallVec, smallvec};

use crate::record::InodeId;

/// What is locked. Inodes sort before names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    Inode(InodeId),
    Name(InodeId, Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

#[derive(Debug, Default)]
struct Lock {
    holders: u32,
    exclusive: bool,
    queue: VecDeque<(u64, Mode)>,
}

impl Lock {
    fn admits(&self, ticket: u64, mode: Mode) -> bool {
        // The shared requests at the front of the queue are admitted together, in any order.
        let ahead = self.queue.iter().take_while(|(waiting, _)| *waiting != ticket);
        match mode {
            Mode::Exclusive => self.holders == 0 && self.queue.front().is_some_and(|(first, _)| *first == ticket),
            Mode::Shared => !self.exclusive && ahead.fold(true, |all, (_, mode)| all && *mode == Mode::Shared),
        }
    }

    /// Takes the lock for a newcomer, if no one waits for it.
    fn take_at_once(&mut self, mode: Mode) -> bool {
        let is_free = match mode {
            Mode::Exclusive => self.holders == 0,
            Mode::Shared => !self.exclusive,
        };
        if !is_free || !self.queue.is_empty() {
            return false;
        }
        self.take(mode);
        true
    }

    fn take(&mut self, mode: Mode) {
        self.holders += 1;
        self.exclusive = mode == Mode::Exclusive;
    }
}

#[derive(Debug, Default)]
struct Table {
    /// Locks that are held or waited for: few.
    locks: BTreeMap<Key, Lock>,
    next_ticket: u64,
}

/// All locks of an instance.
#[derive(Debug, Default, Clone)]
pub(crate) struct Locks {
    table: Rc<RefCell<Table>>,
    changed: Rc<Notify>,
}

/// Locks of one operation; most need one.
type Wanted = SmallVec<[(Key, Mode); 1]>;

/// Locks that are held until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    locks: Locks,
    /// The first `taken` of these are held.
    wanted: Wanted,
    taken: usize,
    /// The ticket of the request for the next lock.
    waiting: Option<u64>,
}

impl Locks {
    /// Waits until the lock of one inode is held.
    pub(crate) async fn take_inode(&self, inode: InodeId, mode: Mode) -> Held {
        self.take_in_order(smallvec![(Key::Inode(inode), mode)]).await
    }

    /// Waits until all locks are held. A key that occurs twice is locked once, in the stronger
    /// mode.
    pub(crate) async fn take(&self, wanted: impl Iterator<Item = (Key, Mode)>) -> Held {
        let (all, mut wanted) = (wanted, Wanted::new());
        for lock in all {
            // The stronger mode of a key comes first.
            let place = wanted.partition_point(|other| (&other.0, Reverse(other.1)) <= (&lock.0, Reverse(lock.1)));
            wanted.insert(place, lock);
        }
        wanted.dedup_by(|later, first| later.0 == first.0);
        self.take_in_order(wanted).await
    }

    async fn take_in_order(&self, wanted: Wanted) -> Held {
        let mut held = Held { locks: self.clone(), wanted, taken: 0, waiting: None };
        while held.taken < held.wanted.len() {
            let (key, mode) = &held.wanted[held.taken];
            if let Some(ticket) = self.take_or_queue(key, *mode) {
                held.waiting = Some(ticket);
                self.changed.until(|_| self.try_take(key, ticket, *mode).then_some(())).await;
                held.waiting = None;
            }
            held.taken += 1;
        }
        held
    }

    /// Takes a lock that is free, or returns the ticket to wait with.
    fn take_or_queue(&self, key: &Key, mode: Mode) -> Option<u64> {
        let mut table = self.table.borrow_mut();
        let table = &mut *table;
        let lock = table.locks.entry(key.clone()).or_default();
        if lock.take_at_once(mode) {
            return None;
        }
        table.next_ticket += 1;
        lock.queue.push_back((table.next_ticket, mode));
        Some(table.next_ticket)
    }

    fn try_take(&self, key: &Key, ticket: u64, mode: Mode) -> bool {
        let mut table = self.table.borrow_mut();
        let Some(lock) = table.locks.get_mut(key).filter(|lock| lock.admits(ticket, mode)) else { return false };
        lock.queue.retain(|(waiting, _)| *waiting != ticket);
        lock.take(mode);
        true
    }

    fn change(&self, key: &Key, change: impl FnOnce(&mut Lock)) {
        let mut table = self.table.borrow_mut();
        let Some(lock) = table.locks.get_mut(key) else { return };
        change(lock);
        let someone_waits = !lock.queue.is_empty();
        if lock.holders == 0 && !someone_waits {
            table.locks.remove(key);
        }
        drop(table);
        if someone_waits {
            self.changed.notify();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let (Some(ticket), Some((key, _))) = (self.waiting.take(), self.wanted.get(self.taken)) {
            self.locks.change(key, |lock| lock.queue.retain(|(waiting, _)| *waiting != ticket));
        }
        for (key, _) in &self.wanted[..self.taken] {
            self.locks.change(key, |lock| {
                lock.holders -= 1;
                lock.exclusive = false;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use iolab_executor::{Executor, Nothing, ReadyOrder};

    use super::*;

    /// Tasks take random sets of locks in random modes and count who is inside of each.
    #[test]
    fn writers_are_alone_and_everybody_gets_in() {
        for seed in 0..30_u64 {
            let mut executor = Executor::new(ReadyOrder::Shuffled(seed));
            let locks = Locks::default();
            let inside: Rc<Vec<Cell<i32>>> = Rc::new((0..4).map(|_| Cell::new(0)).collect());
            let spawner = executor.spawner();
            let tasks: Vec<_> = (0..20_u64)
                .map(|number| {
                    let (locks, inside, starter) = (locks.clone(), Rc::clone(&inside), spawner.clone());
                    spawner.spawn(async move {
                        let wanted: Vec<(u64, Mode)> = (0..3)
                            .map(|step| {
                                let bits = (seed + number) * 7 + step * 5 + number * step;
                                (bits % 4, if bits % 3 == 0 { Mode::Exclusive } else { Mode::Shared })
                            })
                            .collect();
                        let keys = wanted.iter().map(|(key, mode)| (Key::Inode(InodeId(*key)), *mode));
                        let held = locks.take(keys).await;
                        for (key, mode) in &held.wanted {
                            let Key::Inode(InodeId(key)) = key else { panic!() };
                            let count = &inside[*key as usize];
                            match mode {
                                Mode::Exclusive => assert_eq!(count.replace(-1), 0),
                                Mode::Shared => {
                                    assert!(count.get() >= 0);
                                    count.set(count.get() + 1);
                                }
                            }
                        }
                        starter.spawn(async {}).await;
                        for (key, mode) in &held.wanted {
                            let Key::Inode(InodeId(key)) = key else { panic!() };
                            let count = &inside[*key as usize];
                            count.set(if *mode == Mode::Exclusive { 0 } else { count.get() - 1 });
                        }
                    })
                })
                .collect();
            let all = async {
                for task in tasks {
                    task.await;
                }
            };
            executor.run(&mut Nothing, all).unwrap();
            assert!(locks.table.borrow().locks.is_empty());
        }
    }
}
