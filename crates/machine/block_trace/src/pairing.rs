//! Matches issues with completions, and fills the histograms of one interval of one device.

use std::collections::HashMap;

use iolab_histogram::Histogram;
use iolab_recording::RequestInterval;

use crate::format::Fields;

/// The issue or the completion of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    /// Time on the clock of the ring, ns.
    pub(crate) time_ns: u64,
    pub(crate) completes: bool,
    pub(crate) fields: Fields,
}

/// No device has more requests in flight: with more waiting, older events were lost.
const MOST_WAITING: usize = 1 << 17;

/// The requests of one device.
#[derive(Debug)]
pub(crate) struct Pairing {
    /// Issue time and bytes of the requests in flight, by sector and direction.
    waiting: HashMap<(u64, bool), (u64, u64)>,
    /// Completion time of requests whose issue has not been seen yet, with the same key: the rings
    /// of processors are read one after the other, so that events of two processors may be read in
    /// the wrong order.
    early: HashMap<(u64, bool), u64>,
    latencies: [Box<Histogram>; 2],
    sizes: [Box<Histogram>; 2],
}

impl Pairing {
    pub(crate) fn new() -> Pairing {
        let pair = || [(); 2].map(|()| Box::new(Histogram::new()));
        Pairing { waiting: HashMap::new(), early: HashMap::new(), latencies: pair(), sizes: pair() }
    }

    /// Adds an event; those of one device ascend in time between two calls of the reader. A
    /// completion without a known issue waits for it; if the issue never comes, the completion is
    /// ignored.
    pub(crate) fn add(&mut self, event: &Event) {
        let Fields { sector, bytes, writes, other, .. } = event.fields;
        if other {
            return;
        }
        if self.waiting.len() + self.early.len() >= MOST_WAITING {
            self.lost_some();
        }
        let key = (sector, writes);
        match (event.completes, self.waiting.remove(&key)) {
            (true, Some((issued_ns, issued_bytes))) => {
                self.count(writes, event.time_ns.saturating_sub(issued_ns), issued_bytes)
            }
            (true, None) => {
                self.early.insert(key, event.time_ns);
            }
            // A completion before the issue belongs to another request, whose issue is unknown.
            (false, _) => match self.early.remove(&key).filter(|completed_ns| *completed_ns >= event.time_ns) {
                Some(completed_ns) => self.count(writes, completed_ns.saturating_sub(event.time_ns), bytes),
                None => {
                    self.waiting.insert(key, (event.time_ns, bytes));
                }
            },
        }
    }

    fn count(&mut self, writes: bool, latency_ns: u64, bytes: u64) {
        self.latencies[usize::from(writes)].add(latency_ns);
        self.sizes[usize::from(writes)].add(bytes);
    }

    /// Events were lost: waiting requests may have completed, and another request may use the same
    /// sector.
    pub(crate) fn lost_some(&mut self) {
        self.waiting.clear();
        self.early.clear();
    }

    /// Returns the histograms since the last call, and starts new ones.
    pub(crate) fn take(&mut self, start_ns: u64, length_ns: u64, lost_events: u64) -> RequestInterval {
        let [read_ns, write_ns] = self.latencies.each_ref().map(|histogram| histogram.to_sparse());
        let [read_bytes, write_bytes] = self.sizes.each_ref().map(|histogram| histogram.to_sparse());
        self.latencies.iter_mut().chain(&mut self.sizes).for_each(|histogram| histogram.clear());
        RequestInterval { start_ns, length_ns, read_ns, write_ns, read_bytes, write_bytes, lost_events }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time_ns: u64, completes: bool, sector: u64, writes: bool, bytes: u64) -> Event {
        Event { time_ns, completes, fields: Fields { dev: 1, sector, bytes, writes, other: false } }
    }

    #[test]
    fn requests_are_paired_across_intervals() {
        let mut pairing = Pairing::new();
        // A completion of an earlier request, two reads of which one ends later, and a write to the
        // same sector as a read.
        for event in [
            event(5, true, 77, false, 4096),
            event(10, false, 8, false, 4096),
            event(11, false, 16, false, 8192),
            event(12, false, 8, true, 512),
            event(40, true, 8, false, 4096),
        ] {
            pairing.add(&event);
        }
        let first = pairing.take(0, 100, 3);
        assert_eq!((first.read_ns.count, first.read_ns.max, first.write_ns.count), (1, 30, 0));
        assert_eq!((first.read_bytes.max, first.lost_events, first.length_ns), (4096, 3, 100));
        pairing.add(&event(111, true, 16, false, 8192));
        pairing.add(&event(112, true, 8, true, 512));
        let second = pairing.take(100, 100, 0);
        assert_eq!((second.read_ns.max, second.read_ns.count, second.read_bytes.min), (100, 1, 8192));
        assert_eq!((second.write_ns.max, second.write_bytes.max, second.lost_events), (100, 512, 0));
    }

    #[test]
    fn completions_may_be_found_before_their_issues() {
        let mut pairing = Pairing::new();
        // Read in one pass: a completion of an unknown request, and one whose issue comes in the
        // next pass.
        pairing.add(&event(90, true, 8, false, 4096));
        pairing.add(&event(150, true, 16, true, 512));
        pairing.add(&event(100, false, 16, true, 512));
        pairing.add(&event(110, false, 8, false, 4096));
        pairing.add(&event(130, true, 8, false, 4096));
        let interval = pairing.take(0, 200, 0);
        assert_eq!((interval.write_ns.count, interval.write_ns.sum, interval.write_bytes.sum), (1, 50, 512));
        assert_eq!((interval.read_ns.count, interval.read_ns.sum, interval.read_bytes.sum), (1, 20, 4096));
        assert!(pairing.waiting.is_empty() && pairing.early.is_empty());
    }

    #[test]
    fn a_loss_makes_no_long_latencies() {
        let mut pairing = Pairing::new();
        pairing.add(&event(10, false, 8, false, 4096));
        // Its completion and the issue of the next to that sector are among the lost.
        pairing.lost_some();
        pairing.add(&event(9000, true, 8, false, 4096));
        assert!(pairing.take(0, 1, 2).read_ns.is_empty());
    }

    #[test]
    fn what_is_neither_read_nor_write_and_what_is_issued_again() {
        let mut pairing = Pairing::new();
        let mut flush = event(1, false, 0, false, 0);
        flush.fields.other = true;
        pairing.add(&flush);
        pairing.add(&Event { completes: true, ..flush });
        // A requeued request counts from its last issue.
        pairing.add(&event(10, false, 8, false, 4096));
        pairing.add(&event(50, false, 8, false, 4096));
        pairing.add(&event(60, true, 8, false, 4096));
        let taken = pairing.take(0, 1, 0);
        assert_eq!((taken.read_ns.count, taken.read_ns.max), (1, 10));
    }
}
