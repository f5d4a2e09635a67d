//! A lane that completes everything at once, in each of the ways in which the loop tells lanes
//! apart.
//!
//! It respects its depth as every lane does: an operation is in flight until it is reaped.

use iolab_engine::{Completion, CompletionRow, Completions, Lane, LaneError, Op, Submission, Wait};

/// The lane that does nothing.
#[derive(Debug)]
pub(crate) struct Nothing<const SYNCHRONOUS: bool, const FUSES: bool> {
    in_flight: CompletionRow,
}

impl<const SYNCHRONOUS: bool, const FUSES: bool> Nothing<SYNCHRONOUS, FUSES> {
    pub(crate) fn new(depth: usize) -> Self {
        Nothing { in_flight: CompletionRow::with_depth(depth) }
    }
}

#[inline]
fn moved(op: &Op) -> i32 {
    if op.kind.moves_data() { op.length as i32 } else { 0 }
}

impl<const S: bool, const F: bool> Lane for Nothing<S, F> {
    const SYNCHRONOUS: bool = S;
    const FUSES: bool = F;
    /// Most synchronous lanes do.
    const PERFORMS: bool = S;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.in_flight.is_full() {
            return Submission::Full;
        }
        self.in_flight.push(Completion { slot: u32::from(op.slot), result: moved(op) });
        Submission::Accepted
    }

    #[inline]
    fn perform(&mut self, op: &Op) -> Result<i32, i32> {
        Ok(moved(op))
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

#[cfg(test)]
mod tests {
    use iolab_engine::OpKind;

    use super::*;

    fn op(slot: u16, kind: OpKind) -> Op {
        Op { offset: 0, length: 4096, buffer_offset: 0, file: 0, slot, kind, priority: 0 }
    }

    #[test]
    fn it_holds_its_depth_and_does_everything_asked() {
        let mut lane = Nothing::<false, true>::new(3);
        for (slot, kind) in [(0, OpKind::Write), (1, OpKind::Trim), (2, OpKind::Sync)] {
            assert_eq!(lane.submit(&op(slot, kind)), Submission::Accepted);
        }
        assert_eq!(lane.submit(&op(3, OpKind::Read)), Submission::Full);
        let mut out = Completions::with_room(8);
        assert_eq!(lane.flush_and_reap(Wait::POLL, &mut out), Ok(3));
        let results: Vec<(u32, i32)> = out.as_slice().iter().map(|done| (done.slot, done.result)).collect();
        assert_eq!(results, [(0, 4096), (1, 0), (2, 0)]);
        assert_eq!(lane.submit(&op(3, OpKind::Read)), Submission::Accepted);
    }
}
