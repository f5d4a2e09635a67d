//! The progress of each worker of a replay, for the workers that are ordered after it.
#![allow(unsafe_code, reason = "island: one marker impl for a type made of an atomic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iolab_memory::{SharedRegion, SharedState};

/// One worker's count, alone on its cache line and the adjacent one.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Done {
    operations: AtomicU64,
}

// SAFETY: an atomic and padding, of which zero is a valid value.
unsafe impl SharedState for Done {}

/// The counts of all workers of a run.
#[derive(Debug, Clone)]
pub(crate) struct Progress(Arc<SharedRegion<Done>>);

impl Progress {
    pub(crate) fn new(workers: usize) -> std::io::Result<Progress> {
        Ok(Progress(Arc::new(SharedRegion::new(workers)?)))
    }

    /// This number of operations of a worker, counted from its first, are complete.
    #[inline]
    pub(crate) fn publish(&self, worker: usize, operations: u64) {
        if let Some(done) = self.0.get(worker) {
            done.operations.store(operations, Ordering::Release);
        }
    }

    /// The worker has ended: no other worker waits for it any more.
    pub(crate) fn finish(&self, worker: usize) {
        self.publish(worker, u64::MAX);
    }

    /// Whether this number of operations of a worker, counted from its first, are complete. True
    /// for a worker that does not exist.
    #[inline]
    pub(crate) fn has_reached(&self, worker: usize, operations: u64) -> bool {
        self.0.get(worker).is_none_or(|done| done.operations.load(Ordering::Acquire) >= operations)
    }
}
