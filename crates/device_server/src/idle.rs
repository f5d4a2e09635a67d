//! When a polling thread may rest.
//!
//! Drivers ring doorbells in memory, which wakes nobody. So a thread polls as long as there was work lately, then rests
//! for times that grow with how long there was none: a device in use answers at once, a forgotten one costs next to
//! nothing.

use std::time::Duration;

/// Polls without work before the first rest: some milliseconds of a processor that does nothing else.
const PATIENCE: u32 = 100_000;
/// The shortest rest, which is what a driver that comes back waits at first.
const SHORT: Duration = Duration::from_micros(50);
/// Rests after which there are longer ones: a few seconds.
const MANY: u32 = 40_000;
/// The longest rest.
const LONG: Duration = Duration::from_millis(2);

/// Counts what was in vain.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    polls: u32,
    rests: u32,
}

impl Idle {
    /// Tells what a round of polls has brought; how long to rest before the next one.
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
