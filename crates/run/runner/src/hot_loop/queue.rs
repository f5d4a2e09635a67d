//! The depth of the hot loop's queue, how it is filled, and why filling paused.

/// Depth and batching according to the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) depth: usize,
    /// Operations per flush.
    pub(crate) burst: usize,
    /// While the lane holds this many, a flush submits as many as there is room for.
    pub(crate) busy_at: usize,
    /// Completions to wait for when the queue is full; 0 polls.
    pub(crate) wait_for: usize,
    /// Refill only when no more than this many are in flight.
    pub(crate) refill_at: usize,
}

impl Queue {
    /// The number of operations of the next flush, if the lane holds this many already.
    #[inline(always)]
    pub(crate) fn burst_beside(&self, flushed: usize) -> usize {
        if flushed >= self.busy_at { self.depth } else { self.burst }
    }
}

/// Why submission paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The queue is full, or the lane takes no more.
    Full,
    /// The schedule holds the next operation back until this time, ns.
    Until(u64),
    /// The stream is over.
    Over,
}
