//! A lane that completes everything at once, in each of the ways in which the loop tells lanes apart.
//!
//! It holds its depth as every lane does: an operation is in flight until it is reaped.

use iolab_engine::{Completion, Completions, Finished, Lane, LaneError, Op, OpKind, Submission, Wait};

/// The lane that does nothing.
#[derive(Debug)]
pub(super) struct Nothing<const SYNCHRONOUS: bool, const FUSES: bool> {
    in_flight: Finished,
}

impl<const SYNCHRONOUS: bool, const FUSES: bool> Nothing<SYNCHRONOUS, FUSES> {
    pub(super) fn new(depth: usize) -> Self {
        Nothing { in_flight: Finished::with_depth(depth) }
    }
}

impl<const S: bool, const F: bool> Lane for Nothing<S, F> {
    const SYNCHRONOUS: bool = S;
    const FUSES: bool = F;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.in_flight.is_full() {
            return Submission::Full;
        }
        let moved = if matches!(op.kind, OpKind::Read | OpKind::Write) { op.length as i32 } else { 0 };
        self.in_flight.push(Completion { slot: u32::from(op.slot), result: moved });
        Submission::Accepted
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        Ok(self.in_flight.drain_into(out))
    }
}
