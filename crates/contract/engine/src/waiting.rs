//! How lanes that sleep wait for completions: the loop of `reap`, and its poll(2).
//!
//! Deliberately not here: clocks. A lane says what time it is.

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

use crate::{Completions, LaneError, Wait};

/// A lane that collects completions, and sleeps when there are none.
pub trait Sleeper {
    /// The time, by the lane's clock.
    fn now_ns(&self) -> u64;

    /// How many operations are accepted and not collected.
    fn in_flight(&self) -> usize;

    /// Adds the completions that are there, and returns how many.
    ///
    /// # Errors
    /// The lane broke.
    fn collect(&mut self, out: &mut Completions) -> Result<usize, LaneError>;

    /// Sleeps until there may be completions, at most from `now_ns` to `end_ns`.
    ///
    /// # Errors
    /// The lane broke.
    fn sleep(&mut self, now_ns: u64, end_ns: u64) -> Result<(), LaneError>;
}

/// What of a wait can be fulfilled, when so many have been found: not more than there are, nor than
/// there is room for.
#[inline]
pub fn wanted(wait: Wait, found: usize, in_flight: usize, out: &Completions) -> usize {
    wait.at_least.min(found + in_flight).min(found + out.room_left())
}

/// Collects and sleeps until `out` has what `wait` asks for, or its time is over. Returns how many
/// have been found, with those that had been `found` before.
///
/// # Errors
/// The lane broke.
#[inline]
pub fn reap_rest<L: Sleeper>(
    lane: &mut L,
    wait: Wait,
    mut found: usize,
    out: &mut Completions,
) -> Result<usize, LaneError> {
    let wanted = wanted(wait, found, lane.in_flight(), out);
    let mut end_ns = None;
    while found < wanted {
        let now_ns = lane.now_ns();
        let end_ns = *end_ns.get_or_insert(now_ns.saturating_add(wait.timeout_ns));
        if now_ns >= end_ns {
            break;
        }
        lane.sleep(now_ns, end_ns)?;
        found += lane.collect(out)?;
    }
    Ok(found)
}

/// Waits until a descriptor of the list is ready, at most for so long. Returns whether one may be;
/// a signal ends the wait, too.
///
/// # Errors
/// Those of poll(2).
pub fn poll_for(list: &mut [PollFd<'_>], timeout_ns: u64) -> Result<bool, LaneError> {
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout_ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (timeout_ns % 1_000_000_000) as _,
    };
    match poll(list, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(LaneError { call: "poll", errno: errno.raw_os_error() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Completion;

    /// Completes one operation for each sleep, of which each takes a tick.
    struct Slow {
        now_ns: u64,
        slept: usize,
        in_flight: usize,
    }

    impl Sleeper for Slow {
        fn now_ns(&self) -> u64 {
            self.now_ns
        }

        fn in_flight(&self) -> usize {
            self.in_flight
        }

        fn collect(&mut self, out: &mut Completions) -> Result<usize, LaneError> {
            out.push(Completion { slot: self.slept as u32, result: 0 });
            self.in_flight -= 1;
            Ok(1)
        }

        fn sleep(&mut self, now_ns: u64, end_ns: u64) -> Result<(), LaneError> {
            assert!(now_ns < end_ns, "a sleep has a length");
            self.slept += 1;
            self.now_ns += 10;
            Ok(())
        }
    }

    #[test]
    fn a_wait_ends_with_what_it_asks_for_or_can_have_or_with_its_time() {
        // At least, time-out, in flight, room, found before: what is found, and the sleeps.
        let table = [
            (0, u64::MAX, 4, 4, 0, (0, 0)),
            (3, u64::MAX, 4, 4, 0, (3, 3)),
            (3, u64::MAX, 4, 4, 2, (3, 1)),
            (9, u64::MAX, 4, 8, 0, (4, 4)),
            (9, u64::MAX, 4, 2, 0, (2, 2)),
            (4, 15, 4, 4, 0, (2, 2)),
            (4, 0, 4, 4, 0, (0, 0)),
        ];
        for (at_least, timeout_ns, in_flight, room, before, expected) in table {
            let mut lane = Slow { now_ns: 5, slept: 0, in_flight };
            let mut out = Completions::with_room(room);
            let found = reap_rest(&mut lane, Wait { at_least, timeout_ns }, before, &mut out).unwrap();
            assert_eq!((found, lane.slept), expected, "{at_least} {timeout_ns} {in_flight} {room} {before}");
        }
    }
}
