//! Results of operations that a library brings by callbacks, from any thread.
//!
//! ```text
//! lane: begin(slot) ─▶ library ─▶ callback, any thread: post(slot, result) ─▶ lane: take
//!                                                  └── eventfd, if the lane sleeps on one
//! ```
//! A library that hands an address to its callbacks gets that of the slot's [`SlotArrival`].
//!
//! No locks, and no memory after `new`. A result that nobody waits for, such as the second one of
//! an operation, is passed over. Of the two orders of a late result and the next operation of its
//! slot, only the library knows which is right: it calls back once for each operation.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::io::{read, write};

use crate::waiting::poll_for;
use crate::{Completion, LaneError};

const FREE: u8 = 0;
const WAITING: u8 = 1;
const POSTED: u8 = 2;

/// The state of a slot.
#[derive(Debug)]
struct Letter {
    state: AtomicU8,
    result: AtomicI32,
}

/// The results of a lane's operations. One lane takes, any thread posts.
#[derive(Debug)]
pub struct Mailbox {
    letters: Box<[Letter]>,
    /// A bit for each slot with a result.
    posted: Box<[AtomicU64]>,
    /// What wakes the lane.
    bell: Option<OwnedFd>,
}

impl Mailbox {
    /// For callbacks on the lane's own thread, which need not wake it.
    pub fn silent(slots: usize) -> Mailbox {
        let letter = |_| Letter { state: AtomicU8::new(FREE), result: AtomicI32::new(0) };
        Mailbox {
            letters: (0..slots).map(letter).collect(),
            posted: (0..slots.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            bell: None,
        }
    }

    /// For callbacks on other threads, with a descriptor that becomes readable by them.
    ///
    /// # Errors
    /// The errno of eventfd(2).
    pub fn with_bell(slots: usize) -> Result<Mailbox, i32> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|errno| errno.raw_os_error())?;
        Ok(Mailbox { bell: Some(bell), ..Mailbox::silent(slots) })
    }

    /// The descriptor that becomes readable when there are results.
    fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(AsFd::as_fd)
    }

    /// Expects a result of the slot. Returns whether it was free.
    pub fn begin(&self, slot: u16) -> bool {
        let letter = self.letters.get(usize::from(slot));
        // Relaxed: the library that is given the operation orders this before its callback.
        letter.is_some_and(|letter| {
            letter.state.compare_exchange(FREE, WAITING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        })
    }

    /// Undoes [`Mailbox::begin`]: the library has not taken the operation.
    pub fn cancel(&self, slot: u16) {
        self.letters[usize::from(slot)].state.store(FREE, Ordering::Relaxed);
    }

    /// Whether a result of the slot is expected.
    pub fn awaits(&self, slot: u16) -> bool {
        self.letters.get(usize::from(slot)).is_some_and(|letter| letter.state.load(Ordering::Acquire) == WAITING)
    }

    /// Brings a result. Returns whether it was expected.
    pub fn post(&self, slot: u16, result: i32) -> bool {
        let Some(letter) = self.letters.get(usize::from(slot)) else { return false };
        // Whoever sets this state is the only one to bring the result.
        if letter.state.compare_exchange(WAITING, POSTED, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return false;
        }
        letter.result.store(result, Ordering::Relaxed);
        let (word, bit) = (usize::from(slot) / 64, 1 << (slot % 64));
        // Release: what the library has put into the slot comes before.
        let before = self.posted[word].fetch_or(bit, Ordering::Release);
        if let (0, Some(bell)) = (before, &self.bell) {
            // It fails only if it rings already.
            let _ = write(bell, &1_u64.to_ne_bytes());
        }
        true
    }

    /// Takes all results that are there, and returns how many.
    pub fn take(&self, mut each: impl FnMut(Completion)) -> usize {
        let mut all = 0;
        for (number, word) in self.posted.iter().enumerate() {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            // Acquire: with the release of `post`.
            let mut bits = word.swap(0, Ordering::Acquire);
            while bits != 0 {
                let slot = number * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let letter = &self.letters[slot];
                let result = letter.result.load(Ordering::Relaxed);
                letter.state.store(FREE, Ordering::Relaxed);
                each(Completion { slot: slot as u32, result });
                all += 1;
            }
        }
        all
    }

    /// Sleeps until the bell rings, at most for so long. One without a bell does not sleep.
    ///
    /// # Errors
    /// Those of poll(2).
    pub fn wait(&self, timeout_ns: u64) -> Result<(), LaneError> {
        let Some(bell) = self.bell() else { return Ok(()) };
        poll_for(&mut [PollFd::from_borrowed_fd(bell, PollFlags::IN)], timeout_ns).map(drop)
    }

    /// Forgets that the bell has rung. What is posted from here on rings again, if it is taken
    /// afterwards: so this comes before [`Mailbox::take`].
    pub fn hush(&self) {
        if let Some(bell) = &self.bell {
            let _ = read(bell, &mut [0; 8]);
        }
    }
}

/// The place to which a callback brings the result of a slot's operation.
#[derive(Debug)]
pub struct SlotArrival {
    mailbox: Arc<Mailbox>,
    slot: u16,
    /// Bytes that the operation moves if it succeeds.
    moves: AtomicU32,
    /// Whether the library says how many it has moved.
    counts: AtomicBool,
}

impl SlotArrival {
    /// One for each slot, at addresses that stay while the list lives.
    pub fn of_slots(mailbox: &Arc<Mailbox>, slots: usize) -> Box<[SlotArrival]> {
        let arrival = |slot| SlotArrival {
            mailbox: Arc::clone(mailbox),
            slot: slot as u16,
            moves: AtomicU32::new(0),
            counts: AtomicBool::new(false),
        };
        (0..slots).map(arrival).collect()
    }

    /// Expects a result. Returns whether the slot was free.
    pub fn begin(&self, moves: u32, counts: bool) -> bool {
        let is_free = self.mailbox.begin(self.slot);
        if is_free {
            // Relaxed: as in `Mailbox::begin`.
            self.moves.store(moves, Ordering::Relaxed);
            self.counts.store(counts, Ordering::Relaxed);
        }
        is_free
    }

    /// Undoes [`SlotArrival::begin`].
    pub fn cancel(&self) {
        self.mailbox.cancel(self.slot);
    }

    /// Brings what the library says: a negative errno, or how many bytes it has moved if it counts
    /// them. More than were asked for have not been.
    pub fn land(&self, value: i64) {
        let moves = i64::from(self.moves.load(Ordering::Relaxed));
        let result = match value {
            ..0 => value.max(-4095),
            _ if self.counts.load(Ordering::Relaxed) => value.min(moves),
            _ => moves,
        };
        self.mailbox.post(self.slot, result as i32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(mailbox: &Mailbox) -> Vec<(u32, i32)> {
        let mut all = Vec::new();
        mailbox.take(|done| all.push((done.slot, done.result)));
        all
    }

    #[test]
    fn a_result_comes_once_and_only_if_it_is_expected() {
        let mailbox = Mailbox::silent(130);
        assert!(!mailbox.post(7, 1), "nobody waits");
        assert!(mailbox.begin(7) && !mailbox.begin(7) && mailbox.begin(129) && !mailbox.begin(130));
        assert!(mailbox.awaits(7) && !mailbox.awaits(8) && !mailbox.awaits(999));
        assert!(mailbox.post(129, -5) && mailbox.post(7, 4096));
        assert!(!mailbox.post(7, 4096), "a second result of the operation");
        assert!(!mailbox.begin(7), "its result has not been taken");
        assert_eq!(taken(&mailbox), [(7, 4096), (129, -5)]);
        assert!(!mailbox.post(7, 4096), "a late one");
        assert!(mailbox.begin(7));
        mailbox.cancel(7);
        assert!(!mailbox.post(7, 1) && taken(&mailbox).is_empty());
    }

    #[test]
    fn what_lands_is_what_was_asked_for_at_most() {
        let mailbox = Arc::new(Mailbox::silent(2));
        let arrivals = SlotArrival::of_slots(&mailbox, 2);
        for (value, counts, result) in [
            (0, false, 512),
            (7, false, 512),
            (7, true, 7),
            (1 << 40, true, 512),
            (-5, true, -5),
            (-99_999, false, -4095),
        ] {
            assert!(arrivals[1].begin(512, counts) && !arrivals[1].begin(1, counts));
            arrivals[1].land(value);
            arrivals[1].land(3);
            assert_eq!(taken(&mailbox), [(1, result)], "{value}");
        }
        assert!(arrivals[0].begin(1, false));
        arrivals[0].cancel();
        arrivals[0].land(1);
        assert!(taken(&mailbox).is_empty());
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        const SLOTS: u16 = 100;
        const ROUNDS: usize = 50;
        let mailbox = Arc::new(Mailbox::with_bell(usize::from(SLOTS)).unwrap());
        for round in 0..ROUNDS {
            assert!((0..SLOTS).all(|slot| mailbox.begin(slot)));
            let threads: Vec<_> = (0..2_u16)
                .map(|odd| {
                    let mailbox = Arc::clone(&mailbox);
                    let post = move |slot| assert!(mailbox.post(slot, i32::from(slot) + round as i32));
                    std::thread::spawn(move || (0..SLOTS).filter(|slot| slot % 2 == odd).for_each(post))
                })
                .collect();
            let mut seen = vec![0; usize::from(SLOTS)];
            while seen.iter().sum::<u32>() < u32::from(SLOTS) {
                // With the bell, a sleep ends: without a time-out, a lost ring would hang here.
                mailbox.wait(u64::MAX).unwrap();
                mailbox.hush();
                mailbox.take(|done| {
                    assert_eq!(done.result, done.slot as i32 + round as i32);
                    seen[done.slot as usize] += 1;
                });
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(seen.iter().all(|count| *count == 1));
            // A ring that came for what had been taken already.
            mailbox.hush();
        }
    }
}
