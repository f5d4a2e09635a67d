//! The series of operations per interval, on a grid that all workers of a run share.

use iolab_plan::PerDirection;
use iolab_recording::Interval;

/// What a worker has done so far: operations and bytes, by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Operations completed.
    pub ios: PerDirection<u64>,
    /// Bytes moved.
    pub bytes: PerDirection<u64>,
}

/// Cuts running totals into intervals. The grid is `origin + k * length`, so the series of several
/// workers can be added interval by interval.
#[derive(Debug)]
pub struct IntervalSeries {
    origin_ns: u64,
    length_ns: u64,
    begun_ns: u64,
    next_end_ns: u64,
    at_begin: Totals,
    finished: Vec<Interval>,
}

impl IntervalSeries {
    /// A series on the grid from `origin_ns` (the start of the run) in steps of `length_ns`, with
    /// room for `expected` intervals before it must grow.
    pub fn new(origin_ns: u64, length_ns: u64, expected: usize) -> IntervalSeries {
        IntervalSeries {
            origin_ns,
            length_ns: length_ns.max(1),
            begun_ns: origin_ns,
            next_end_ns: u64::MAX,
            at_begin: Totals::default(),
            finished: Vec::with_capacity(expected.min(1 << 20)),
        }
    }

    /// Begins counting now; the first interval ends at the next line of the grid.
    pub fn start(&mut self, now_ns: u64) {
        let steps = now_ns.saturating_sub(self.origin_ns) / self.length_ns;
        self.begun_ns = now_ns;
        self.next_end_ns = self.origin_ns + (steps + 1) * self.length_ns;
        self.at_begin = Totals::default();
        self.finished.clear();
    }

    /// When [`IntervalSeries::roll`] must be called next.
    pub fn next_end_ns(&self) -> u64 {
        self.next_end_ns
    }

    /// Closes every interval that ended by `now_ns`. `totals` are the totals before anything that
    /// completed now.
    pub fn roll(&mut self, now_ns: u64, totals: &Totals) {
        while now_ns >= self.next_end_ns {
            let end_ns = self.next_end_ns;
            self.close(end_ns, totals);
            self.next_end_ns = end_ns + self.length_ns;
        }
    }

    /// Closes the last, usually shorter interval.
    pub fn finish(&mut self, now_ns: u64, totals: &Totals) {
        self.roll(now_ns, totals);
        if now_ns > self.begun_ns {
            self.close(now_ns, totals);
        } else if let Some(last) = self.finished.last_mut() {
            // Completions stamped exactly on the line belong to the interval that it closes: none
            // follows.
            for index in 0..3 {
                last.ios[index] += totals.ios[index] - self.at_begin.ios[index];
                last.bytes[index] += totals.bytes[index] - self.at_begin.bytes[index];
            }
            self.at_begin = *totals;
        }
        self.next_end_ns = u64::MAX;
    }

    fn close(&mut self, end_ns: u64, totals: &Totals) {
        let mut interval = Interval {
            start_ns: self.begun_ns.saturating_sub(self.origin_ns),
            length_ns: end_ns - self.begun_ns,
            ..Interval::default()
        };
        for index in 0..3 {
            interval.ios[index] = totals.ios[index] - self.at_begin.ios[index];
            interval.bytes[index] = totals.bytes[index] - self.at_begin.bytes[index];
        }
        self.finished.push(interval);
        self.begun_ns = end_ns;
        self.at_begin = *totals;
    }

    /// The closed intervals.
    pub fn finished(&self) -> &[Interval] {
        &self.finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(ios: u64) -> Totals {
        Totals { ios: [ios, 0, 0], bytes: [ios * 512, 0, 0] }
    }

    #[test]
    fn intervals_lie_on_the_grid_and_lose_nothing() {
        let mut series = IntervalSeries::new(1_000, 100, 8);
        series.start(1_030);
        assert_eq!(series.next_end_ns(), 1_100);
        series.roll(1_090, &totals(5));
        series.roll(1_310, &totals(7)); // three lines passed while nothing completed
        series.finish(1_350, &totals(9));
        let seen: Vec<_> = series.finished().iter().map(|i| (i.start_ns, i.length_ns, i.ios[0])).collect();
        assert_eq!(seen, [(30, 70, 7), (100, 100, 0), (200, 100, 0), (300, 50, 2)]);
    }

    #[test]
    fn completions_on_the_last_line_are_counted() {
        let mut series = IntervalSeries::new(0, 100, 8);
        series.start(0);
        series.finish(100, &totals(3));
        assert_eq!(series.finished().iter().map(|i| i.ios[0]).sum::<u64>(), 3);
    }
}
