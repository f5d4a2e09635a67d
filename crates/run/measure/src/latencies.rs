//! Latencies of one direction.

use iolab_histogram::Histogram;

/// The three latencies of one direction.
#[derive(Debug, Default, Clone)]
pub(crate) struct Latencies {
    pub(crate) slat: Histogram,
    pub(crate) clat: Histogram,
    pub(crate) lat: Histogram,
}

impl Latencies {
    /// Counts operations that were submitted the moment they began.
    pub(crate) fn add_at_once(&mut self, at_once: &Histogram, slat: bool) {
        let count = at_once.count();
        if count == 0 {
            return;
        }
        if slat {
            self.slat.add_many(0, count);
        }
        self.clat.add_all_of(at_once);
        self.lat.add_all_of(at_once);
    }
}
