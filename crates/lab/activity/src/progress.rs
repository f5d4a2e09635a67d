//! How far something is that takes longer than a moment: how much of it, how fast, how long still.
//!
//! [`Pace`] is arithmetic and words. [`Progress`] shows them to a [`Console`], which a person at a
//! terminal sees in one place and everybody else does not. Both are asked between pieces of work;
//! what is not due yet costs one look at a clock.

use iolab_clock::Clock;

use crate::Console;

/// What takes less is over before anybody wonders.
const PATIENCE_NS: u64 = 2_000_000_000;
/// Between two lines.
const EVERY_NS: u64 = 500_000_000;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, shown in MiB.
    Bytes,
    /// Things, by their name for several of them.
    Things(&'static str),
}

/// Rate and time left of one piece of work.
#[derive(Debug, Clone)]
pub struct Pace {
    what: String,
    unit: Unit,
    total: Option<u64>,
    begun_ns: u64,
    next_ns: u64,
}

impl Pace {
    /// Work that begins now; `total` is 0 or `None` where nobody knows how much it is.
    pub fn new(what: impl Into<String>, unit: Unit, total: Option<u64>, now_ns: u64) -> Pace {
        let total = total.filter(|total| *total > 0);
        Pace { what: what.into(), unit, total, begun_ns: now_ns, next_ns: now_ns.saturating_add(PATIENCE_NS) }
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
            Unit::Bytes => (amount(done >> 20, self.total.map(|total| total >> 20), "MiB"), mebibytes(rate)),
            Unit::Things(name) => (amount(done, self.total, name), format!("{rate:.1} {name}/s")),
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

/// A forecast is no measurement: two units are enough.
fn rough_time(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

fn mebibytes(rate: f64) -> String {
    let mebibytes = rate / f64::from(1 << 20);
    if mebibytes < 10.0 { format!("{mebibytes:.1} MiB/s") } else { format!("{mebibytes:.0} MiB/s") }
}

/// A pace that is shown.
pub struct Progress<'c> {
    console: &'c dyn Console,
    clock: Clock,
    pace: Pace,
    is_shown: bool,
}

impl<'c> Progress<'c> {
    /// Work that begins now.
    pub fn new(console: &'c dyn Console, what: impl Into<String>, unit: Unit, total: Option<u64>) -> Progress<'c> {
        let clock = Clock::monotonic();
        let pace = Pace::new(what, unit, total, clock.now_ns());
        Progress { console, clock, pace, is_shown: false }
    }

    /// So much of it is done.
    pub fn at(&mut self, done: u64) {
        if let Some(line) = self.pace.due(done, self.clock.now_ns()) {
            self.console.status(&line);
            self.is_shown = true;
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if self.is_shown {
            self.console.status("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_line_says_how_much_how_fast_and_how_long() {
        let pace = |unit, total| Pace::new("copying a", unit, total, 5 * SECOND);
        for (unit, total, done, expected) in [
            (
                Unit::Bytes,
                Some(4096 << 20),
                1024 << 20,
                "copying a: 1024 of 4096 MiB (25 %), 256 MiB/s, about 12 s left",
            ),
            (Unit::Bytes, None, 10 << 20, "copying a: 10 MiB, 2.5 MiB/s"),
            (Unit::Things("trials"), Some(30), 10, "copying a: 10 of 30 trials (33 %), 2.5 trials/s, about 8 s left"),
            (Unit::Things("trials"), Some(30), 0, "copying a: 0 of 30 trials (0 %)"),
            // It has become more than anybody knew.
            (Unit::Things("trials"), Some(30), 40, "copying a: 40 of 30 trials (100 %), 10.0 trials/s, about 0 s left"),
        ] {
            assert_eq!(pace(unit, total).line(done, 9 * SECOND), expected);
        }
    }

    #[test]
    fn time_left_is_told_in_two_units_at_most() {
        for (seconds, expected) in [(0.2, "1 s"), (119.0, "119 s"), (185.0, "3 min 5 s"), (7290.0, "2 h 1 min")] {
            assert_eq!(rough_time(seconds), expected);
        }
    }

    #[test]
    fn what_is_soon_over_is_not_spoken_of_and_the_rest_twice_a_second() {
        let mut pace = Pace::new("a", Unit::Bytes, Some(100), 0);
        let mut told = Vec::new();
        for tenth in 0..=40_u64 {
            told.extend(pace.due(tenth, tenth * SECOND / 10).map(|_| tenth));
        }
        assert_eq!(told, [20, 25, 30, 35, 40]);
    }
}
