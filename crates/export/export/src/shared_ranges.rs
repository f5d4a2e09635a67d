//! The range lock of a device that several exporters serve together, each with its own lane and
//! thread.
//!
//! ```text
//!  exporter 0, slots 0..n ─┐
//!  exporter 1, slots 0..n ─┼─▶ one range lock of all slots ─▶ freed slots, by exporter
//!  …                      ─┘
//! ```
//!
//! Gives the guarantees of [`RangeLock`] across all exporters. A change that had to wait is
//! released to its own exporter, which polls as long as it has waiting changes. Nothing here waits
//! or wakes a thread.

use std::sync::{Arc, PoisonError};

use super::sync::{Mutex, MutexGuard};
use crate::PoolMismatch;
use crate::range_lock::RangeLock;

/// The ranges being changed by all exporters of a device.
#[derive(Debug, Clone)]
pub struct SharedRanges {
    slots: usize,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    lock: RangeLock,
    /// Slots that may begin now, by exporter.
    freed: Box<[Vec<u16>]>,
    /// Filled by the lock, and emptied before the mutex is released.
    found: Vec<u16>,
}

/// One exporter's share of it.
#[derive(Debug)]
pub(crate) struct Share {
    ranges: SharedRanges,
    exporter: usize,
    /// Number of slots of this exporter that wait.
    waiting: usize,
}

impl SharedRanges {
    /// For this number of exporters with at most this number of slots each; all slots together are
    /// numbered with 16 bits.
    pub fn new(exporters: usize, slots: usize) -> Result<SharedRanges, PoolMismatch> {
        let all = exporters.saturating_mul(slots);
        if all == 0 || all > usize::from(u16::MAX) + 1 {
            return Err(PoolMismatch { slot_bytes: crate::slot_bytes(4096), slots: all });
        }
        let freed = (0..exporters).map(|_| Vec::with_capacity(slots)).collect();
        let state = State { lock: RangeLock::new(all), freed, found: Vec::with_capacity(all) };
        Ok(SharedRanges { slots, state: Arc::new(Mutex::new(state)) })
    }

    /// The share of exporter number `exporter`, which has `slots` slots; `None` if it exceeds what
    /// was announced.
    pub(crate) fn share(&self, exporter: usize, slots: usize) -> Option<Share> {
        let is_counted = slots <= self.slots && exporter < self.state().freed.len();
        is_counted.then(|| Share { ranges: self.clone(), exporter, waiting: 0 })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent between two calls, so that a panic of a thread leaves nothing
        // half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    fn number(&self, slot: u16) -> u16 {
        (self.exporter * self.ranges.slots) as u16 + slot
    }

    /// As [`RangeLock::enter`].
    #[inline]
    pub(crate) fn enter(&mut self, slot: u16, span: (u64, u64), partial: bool) -> bool {
        let enters = self.ranges.state().lock.enter(self.number(slot), span, partial);
        self.waiting += usize::from(!enters);
        enters
    }

    /// As [`RangeLock::leave`]; released slots of other exporters are left for their
    /// [`Share::collect`].
    #[inline]
    pub(crate) fn leave(&mut self, slot: u16, freed: &mut Vec<u16>) {
        let mut state = self.ranges.state();
        let State { lock, freed: of_others, found } = &mut *state;
        lock.leave(self.number(slot), found);
        for number in found.drain(..) {
            let (exporter, slot) = (usize::from(number) / self.ranges.slots, usize::from(number) % self.ranges.slots);
            of_others[exporter].push(slot as u16);
        }
        self.waiting -= of_others[self.exporter].len();
        freed.append(&mut of_others[self.exporter]);
    }

    /// Whether slots of this exporter wait.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Slots that others have released.
    pub(crate) fn collect(&mut self, freed: &mut Vec<u16>) {
        let mut state = self.ranges.state();
        let mine = &mut state.freed[self.exporter];
        self.waiting -= mine.len();
        freed.append(mine);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sync::model;
    use super::*;

    #[test]
    fn a_change_waits_for_another_exporter() {
        model(|| {
            let ranges = SharedRanges::new(2, 4).unwrap();
            let (mut one, mut two) = (ranges.share(0, 4).unwrap(), ranges.share(1, 4).unwrap());
            let mut freed = Vec::new();
            assert!(one.enter(3, (0, 512), true));
            assert!(!two.enter(3, (0, 1024), false), "the same slot number, the same block");
            assert!(two.enter(0, (1024, 2048), true), "another block");
            assert!(!one.enter(0, (1024, 1536), false));
            assert!(one.is_waiting() && two.is_waiting());
            one.leave(3, &mut freed);
            assert!(freed.is_empty(), "what is freed is the other's");
            two.collect(&mut freed);
            assert_eq!((freed.clone(), two.is_waiting()), (vec![3], false));
            freed.clear();
            two.leave(3, &mut freed);
            assert!(one.is_waiting());
            two.leave(0, &mut freed);
            assert!(freed.is_empty());
            one.collect(&mut freed);
            assert_eq!((freed, one.is_waiting()), (vec![0], false));
        });
    }

    #[test]
    fn only_those_that_were_counted_have_a_share() {
        model(|| {
            assert!(SharedRanges::new(0, 4).is_err() && SharedRanges::new(2, 40_000).is_err());
            let ranges = SharedRanges::new(2, 4).unwrap();
            assert!(ranges.share(2, 4).is_none() && ranges.share(0, 5).is_none());
        });
    }
}
