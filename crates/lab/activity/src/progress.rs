//! The progress of long work: how much is done, how fast, and how long it will still take.
//!
//! [`RateEstimate`] is arithmetic and words. [`ProgressLine`] shows them on a [`Console`], as one
//! changing line on a terminal and not at all elsewhere. Both are called between pieces of work; a
//! call that is not due costs one reading of the clock. [`watched`] calls them from a separate
//! thread, for work that has no pieces.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use iolab_clock::Clock;

use crate::Console;

/// Shorter work shows no progress.
const PATIENCE_NS: u64 = 2_000_000_000;
/// Time between two lines.
const EVERY_NS: u64 = 500_000_000;

/// Less than this is shown in KiB.
const SMALL_BYTES: u64 = 10 << 20;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Bytes, shown in MiB, or in KiB if there are few.
    Bytes,
    /// Things, by their plural name.
    Things(&'static str),
    /// Nothing countable: only the elapsed time is shown.
    Uncounted,
}

/// Rate and time left of one piece of work.
#[derive(Debug, Clone)]
pub struct RateEstimate {
    what: String,
    unit: ProgressUnit,
    total: Option<u64>,
    begun_ns: u64,
    next_ns: u64,
}

impl RateEstimate {
    /// Work that begins now; `total` is 0 or `None` if it is unknown.
    pub fn new(what: impl Into<String>, unit: ProgressUnit, total: Option<u64>, now_ns: u64) -> RateEstimate {
        let total = total.filter(|total| *total > 0);
        RateEstimate { what: what.into(), unit, total, begun_ns: now_ns, next_ns: now_ns.saturating_add(PATIENCE_NS) }
    }

    /// The line to show, if it is time for one.
    pub fn due(&mut self, done: u64, now_ns: u64) -> Option<String> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns.saturating_add(EVERY_NS);
        Some(self.line(done, now_ns))
    }

    /// `laying out it.data: 512 of 4096 MiB (13 %), 130 MiB/s, about 28 s left`.
    pub fn line(&self, done: u64, now_ns: u64) -> String {
        let seconds = now_ns.saturating_sub(self.begun_ns) as f64 / 1e9;
        let rate = done as f64 / seconds.max(1e-9);
        let (amount, speed) = match self.unit {
            ProgressUnit::Uncounted => return format!("{}: {} so far", self.what, rough_time(seconds.floor())),
            ProgressUnit::Bytes => {
                let (shift, unit) = if self.total.unwrap_or(done) < SMALL_BYTES { (10, "KiB") } else { (20, "MiB") };
                let speed = rate / f64::from(1_u32 << shift);
                let digits = usize::from(speed < 10.0);
                (
                    amount(done >> shift, self.total.map(|total| total >> shift), unit),
                    format!("{speed:.digits$} {unit}/s"),
                )
            }
            ProgressUnit::Things(name) => (amount(done, self.total, name), format!("{rate:.1} {name}/s")),
        };
        let mut line = format!("{}: {amount}", self.what);
        if let Some(total) = self.total {
            line += &format!(" ({:.0} %)", (done.min(total) as f64 * 100.0 / total as f64).floor());
        }
        if done > 0 {
            line += &format!(", {speed}");
        }
        if let Some(total) = self.total.filter(|_| done > 0) {
            line += &format!(", about {} left", rough_time(total.saturating_sub(done) as f64 / rate));
        }
        line
    }
}

fn amount(done: u64, total: Option<u64>, name: &str) -> String {
    match total {
        Some(total) => format!("{done} of {total} {name}"),
        None => format!("{done} {name}"),
    }
}

/// A forecast is not precise: two units are enough.
fn rough_time(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Progress shown on a console.
pub struct ProgressLine<'c> {
    console: &'c dyn Console,
    clock: Clock,
    pace: RateEstimate,
    is_shown: bool,
}

impl<'c> ProgressLine<'c> {
    /// Work that begins now.
    pub fn new(
        console: &'c dyn Console,
        what: impl Into<String>,
        unit: ProgressUnit,
        total: Option<u64>,
    ) -> ProgressLine<'c> {
        let clock = Clock::monotonic();
        let pace = RateEstimate::new(what, unit, total, clock.now_ns());
        ProgressLine { console, clock, pace, is_shown: false }
    }

    /// Reports how much is done.
    pub fn at(&mut self, done: u64) {
        if let Some(line) = self.pace.due(done, self.clock.now_ns()) {
            self.console.status(&line);
            self.is_shown = true;
        }
    }
}

impl Drop for ProgressLine<'_> {
    fn drop(&mut self) {
        if self.is_shown {
            self.console.status("");
        }
    }
}

/// Does `work`, and shows its progress meanwhile: the count in `done`, of `total` if that is known.
pub fn watched<T>(
    console: &dyn Console,
    what: String,
    unit: ProgressUnit,
    total: Option<u64>,
    done: &AtomicU64,
    work: impl FnOnce() -> T,
) -> T {
    std::thread::scope(|scope| {
        let (running, over) = channel::<()>();
        scope.spawn(move || {
            let mut progress = ProgressLine::new(console, what, unit, total);
            while over.recv_timeout(Duration::from_nanos(EVERY_NS)) == Err(RecvTimeoutError::Timeout) {
                progress.at(done.load(Ordering::Relaxed));
            }
        });
        let outcome = work();
        drop(running);
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_line_says_how_much_how_fast_and_how_long() {
        let pace = |unit, total| RateEstimate::new("copying a", unit, total, 5 * SECOND);
        for (unit, total, done, expected) in [
            (
                ProgressUnit::Bytes,
                Some(4096 << 20),
                1024 << 20,
                "copying a: 1024 of 4096 MiB (25 %), 256 MiB/s, about 12 s left",
            ),
            (ProgressUnit::Bytes, None, 10 << 20, "copying a: 10 MiB, 2.5 MiB/s"),
            (ProgressUnit::Bytes, Some(80 << 10), 40 << 10, "copying a: 40 of 80 KiB (50 %), 10 KiB/s, about 4 s left"),
            (
                ProgressUnit::Things("trials"),
                Some(30),
                10,
                "copying a: 10 of 30 trials (33 %), 2.5 trials/s, about 8 s left",
            ),
            (ProgressUnit::Things("trials"), Some(30), 0, "copying a: 0 of 30 trials (0 %)"),
            (ProgressUnit::Uncounted, None, 0, "copying a: 4 s so far"),
            // There is more work than expected.
            (
                ProgressUnit::Things("trials"),
                Some(30),
                40,
                "copying a: 40 of 30 trials (100 %), 10.0 trials/s, about 0 s left",
            ),
        ] {
            assert_eq!(pace(unit, total).line(done, 9 * SECOND), expected);
        }
    }

    #[test]
    fn watched_work_answers_and_ends_its_watcher() {
        let done = AtomicU64::new(0);
        let work = || done.fetch_add(7, Ordering::Relaxed) + 1;
        assert_eq!(watched(&crate::Silent, "a".into(), ProgressUnit::Bytes, Some(7), &done, work), 1);
        let caught = std::panic::catch_unwind(|| {
            watched(&crate::Silent, "b".into(), ProgressUnit::Uncounted, None, &AtomicU64::new(0), || panic!("within"))
        });
        assert!(caught.is_err());
    }

    #[test]
    fn time_left_is_told_in_two_units_at_most() {
        for (seconds, expected) in [(0.2, "1 s"), (119.0, "119 s"), (185.0, "3 min 5 s"), (7290.0, "2 h 1 min")] {
            assert_eq!(rough_time(seconds), expected);
        }
    }

    #[test]
    fn what_is_soon_over_is_not_spoken_of_and_the_rest_twice_a_second() {
        let mut pace = RateEstimate::new("a", ProgressUnit::Bytes, Some(100), 0);
        let mut told = Vec::new();
        for tenth in 0..=40_u64 {
            told.extend(pace.due(tenth, tenth * SECOND / 10).map(|_| tenth));
        }
        assert_eq!(told, [20, 25, 30, 35, 40]);
    }
}
