//! The range lock of an exporter: its own, or its share of one that several exporters use.
//!
//! An exporter that serves a device alone needs no mutex.

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

    /// Whether slots wait for another exporter, so that the lock has to be polled. A slot that
    /// waits for another slot of its own exporter is released when that finishes.
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
