//! Pacing conditions that depend on other operations or other jobs:
//!
//! - `serialize_overlap`: an operation waits while another one on the same bytes of the same file
//!   is in flight.
//! - `follow`: a transfer waits until another job has reached the same point.
//! - `flow` and `latency_target`: a transfer waits as described in [`Flow`] and [`LatencyTarget`].
//!
//! This pacer wraps the job's own pacer, so that jobs without these options pay nothing.

use iolab_engine::Op;
use iolab_plan::WorkerPlan;
use iolab_recording::State;

use crate::control::Control;
use crate::hot_loop::slots::Slot;
use crate::pacing::flow::Flow;
use crate::pacing::latency_target::LatencyTarget;
use crate::pacing::{Paced, Pacer, Release};

/// How often to check the progress of the followed job, ns.
const LOOK_NS: u64 = 1_000_000;

/// Holds back operations that overlap one in flight, and those for which another job is not ready.
#[derive(Debug)]
pub(crate) struct Serialized<'a, P> {
    inner: P,
    serializes: bool,
    in_flight: Vec<Range>,
    followed: Option<Followed<'a>>,
    flow: Option<Flow<'a>>,
    target: Option<LatencyTarget<'a>>,
}

/// The workers that one worker follows.
#[derive(Debug)]
pub(crate) struct Followed<'a> {
    control: &'a Control,
    places: Vec<usize>,
    every: f64,
    /// Transfers released so far.
    gone: u64,
}

impl<'a> Followed<'a> {
    /// The workers that the worker at `place` follows; `None` if it follows none.
    pub(crate) fn of(control: &'a Control, workers: &[WorkerPlan], place: usize) -> Option<Followed<'a>> {
        let plan = workers[place].pacing.follow.as_ref()?;
        let places = (0..workers.len()).filter(|other| workers[*other].job == plan.job).collect();
        Some(Followed { control, places, every: plan.every, gone: 0 })
    }

    /// Whether the next transfer may be sent; `None` if it never may, because the followed workers
    /// have ended.
    fn lets_go(&self) -> Option<bool> {
        let done: u64 = self.places.iter().map(|place| self.control.progress(*place).0.iter().sum::<u64>()).sum();
        if (self.gone + 1) as f64 * self.every <= done as f64 {
            return Some(true);
        }
        let has_ended = |place: &usize| self.control.state(*place) == State::Done;
        (!self.places.iter().all(has_ended)).then_some(false)
    }
}

/// The bytes an operation works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    start: (u32, u64),
    end: u64,
}

impl Range {
    fn of(op: &Op) -> Range {
        // The whole operation, even when only its rest is sent again after a short transfer.
        let first = op.offset - u64::from(op.buffer_offset);
        Range { start: (op.file, first), end: op.offset + u64::from(op.length) }
    }

    fn overlaps(&self, other: &Range) -> bool {
        let ((file, start), (other_file, other_start)) = (self.start, other.start);
        file == other_file && start < other.end && other_start < self.end
    }
}

impl<'a, P> Serialized<'a, P> {
    /// Wraps `inner`. With `depth`, at most that many operations are in flight, and overlapping
    /// ones wait.
    pub(crate) fn new(inner: P, depth: Option<usize>, followed: Option<Followed<'a>>) -> Serialized<'a, P> {
        let in_flight = Vec::with_capacity(depth.unwrap_or(0));
        Serialized { inner, serializes: depth.is_some(), in_flight, followed, flow: None, target: None }
    }

    /// Adds the limits of a flow, or of the search for a depth.
    pub(crate) fn held_back(mut self, flow: Option<Flow<'a>>, target: Option<LatencyTarget<'a>>) -> Serialized<'a, P> {
        (self.flow, self.target) = (flow, target);
        self
    }
}

impl<P: Pacer> Pacer for Serialized<'_, P> {
    const PACED: bool = true;

    fn start(&mut self, now_ns: u64) {
        self.inner.start(now_ns);
    }

    fn release(&mut self, op: &Op, now_ns: u64) -> Release {
        if !op.kind.is_sync()
            && let Some(followed) = &self.followed
        {
            match followed.lets_go() {
                None => return Release::Over,
                Some(false) => return Release::Wait(now_ns + LOOK_NS),
                Some(true) => {}
            }
        }
        if let Some(target) = self.target.as_ref().filter(|_| !op.kind.is_sync()) {
            if target.is_over() {
                return Release::Over;
            }
            if !target.has_room() {
                return Release::Wait(u64::MAX);
            }
        }
        if !op.kind.is_sync()
            && let Some(until_ns) = self.flow.as_mut().and_then(|flow| flow.holds_until_ns(now_ns))
        {
            return Release::Wait(until_ns);
        }
        let wanted = Range::of(op);
        if !op.kind.is_sync() && self.in_flight.iter().any(|range| range.overlaps(&wanted)) {
            // Until a completion frees the bytes: the loop collects completions meanwhile and asks
            // again.
            return Release::Wait(u64::MAX);
        }
        self.inner.release(op, now_ns)
    }

    fn released(&mut self, op: &Op, intended_ns: u64, begun_ns: u64) {
        if !op.kind.is_sync() {
            if self.serializes {
                self.in_flight.push(Range::of(op));
            }
            if let Some(followed) = &mut self.followed {
                followed.gone += 1;
            }
            if let Some(flow) = &mut self.flow {
                flow.goes();
            }
            if let Some(target) = &mut self.target {
                target.sent();
            }
        }
        self.inner.released(op, intended_ns, begun_ns);
    }

    fn handed_over(&mut self, took_ns: u64) {
        self.inner.handed_over(took_ns);
    }

    fn completed(&mut self, slot: &Slot, now_ns: u64) -> u64 {
        let done = Range::of(&slot.op);
        // A flush is never in this list, but its range may equal that of an operation that is.
        if !slot.op.kind.is_sync()
            && let Some(position) = self.in_flight.iter().position(|range| *range == done)
        {
            self.in_flight.swap_remove(position);
        }
        if let Some(target) = self.target.as_mut().filter(|_| !slot.op.kind.is_sync()) {
            target.completed(now_ns.saturating_sub(slot.begun_ns), now_ns);
        }
        self.inner.completed(slot, now_ns)
    }

    fn busy_until_ns(&self) -> u64 {
        self.inner.busy_until_ns()
    }

    fn paced(&mut self) -> Option<&mut Paced> {
        self.inner.paced()
    }

    fn latency_depth(&self) -> Option<usize> {
        self.target.as_ref().map(LatencyTarget::depth)
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
        let mut pacer = Serialized::new(Unpaced, Some(4), None);
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

    #[test]
    fn who_follows_goes_as_far_as_the_others_are_and_ends_with_them() {
        let control = Control::new(2).unwrap();
        let followed = Followed { control: &control, places: vec![0, 1], every: 2.5, gone: 0 };
        let mut pacer = Serialized::new(Unpaced, None, Some(followed));
        let op = write(0, 0, 512);
        let publish = |worker: usize, ios: u64| control.worker_control(worker).publish(&[0, ios, 0], &[0; 3], 1);
        assert_eq!(pacer.release(&op, 7), Release::Wait(7 + LOOK_NS));
        publish(0, 1);
        publish(1, 2);
        assert_eq!(pacer.release(&op, 7), Release::Now);
        pacer.released(&op, 7, 7);
        assert!(pacer.in_flight.is_empty());
        assert_eq!(pacer.release(&op, 8), Release::Wait(8 + LOOK_NS), "the second needs five");
        control.declare_done(0);
        publish(1, 4);
        assert_eq!(pacer.release(&op, 9), Release::Now);
        pacer.released(&op, 9, 9);
        control.declare_done(1);
        assert_eq!(pacer.release(&op, 9), Release::Over);
    }
}
