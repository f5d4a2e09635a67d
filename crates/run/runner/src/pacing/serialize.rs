//! `serialize_overlap`: an operation waits while another one on the same bytes of the same file is
//! in flight.
//!
//! A pacer around the job's own pacer, so that jobs that do not ask for it pay nothing.

use iolab_engine::Op;

use crate::hot_loop::slots::Slot;
use crate::pacing::{Paced, Pacer, Release};

/// Holds back operations that overlap one in flight.
#[derive(Debug)]
pub(crate) struct Serialized<P> {
    inner: P,
    in_flight: Vec<Range>,
}

/// The bytes an operation works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    start: (u32, u64),
    end: u64,
}

impl Range {
    fn of(op: &Op) -> Range {
        // The whole operation, also when its rest is sent again after a short transfer.
        let first = op.offset - u64::from(op.buffer_offset);
        Range { start: (op.file, first), end: op.offset + u64::from(op.length) }
    }

    fn overlaps(&self, other: &Range) -> bool {
        let ((file, start), (other_file, other_start)) = (self.start, other.start);
        file == other_file && start < other.end && other_start < self.end
    }
}

impl<P> Serialized<P> {
    /// Around `inner`, for at most `depth` operations in flight.
    pub(crate) fn new(inner: P, depth: usize) -> Serialized<P> {
        Serialized { inner, in_flight: Vec::with_capacity(depth) }
    }
}

impl<P: Pacer> Pacer for Serialized<P> {
    const PACED: bool = true;

    fn start(&mut self, now_ns: u64) {
        self.inner.start(now_ns);
    }

    fn release(&mut self, op: &Op, now_ns: u64) -> Release {
        let wanted = Range::of(op);
        if !op.kind.is_sync() && self.in_flight.iter().any(|range| range.overlaps(&wanted)) {
            // Until a completion frees the bytes: the loop collects meanwhile and asks again.
            return Release::Wait(u64::MAX);
        }
        self.inner.release(op, now_ns)
    }

    fn released(&mut self, op: &Op, intended_ns: u64, begun_ns: u64) {
        if !op.kind.is_sync() {
            self.in_flight.push(Range::of(op));
        }
        self.inner.released(op, intended_ns, begun_ns);
    }

    fn handed_over(&mut self, took_ns: u64) {
        self.inner.handed_over(took_ns);
    }

    fn completed(&mut self, slot: &Slot, now_ns: u64) -> u64 {
        let done = Range::of(&slot.op);
        // Flushes never were among them, but may look like one that is.
        if !slot.op.kind.is_sync()
            && let Some(position) = self.in_flight.iter().position(|range| *range == done)
        {
            self.in_flight.swap_remove(position);
        }
        self.inner.completed(slot, now_ns)
    }

    fn busy_until_ns(&self) -> u64 {
        self.inner.busy_until_ns()
    }

    fn paced(&mut self) -> Option<&mut Paced> {
        self.inner.paced()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::Unpaced;
    use iolab_engine::OpKind;

    fn write(file: u32, offset: u64, length: u32) -> Op {
        Op { offset, length, buffer_offset: 0, file, slot: 0, kind: OpKind::Write, priority: 0 }
    }

    #[test]
    fn only_overlapping_operations_wait_and_only_until_the_bytes_are_free() {
        let mut pacer = Serialized::new(Unpaced, 4);
        let first = write(0, 4096, 4096);
        assert_eq!(pacer.release(&first, 0), Release::Now);
        pacer.released(&first, 0, 0);
        for (op, held) in [
            (write(0, 4096, 4096), true),
            (write(0, 8191, 1), true),
            (write(0, 0, 4097), true),
            (write(0, 0, 4096), false),
            (write(0, 8192, 4096), false),
            (write(1, 4096, 4096), false),
        ] {
            assert_eq!(pacer.release(&op, 0) == Release::Wait(u64::MAX), held, "{op:?}");
        }
        let mut rest = first;
        (rest.offset, rest.length, rest.buffer_offset) = (8000, 192, 3904);
        let slot = Slot { begun_ns: 5, submitted_ns: 6, ..Slot::new(rest) };
        assert_eq!(pacer.completed(&slot, 7), 5);
        assert_eq!(pacer.release(&first, 0), Release::Now);
    }
}
