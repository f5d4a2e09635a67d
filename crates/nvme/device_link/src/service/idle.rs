//! Decides when a polling thread may sleep.
//!
//! A doorbell in memory wakes no thread. A thread therefore polls while there was work recently.
//! After that it sleeps between polls; the sleeps become longer if there is no work for long. A
//! device in use answers at once; an idle one uses almost no processor time.

use std::time::Duration;

/// Polls without work before the first sleep: some milliseconds on an idle processor.
const PATIENCE: u32 = 100_000;
/// The shortest sleep, which is the initial delay of a driver that becomes active again.
const SHORT: Duration = Duration::from_micros(50);
/// The number of sleeps of this length before they become longer: a few seconds.
const MANY: u32 = 40_000;
/// The longest sleep.
const LONG: Duration = Duration::from_millis(2);

/// Counts polls and sleeps since the last work.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    polls: u32,
    rests: u32,
}

impl Idle {
    /// Records whether a poll found work; returns how long to sleep before the next one.
    #[inline]
    pub(crate) fn after(&mut self, worked: bool) -> Option<Duration> {
        if worked {
            *self = Idle::default();
            return None;
        }
        if self.polls < PATIENCE {
            self.polls += 1;
            return None;
        }
        self.rests = self.rests.saturating_add(1);
        Some(if self.rests > MANY { LONG } else { SHORT })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_come_after_patience_grow_longer_and_end_with_work() {
        let mut idle = Idle::default();
        assert!((0..PATIENCE).all(|_| idle.after(false).is_none()));
        assert!((0..MANY).all(|_| idle.after(false) == Some(SHORT)));
        assert_eq!(idle.after(false), Some(LONG));
        assert_eq!(idle.after(true), None);
        assert!((0..PATIENCE).all(|_| idle.after(false).is_none()));
        assert_eq!(idle.after(false), Some(SHORT));
    }
}
