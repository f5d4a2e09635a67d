//! The null engine: operations that touch nothing and succeed.
//!
//! It measures everything but storage: the cost of the loop, the stamps and the histograms. It
//! really has the requested queue depth: an operation stays in flight until `reap` returns it, and
//! the lane answers [`Submission::Full`] beyond its depth. It makes no system call and touches no
//! buffer: a "read" leaves its slot unchanged, so data cannot be verified on it.

use iolab_engine::{
    Capabilities, Completion, CompletionRow, Completions, Engine, EngineDescription, FileUse, Lane, LaneError,
    LaneRequest, Op, OpKind, OpenError, Submission, Wait,
};
use iolab_options::Reach;

/// The engine `null`.
#[derive(Debug)]
pub struct NullEngine;

/// The lane of [`NullEngine`]: operations waiting to be reaped.
#[derive(Debug)]
pub struct NullLane {
    in_flight: CompletionRow,
}

impl Engine for NullEngine {
    type Lane = NullLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "null",
        aliases: &[],
        summary: "Completes every operation at once without doing it; measures iolab's own overhead",
        details: "No system call is made and no buffer is touched. Operations stay in flight until they are reaped, \
                  so the queue depth is real; every kind of operation succeeds with all its bytes.",
        options: &[],
        capabilities: Capabilities {
            files: FileUse::Nothing,
            extends_files: true,
            reach: Reach::Nothing,
            ..Capabilities::DEVICES
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<NullLane, OpenError> {
        Ok(NullLane { in_flight: CompletionRow::with_depth(request.depth) })
    }
}

impl Lane for NullLane {
    const SYNCHRONOUS: bool = false;
    const FUSES: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        let moved = match op.kind {
            OpKind::Read | OpKind::Write => op.length as i32,
            OpKind::Trim | OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => 0,
        };
        let accepted = self.in_flight.offer(Completion { slot: u32::from(op.slot), result: moved });
        if accepted { Submission::Accepted } else { Submission::Full }
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
    use super::*;
    use iolab_engine::PoolView;
    use iolab_options::Settings;

    iolab_engine::conformance_suite!(NullEngine);

    fn open(depth: usize) -> NullLane {
        let options = Settings::default();
        let request = LaneRequest {
            files: &[],
            depth,
            buffers: PoolView::EMPTY,
            options: &options,
            direct: false,
            seed: 1,
            worker: 0,
        };
        NullEngine::open(&request).unwrap()
    }

    fn op(slot: u16, kind: OpKind) -> Op {
        Op { offset: 1 << 40, length: 4096, buffer_offset: 0, file: 0, slot, kind, priority: 0 }
    }

    #[test]
    fn the_depth_is_held_until_reaped() {
        let mut lane = open(5);
        for slot in 0..5 {
            assert_eq!(lane.submit(&op(slot, OpKind::Read)), Submission::Accepted);
        }
        assert_eq!(lane.submit(&op(5, OpKind::Read)), Submission::Full);
        lane.flush().unwrap();
        let mut out = Completions::with_room(2);
        assert_eq!(lane.reap(Wait { at_least: 1, timeout_ns: u64::MAX }, &mut out), Ok(2));
        assert_eq!(out.as_slice(), [Completion { slot: 0, result: 4096 }, Completion { slot: 1, result: 4096 }]);
        assert_eq!(lane.submit(&op(0, OpKind::Write)), Submission::Accepted);
        let mut rest = Completions::with_room(8);
        assert_eq!(lane.flush_and_reap(Wait::POLL, &mut rest), Ok(4));
        assert_eq!(rest.as_slice().iter().map(|done| done.slot).collect::<Vec<_>>(), [2, 3, 4, 0]);
    }

    #[test]
    fn only_reads_and_writes_count_bytes() {
        let mut lane = open(1);
        for (kind, moved) in [
            (OpKind::Read, 4096),
            (OpKind::Write, 4096),
            (OpKind::Trim, 0),
            (OpKind::Sync, 0),
            (OpKind::DataSync, 0),
            (OpKind::SyncFileRange, 0),
        ] {
            let mut out = Completions::with_room(1);
            assert_eq!(lane.submit(&op(0, kind)), Submission::Accepted);
            assert_eq!(lane.reap(Wait::POLL, &mut out), Ok(1));
            assert_eq!(out.as_slice()[0].result, moved, "{kind:?}");
        }
    }
}
