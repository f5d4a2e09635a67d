//! Waking up in time: sleep for most of a wait, spin for the rest of it.
//!
//! Kernel timers wake some tens of microseconds late; how late depends on the machine and its load.
//! Spinning for that time is exact, but uses a processor: on a busy machine the scheduler then
//! preempts the spinning thread. So the alarm tracks the median lateness of its own wake-ups, and
//! spins for twice that time.

use iolab_clock::Clock;

const SPIN_AT_LEAST_NS: u64 = 4_000;
const SPIN_AT_MOST_NS: u64 = 60_000;
const STEP_NS: u64 = 500;

/// Wakes a thread at given times.
#[derive(Debug)]
pub(crate) struct Alarm {
    median_late_ns: u64,
    /// When a wait elsewhere must end; 0 if no wait is in progress.
    set_ns: u64,
}

impl Alarm {
    /// An alarm that expects the latest possible wake-ups.
    pub(crate) fn new() -> Alarm {
        Alarm { median_late_ns: SPIN_AT_MOST_NS / 2, set_ns: 0 }
    }

    /// How long before its time a wait should end and spinning begin, ns.
    #[inline]
    pub(crate) fn spin_ns(&self) -> u64 {
        (2 * self.median_late_ns).clamp(SPIN_AT_LEAST_NS, SPIN_AT_MOST_NS)
    }

    /// Returns at `due_ns`.
    pub(crate) fn wait_until(&mut self, clock: &Clock, due_ns: u64) {
        let wake_ns = due_ns.saturating_sub(self.spin_ns());
        if clock.now_ns() < wake_ns {
            clock.sleep_until(wake_ns, 0);
            self.woke(clock.now_ns().saturating_sub(wake_ns));
        }
        clock.sleep_until(due_ns, u64::MAX);
    }

    /// How long a wait elsewhere may last if it must return by `due_ns`, ns; 0 when the remaining
    /// time must be spent spinning.
    pub(crate) fn set(&mut self, due_ns: u64, now_ns: u64) -> u64 {
        self.set_ns = due_ns.saturating_sub(self.spin_ns());
        let wait_ns = self.set_ns.saturating_sub(now_ns);
        if wait_ns == 0 {
            self.set_ns = 0;
        }
        wait_ns
    }

    /// The wait ended because its time was up.
    pub(crate) fn rang(&mut self, now_ns: u64) {
        if let Some(late_ns) = now_ns.checked_sub(self.set_ns).filter(|_| self.set_ns > 0) {
            self.woke(late_ns);
        }
        self.set_ns = 0;
    }

    /// Moves the median a step towards this lateness.
    fn woke(&mut self, late_ns: u64) {
        let median = &mut self.median_late_ns;
        *median = if late_ns > *median { *median + STEP_NS } else { median.saturating_sub(STEP_NS) };
        *median = (*median).min(SPIN_AT_MOST_NS / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_spins_for_twice_the_median_lateness() {
        for (least_ns, spread, expected_ns) in [(0, 1, 4_000..=4_000), (6_000, 5, 14_000..=18_000)] {
            let mut alarm = Alarm::new();
            (0..10_000).for_each(|n| alarm.woke(least_ns + n % spread * 1_000));
            assert!(expected_ns.contains(&alarm.spin_ns()), "{}", alarm.spin_ns());
        }
        let mut busy = Alarm::new();
        (0..1000).for_each(|n| busy.woke(if n % 3 == 1 { 10_000 } else { 5_000_000 }));
        assert!((58_000..=60_000).contains(&busy.spin_ns()), "never longer than that");
    }

    #[test]
    fn waits_of_others_count_when_time_ended_them() {
        let mut alarm = Alarm::new();
        let before_ns = alarm.spin_ns();
        assert_eq!(alarm.set(100_000, 10_000), 100_000 - before_ns - 10_000);
        alarm.rang(100_000 - before_ns);
        assert_eq!(alarm.spin_ns(), before_ns - 2 * STEP_NS);
        assert_eq!(alarm.set(100_000, 99_000), 0, "too late to sleep");
        alarm.rang(99_500);
        assert_eq!(alarm.spin_ns(), before_ns - 2 * STEP_NS, "nobody slept");
    }

    #[test]
    fn it_returns_when_due() {
        let clock = Clock::simulated(0);
        let mut alarm = Alarm::new();
        for due_ns in [5, 100_000, 100_001, 90_000] {
            let before_ns = clock.now_ns();
            alarm.wait_until(&clock, due_ns);
            assert_eq!(clock.now_ns(), due_ns.max(before_ns));
        }
    }
}
