//! `--start-at`: the first operations begin at a moment that was agreed on, such as one that a
//! launcher told all ranks.

use iolab_clock::Clock;
use iolab_runner::{Event, RunObserver, Start, Wish};

/// How long before the moment the run is told; until then it can still be interrupted, ns.
const AHEAD_NS: u64 = 1_000_000_000;

/// Delays the start of a run, and passes on all else.
pub(crate) struct StartsAt<'a> {
    inner: &'a mut dyn RunObserver,
    /// The moment, ns since the Unix epoch.
    unix_ns: u64,
    clock: Clock,
    /// How long after it the workers were ready, ns.
    late_ns: Option<u64>,
}

impl<'a> StartsAt<'a> {
    pub(crate) fn new(inner: &'a mut dyn RunObserver, unix_ns: u64, clock: Clock) -> StartsAt<'a> {
        StartsAt { inner, unix_ns, clock, late_ns: None }
    }

    /// What the user must know of a start that came too late.
    pub(crate) fn warning(&self) -> Option<String> {
        let late_ns = self.late_ns.filter(|late_ns| *late_ns > 0)?;
        Some(format!(
            "the moment of --start-at had passed for {:.3} s when the workers were ready: the run began at once, later than agreed",
            late_ns as f64 / 1e9
        ))
    }
}

impl RunObserver for StartsAt<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        self.inner.take(event)
    }

    fn follows_intervals(&self) -> bool {
        self.inner.follows_intervals()
    }

    fn start(&mut self) -> Start {
        let now_ns = self.clock.unix_ns();
        if now_ns.saturating_add(AHEAD_NS) < self.unix_ns {
            return Start::Later;
        }
        self.late_ns = Some(now_ns.saturating_sub(self.unix_ns));
        Start::At(self.unix_ns)
    }

    fn wear_out(&mut self, job: &str, reached: u64) -> Option<u64> {
        self.inner.wear_out(job, reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;
    impl RunObserver for Nobody {
        fn take(&mut self, _: &Event<'_>) -> Wish {
            Wish::Nothing
        }
    }

    #[test]
    fn it_waits_until_shortly_before_and_says_when_it_was_late() {
        const MOMENT_NS: u64 = 10_000_000_000;
        for (now_ns, start, is_late) in [
            (0, Start::Later, false),
            (MOMENT_NS - AHEAD_NS - 1, Start::Later, false),
            (MOMENT_NS - AHEAD_NS, Start::At(MOMENT_NS), false),
            (MOMENT_NS, Start::At(MOMENT_NS), false),
            (MOMENT_NS + 1, Start::At(MOMENT_NS), true),
        ] {
            let mut nobody = Nobody;
            let mut starts = StartsAt::new(&mut nobody, MOMENT_NS, Clock::simulated(now_ns));
            assert_eq!((starts.start(), starts.warning().is_some()), (start, is_late), "{now_ns}");
        }
    }
}
