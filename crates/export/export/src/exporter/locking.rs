//! Which range lock an exporter uses: one of its own, or its share of one that others use, too.
//!
//! An exporter that serves a device alone pays for no mutex.

use crate::range_lock::RangeLock;
use crate::shared_ranges::Share;

#[derive(Debug)]
pub(super) enum Locking {
    Alone(RangeLock),
    Shared(Share),
}

impl Locking {
    pub(super) fn alone(slots: usize) -> Locking {
        Locking::Alone(RangeLock::new(slots))
    }

    #[inline]
    pub(super) fn enter(&mut self, slot: u16, span: (u64, u64), partial: bool) -> bool {
        match self {
            Locking::Alone(lock) => lock.enter(slot, span, partial),
            Locking::Shared(share) => share.enter(slot, span, partial),
        }
    }

    #[inline]
    pub(super) fn leave(&mut self, slot: u16, freed: &mut Vec<u16>) {
        match self {
            Locking::Alone(lock) => lock.leave(slot, freed),
            Locking::Shared(share) => share.leave(slot, freed),
        }
    }

    /// Whether slots wait for another exporter, so that it has to be asked for them. Those that
    /// wait for a slot of their own exporter alone are freed when that is finished.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        match self {
            Locking::Alone(_) => false,
            Locking::Shared(share) => share.is_waiting(),
        }
    }

    pub(super) fn collect(&mut self, freed: &mut Vec<u16>) {
        if let Locking::Shared(share) = self {
            share.collect(freed);
        }
    }
}
