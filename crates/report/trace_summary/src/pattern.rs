//! The access pattern of one file: each transfer compared with the one before.

use iolab_trace::{Effect, Operation};

/// Counts of transfers by their offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pattern {
    /// Transfers with a known offset, the first included.
    pub placed: u64,
    /// Transfers that begin where the last one of the same kind ended.
    pub sequential: u64,
    /// Transfers that begin where the last one of the same kind began: a repeat.
    pub again: u64,
    last: Option<(u64, u64)>,
}

impl Pattern {
    /// Counts a transfer; ignores other operations.
    pub fn add(&mut self, operation: &Operation) {
        let is_transfer = matches!(operation.call.effect(), Effect::Read | Effect::Write | Effect::Discard);
        let Some(offset) = operation.offset.filter(|_| is_transfer && !operation.has_failed()) else { return };
        self.placed += 1;
        if let Some((begin, end)) = self.last {
            self.sequential += u64::from(offset == end && operation.bytes() > 0);
            self.again += u64::from(offset == begin && begin != end);
        }
        self.last = Some((offset, offset + operation.bytes()));
    }

    /// The share of one of the counts among the transfers that have a predecessor.
    pub fn share(&self, count: u64) -> Option<f64> {
        let followers = self.placed.saturating_sub(1);
        (followers > 0).then(|| count as f64 / followers as f64)
    }
}
