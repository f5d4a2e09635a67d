//! The schedule of a replay: each operation has its own time, and operations that must precede it.
//!
//! | an operation waits for | because |
//! | --- | --- |
//! | its time | the replay is timed |
//! | those of its worker that had ended when it began in the trace | a thread does one after the other |
//! | the first n of another worker (a [`FeedGate`]) | around a sync, threads are ordered too |

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use iolab_engine::Op;
use iolab_histogram::Histogram;
use iolab_recording::{DriftInterval, DriftRecording};

use crate::feed::{Fed, FeedGate, Step, Steps, Supplied};
use crate::pacing::Paced;
use crate::progress::Progress;

/// How long until another worker's progress is checked again, ns.
const LOOK_AGAIN_NS: u64 = 10_000;
/// Number of intervals in the drift series.
const MOST_STRETCHES: u64 = 1 << 12;
const SECOND_NS: u64 = 1_000_000_000;
/// Marks an empty slot.
const NOTHING: u64 = u64::MAX;

/// What delays the next operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// Nothing; it was due at this time, if it has one.
    No(Option<u64>),
    /// Its time, ns.
    Until(u64),
    /// An operation of its own worker.
    ByOwn,
    /// An operation of another worker.
    ByOther,
}

/// The state of a replay.
#[derive(Debug)]
pub(crate) struct Following {
    steps: Receiver<Steps>,
    fed: Arc<Fed>,
    block: Steps,
    next: usize,
    next_gate: usize,
    timed: bool,
    /// The beginning of the round, ns.
    start_ns: u64,
    /// The due time of the previous step, to detect a new round.
    last_due_ns: u64,
    begins_round: bool,
    worker: usize,
    progress: Progress,
    /// Operations sent, in all rounds.
    sent: u64,
    /// By slot: the number of the operation in it.
    numbers: Box<[u64]>,
    in_flight: u32,
    /// Rounds are counted from here: gates count operations of a round.
    round_from: u64,
    was_held: bool,
    late: Histogram,
    stretch_ns: u64,
    series: Vec<(u64, u64, u64)>,
    waited_for_order: u64,
}

impl Following {
    /// The state for worker `worker`, for a queue of `depth` and a replay that takes `span_ns`. It
    /// has no times yet.
    pub(crate) fn new(
        steps: Receiver<Steps>,
        fed: Arc<Fed>,
        worker: usize,
        progress: Progress,
        depth: usize,
        span_ns: u64,
    ) -> Following {
        let seconds = (span_ns / SECOND_NS / MOST_STRETCHES + 1).next_power_of_two();
        let stretches = (span_ns / (seconds * SECOND_NS) + 2).min(2 * MOST_STRETCHES) as usize;
        Following {
            steps,
            fed,
            block: Steps::default(),
            next: 0,
            next_gate: 0,
            timed: false,
            start_ns: 0,
            last_due_ns: 0,
            begins_round: true,
            worker,
            progress,
            sent: 0,
            numbers: vec![NOTHING; depth].into_boxed_slice(),
            in_flight: 0,
            round_from: 0,
            was_held: false,
            late: Histogram::new(),
            stretch_ns: seconds * SECOND_NS,
            series: Vec::with_capacity(stretches),
            waited_for_order: 0,
        }
    }

    /// The state for the operations that a worker is supplied with.
    pub(crate) fn of(
        supplied: Supplied,
        worker: usize,
        progress: Progress,
        depth: usize,
        span_ns: u64,
    ) -> (crate::feed::FeedSource, Following) {
        let Supplied { source, steps, fed, timed } = supplied;
        (source, Following { timed, ..Following::new(steps, fed, worker, progress, depth, span_ns) })
    }

    pub(super) fn is_timed(&self) -> bool {
        self.timed
    }

    pub(super) fn start(&mut self, now_ns: u64) {
        (self.start_ns, self.last_due_ns, self.begins_round) = (now_ns, 0, true);
    }

    /// The next round begins with the next operation.
    pub(super) fn begin_round(&mut self) {
        self.begins_round = true;
        self.round_from = self.sent;
    }

    #[inline]
    fn head(&mut self) -> Option<Step> {
        while self.next == self.block.steps.len() {
            self.block = self.steps.try_recv().ok()?;
            (self.next, self.next_gate) = (0, 0);
        }
        self.block.steps.get(self.next).copied()
    }

    /// What delays the next operation at `now_ns`.
    #[inline]
    pub(super) fn holds(&mut self, now_ns: u64) -> Held {
        let Some(step) = self.head() else { return Held::No(None) };
        if self.begins_round {
            // A second round begins when its first operation can.
            if self.round_from > 0 {
                self.start_ns = now_ns.saturating_sub(step.due_ns);
            }
            self.begins_round = false;
        }
        let due_ns = self.start_ns + step.due_ns;
        if self.timed && due_ns > now_ns {
            return Held::Until(due_ns);
        }
        if self.in_flight > step.beside {
            self.note_held();
            return Held::ByOwn;
        }
        let gates = &self.block.gates[self.next_gate..][..step.gates as usize];
        let closed = |gate: &FeedGate| !self.progress.has_reached(gate.worker as usize, gate.operations);
        // Only the first round is ordered with other workers, whose rounds may be shorter.
        if step.gates > 0 && self.round_from == 0 && gates.iter().any(closed) {
            self.note_held();
            return Held::ByOther;
        }
        Held::No(self.timed.then_some(due_ns))
    }

    /// Until when to wait before checking another worker again.
    pub(super) fn look_again_ns(now_ns: u64) -> u64 {
        now_ns + LOOK_AGAIN_NS
    }

    fn note_held(&mut self) {
        self.waited_for_order += u64::from(!self.was_held);
        self.was_held = true;
    }

    /// The lane has accepted the operation in this slot.
    #[inline]
    pub(super) fn sent(&mut self, slot: u16, begun_ns: u64) {
        let Some(step) = self.head() else { return };
        self.next += 1;
        self.next_gate += step.gates as usize;
        self.was_held = false;
        self.numbers[usize::from(slot)] = self.sent;
        self.sent += 1;
        self.in_flight += 1;
        if self.timed {
            let late_ns = begun_ns.saturating_sub(self.start_ns + step.due_ns);
            self.late.add(late_ns);
            self.note_late(step.due_ns, late_ns);
        }
    }

    /// The next operation is skipped.
    pub(super) fn pass_over(&mut self) {
        if let Some(step) = self.head() {
            self.next += 1;
            self.next_gate += step.gates as usize;
            self.sent += 1;
            self.publish();
        }
    }

    pub(super) fn take_trouble(&mut self) -> Option<String> {
        self.fed.take_trouble()
    }

    #[inline]
    fn note_late(&mut self, due_ns: u64, late_ns: u64) {
        let place = (due_ns / self.stretch_ns).min(2 * MOST_STRETCHES) as usize;
        if place >= self.series.len() {
            self.series.resize(place + 1, (0, 0, 0));
        }
        let (operations, sum_ns, most_ns) = &mut self.series[place];
        *operations += 1;
        *sum_ns = sum_ns.saturating_add(late_ns);
        *most_ns = (*most_ns).max(late_ns);
    }

    /// The operation of a slot is complete.
    #[inline]
    pub(super) fn completed(&mut self, slot: u16) {
        let number = std::mem::replace(&mut self.numbers[usize::from(slot)], NOTHING);
        if number == NOTHING {
            return;
        }
        self.in_flight -= 1;
        self.publish();
    }

    /// Publishes how many operations, without a gap, are complete.
    #[inline]
    fn publish(&self) {
        let oldest = if self.in_flight == 0 { None } else { self.numbers.iter().copied().min() };
        self.progress.publish(self.worker, oldest.unwrap_or(NOTHING).min(self.sent));
    }

    /// Operations that are due and not sent, among those that were read ahead.
    pub(super) fn backlog(&self, now_ns: u64) -> u64 {
        let within_ns = now_ns.saturating_sub(self.start_ns);
        let ahead = self.block.steps.get(self.next..).unwrap_or_default();
        ahead.partition_point(|step| step.due_ns <= within_ns) as u64
    }

    /// When the next operation is due.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.block.steps.get(self.next).map(|step| self.start_ns + step.due_ns)
    }

    /// Measuring begins: earlier lateness does not count.
    pub(super) fn start_measuring(&mut self) {
        self.late = Histogram::new();
        self.series.iter_mut().for_each(|stretch| *stretch = (0, 0, 0));
        self.waited_for_order = 0;
    }

    pub(crate) fn recording(&self) -> DriftRecording {
        let filled = self.series.iter().zip(0..).filter(|((operations, ..), _)| *operations > 0);
        let series = filled.map(|((operations, sum_ns, most_ns), place): (&(u64, u64, u64), u64)| DriftInterval {
            start_ns: place * self.stretch_ns,
            operations: *operations,
            mean_ns: sum_ns / operations,
            most_ns: *most_ns,
        });
        DriftRecording {
            late: self.late.to_sparse(),
            series: series.collect(),
            waited_for_order: self.waited_for_order,
            starved: self.fed.starved(),
        }
    }
}

impl Paced {
    /// This pacer, with the times and order of a trace.
    pub(crate) fn follow(mut self, following: Option<Following>) -> Paced {
        self.following = following;
        self
    }

    /// How well the times of a trace were kept.
    pub(crate) fn drift(&self) -> Option<DriftRecording> {
        self.following.as_ref().map(Following::recording)
    }

    /// Why a trace ended early.
    pub(crate) fn take_trouble(&mut self) -> Option<String> {
        self.following.as_mut()?.take_trouble()
    }

    /// The next operation is not sent: the lane refused it.
    pub(crate) fn pass_over(&mut self) {
        if let Some(following) = &mut self.following {
            following.pass_over();
        }
    }

    /// The next operation is the first of another pass.
    pub(crate) fn begin_pass(&mut self) {
        if let Some(following) = &mut self.following {
            following.begin_round();
        }
    }

    /// The operation of a replay is sent. Returns the earliest time at which it could have been
    /// sent.
    pub(super) fn follow_up(&mut self, op: &Op, intended_ns: u64, begun_ns: u64) -> u64 {
        let Some(following) = &mut self.following else { return begun_ns };
        following.sent(op.slot, begun_ns);
        if !following.is_timed() {
            return self.ideal.begin(begun_ns, begun_ns);
        }
        self.latest_ns = intended_ns;
        let after = self.backlog(begun_ns);
        self.keeping.sent(intended_ns, begun_ns, after);
        self.ideal.begin(intended_ns, begun_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    fn following(steps: Vec<Step>, gates: Vec<FeedGate>, timed: bool) -> (Following, Progress) {
        let (sender, receiver) = sync_channel(1);
        sender.send(Steps { steps, gates }).unwrap();
        let progress = Progress::new(2).unwrap();
        let untimed = Following::new(receiver, Arc::new(Fed::default()), 0, progress.clone(), 2, 0);
        let mut following = Following { timed, ..untimed };
        following.start(1_000);
        (following, progress)
    }

    #[test]
    fn time_own_operations_and_other_workers_hold_back() {
        let step = |due_ns, beside, gates| Step { due_ns, beside, gates };
        let gate = FeedGate { worker: 1, operations: 3 };
        let (mut following, progress) = following(vec![step(5, 0, 0), step(6, 0, 0), step(6, 1, 1)], vec![gate], true);
        assert_eq!(following.holds(1_000), Held::Until(1_005));
        assert_eq!(following.holds(1_009), Held::No(Some(1_005)));
        following.sent(0, 1_009);
        assert_eq!(following.holds(1_010), Held::ByOwn, "the first is not back");
        assert_eq!(following.backlog(1_010), 2);
        following.completed(0);
        assert!(progress.has_reached(0, 1) && !progress.has_reached(0, 2));
        assert_eq!(following.holds(1_010), Held::No(Some(1_006)));
        following.sent(1, 1_010);
        assert_eq!(following.holds(1_010), Held::ByOther, "the gate is closed");
        progress.publish(1, 3);
        assert_eq!(following.holds(1_011), Held::No(Some(1_006)));
        following.sent(0, 1_011);
        // The second is still in flight: for the others, only the first is done.
        following.completed(0);
        assert!(progress.has_reached(0, 1) && !progress.has_reached(0, 2));
        let drift = following.recording();
        assert_eq!((drift.late.max, drift.waited_for_order, drift.series.len()), (5, 2, 1));
        assert_eq!((drift.series[0].operations, drift.series[0].mean_ns), (3, 4));
    }

    #[test]
    fn without_times_only_order_holds_back() {
        let (mut following, _) = following(vec![Step { due_ns: 1 << 40, ..Step::default() }], Vec::new(), false);
        assert_eq!(following.holds(1_000), Held::No(None));
        following.sent(0, 1_000);
        assert!(following.recording().late.is_empty());
    }
}
