//! The cold side of a running worker: checks every few milliseconds whether the ramp is over, the
//! time is up, a stop was ordered, or a minimum rate was missed; and publishes progress.

use iolab_clock::Clock;
use iolab_engine::Wait;
use iolab_measure::{Recorder, WorkerCounters};
use iolab_plan::WorkerPlan;
use iolab_process::{Usage, thread_id, thread_usage};
use iolab_recording::{State, SteadyRecording, WorkerOutcome, WorkerRecording};

use crate::alarm::Alarm;
use crate::control::{Order, WorkerControl};
use crate::cpu_use;
use crate::deliver::Mailbox;
use crate::floor::Floor;
use crate::pacing::Pacer;
use crate::steady::Steady;
use crate::trouble::Trouble;
use crate::wear::WearOut;

const LOOK_EVERY_NS: u64 = 20_000_000;
/// How often to check while bytes decide when the ramp ends, ns.
const LOOK_AT_BYTES_EVERY_NS: u64 = 1_000_000;

/// Why a worker's loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Nothing left to do.
    StreamOver,
    /// The pass is over and the caller must do something before the next.
    TimeUp,
    /// Ordered to finish because another worker ended, or because the rate is steady.
    Finish,
    /// The user ended the run.
    Interrupt,
    /// An error ended it; `Trouble` contains it.
    Trouble,
}

/// The time limits that [`Watch::lift_limits`] has lifted.
pub(crate) struct TimeLimits {
    end_ns: u64,
    runtime_ns: Option<u64>,
}

/// Deadlines and orders of one worker.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    worker_control: WorkerControl<'a>,
    next_ns: u64,
    ramp_until_ns: Option<u64>,
    /// Bytes that end the ramp; 0 if time does.
    ramp_bytes: u64,
    runtime_ns: Option<u64>,
    end_ns: u64,
    measuring_since_ns: u64,
    usage_at_start: Usage,
    passes_left: u64,
    pauses_between_passes: bool,
    floor: Floor,
    alarm: Alarm,
    steady: Option<Steady<'a>>,
    wear: Option<WearOut>,
    snapshots: Option<Snapshots<'a>>,
}

/// Where to deliver recordings so far when they are requested.
#[derive(Debug)]
struct Snapshots<'a> {
    mailbox: &'a Mailbox,
    number: u32,
    started_ns: u64,
    answered: u32,
}

impl<'a> Watch<'a> {
    /// A watch for I/O that begins at `now_ns`.
    pub(crate) fn new(worker_control: WorkerControl<'a>, plan: &WorkerPlan, now_ns: u64) -> Watch<'a> {
        let limits = &plan.limits;
        let ramp_until_ns = match limits.ramp_bytes {
            0 => (limits.ramp_ns > 0).then(|| now_ns + limits.ramp_ns),
            _ => Some(u64::MAX),
        };
        let mut watch = Watch {
            worker_control,
            next_ns: 0,
            ramp_until_ns,
            ramp_bytes: limits.ramp_bytes,
            runtime_ns: limits.runtime_ns,
            end_ns: u64::MAX,
            measuring_since_ns: now_ns,
            usage_at_start: thread_usage(),
            passes_left: if limits.time_based { u64::MAX } else { limits.loops.max(1) - 1 },
            pauses_between_passes: false,
            floor: Floor::new(plan, now_ns),
            alarm: Alarm::new(),
            steady: None,
            wear: limits.wear_out.then(WearOut::default),
            snapshots: None,
        };
        if ramp_until_ns.is_none() {
            watch.begin_measuring(now_ns);
        } else {
            worker_control.set_state(State::Ramping);
        }
        watch
    }

    /// Answers requests for the recording so far.
    pub(crate) fn deliver_to(&mut self, mailbox: &'a Mailbox, number: u32, started_ns: u64) {
        let answered = self.worker_control.snapshot_asked();
        self.snapshots = Some(Snapshots { mailbox, number, started_ns, answered });
    }

    /// Ends the job when it is steady.
    pub(crate) fn judge(&mut self, mut steady: Steady<'a>) {
        if self.is_measuring() {
            steady.begin(self.measuring_since_ns);
        }
        self.steady = Some(steady);
    }

    /// The samples of its rate, and whether it was steady.
    pub(crate) fn steady(&self) -> Option<SteadyRecording> {
        self.steady.as_ref().map(Steady::recording)
    }

    /// Says how much was done, if the others wait for it. Returns what the user must know of it.
    pub(crate) fn finish_wearing(&self, counters: &WorkerCounters) -> Option<String> {
        self.wear.as_ref()?.finish(counters.totals.ios.iter().sum(), &self.worker_control)
    }

    /// Return to the caller between passes (it has files to remove).
    pub(crate) fn pause_between_passes(&mut self) {
        self.pauses_between_passes = true;
    }

    /// Whether the ramp is over.
    pub(crate) fn is_measuring(&self) -> bool {
        self.ramp_until_ns.is_none()
    }

    fn begin_measuring(&mut self, now_ns: u64) {
        self.ramp_until_ns = None;
        self.measuring_since_ns = now_ns;
        self.end_ns = self.runtime_ns.map_or(u64::MAX, |runtime_ns| now_ns.saturating_add(runtime_ns));
        self.usage_at_start = thread_usage();
        self.floor.begin(now_ns);
        if let Some(steady) = &mut self.steady {
            steady.begin(now_ns);
        }
        self.worker_control.set_state(State::Running);
    }

    /// When the next `look` is due.
    #[inline(always)]
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// When the worker's time is up.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Makes the next `look` due now.
    pub(crate) fn look_at_once(&mut self) {
        self.next_ns = 0;
    }

    /// When measuring began, and the resource use of the thread until then.
    pub(crate) fn measured_from(&self) -> (u64, Usage) {
        (self.measuring_since_ns, self.usage_at_start)
    }

    /// Whether to abandon the operations in flight.
    pub(crate) fn abandon(&self) -> bool {
        self.worker_control.order() == Order::Abandon
    }

    /// Whether another pass over the workload follows immediately.
    pub(crate) fn begin_next_pass(&mut self) -> bool {
        if self.passes_left == 0 || self.pauses_between_passes {
            return false;
        }
        self.take_pass()
    }

    /// Lets the next passes run without a time limit. Returns the limits.
    pub(crate) fn lift_limits(&mut self) -> TimeLimits {
        TimeLimits { end_ns: std::mem::replace(&mut self.end_ns, u64::MAX), runtime_ns: self.runtime_ns.take() }
    }

    /// Restores the limits.
    pub(crate) fn restore_limits(&mut self, limits: TimeLimits) {
        let TimeLimits { end_ns, runtime_ns } = limits;
        self.runtime_ns = runtime_ns;
        // If the ramp ended meanwhile, measuring began without limits.
        let measured_ns = runtime_ns.map_or(u64::MAX, |runtime_ns| self.measuring_since_ns.saturating_add(runtime_ns));
        self.end_ns = if self.is_measuring() { end_ns.min(measured_ns) } else { end_ns };
    }

    /// Takes one of the remaining passes.
    pub(crate) fn take_pass(&mut self) -> bool {
        if self.passes_left == 0 {
            return false;
        }
        self.passes_left -= u64::from(self.passes_left != u64::MAX);
        true
    }

    /// Does all work that is not per operation. `Some` ends the loop.
    #[cold]
    pub(crate) fn look(
        &mut self,
        now_ns: u64,
        recorder: &mut impl Recorder,
        trouble: &mut Trouble<'_>,
        pacer: &mut impl Pacer,
    ) -> Option<Stop> {
        if let Some(until_ns) = self.ramp_until_ns
            && (now_ns >= until_ns || self.ramp_bytes > 0 && moved_bytes(recorder) >= self.ramp_bytes)
        {
            recorder.start_measuring(now_ns);
            if let Some(paced) = pacer.paced() {
                paced.start_measuring(now_ns);
            }
            self.begin_measuring(now_ns);
        }
        if now_ns >= recorder.next_tick_ns() {
            // Nothing has completed for a while, or the completions of this moment have already
            // ticked.
            recorder.tick(now_ns);
        }
        let by_bytes = self.ramp_bytes > 0 && !self.is_measuring();
        let every_ns = if by_bytes { LOOK_AT_BYTES_EVERY_NS } else { LOOK_EVERY_NS };
        self.next_ns = (now_ns + every_ns).min(self.ramp_until_ns.unwrap_or(self.end_ns));
        self.next_ns = self.next_ns.min(recorder.next_tick_ns());
        let mut is_steady = false;
        if let Some(limit) = recorder.exceeded() {
            trouble.latency_exceeded(limit);
        }
        let totals = recorder.tally().totals;
        if self.is_measuring() {
            self.worker_control.publish(&totals.ios, &totals.bytes, now_ns.saturating_sub(self.measuring_since_ns));
            if let Some(reason) = self.floor.missed(now_ns, (totals.ios, totals.bytes)) {
                trouble.floor_missed(reason);
            }
            if let Some(steady) = &mut self.steady {
                is_steady = steady.look(now_ns);
                self.next_ns = self.next_ns.min(steady.next_ns());
            }
        }
        self.answer_snapshot(now_ns, recorder, pacer);
        if trouble.is_fatal() {
            return Some(Stop::Trouble);
        }
        match self.worker_control.order() {
            Order::None if now_ns >= self.end_ns => self.is_worn_out(totals.ios.iter().sum()).then_some(Stop::TimeUp),
            Order::None => is_steady.then_some(Stop::Finish),
            Order::Finish => Some(Stop::Finish),
            Order::Interrupt | Order::Abandon => Some(Stop::Interrupt),
        }
    }

    /// The time is up: whether as much is done as the others have done.
    fn is_worn_out(&mut self, done: u64) -> bool {
        self.wear.as_mut().is_none_or(|wear| wear.time_is_up(done, &self.worker_control))
    }

    fn answer_snapshot(&mut self, now_ns: u64, recorder: &impl Recorder, pacer: &mut impl Pacer) {
        let (measuring, from_ns, usage) = (self.is_measuring(), self.measuring_since_ns, self.usage_at_start);
        let asked = self.worker_control.snapshot_asked();
        let steady = self.steady.as_ref();
        let Some(snapshots) = self.snapshots.as_mut().filter(|snapshots| snapshots.answered != asked) else { return };
        let mut recording = WorkerRecording {
            number: snapshots.number,
            pid: thread_id(),
            started_ns: snapshots.started_ns,
            steady: steady.map(Steady::recording),
            ..WorkerRecording::default()
        };
        if measuring {
            recording.runtime_ns = now_ns.saturating_sub(from_ns);
            recorder.write_to(recording.runtime_ns, &mut recording);
            recording.schedule = pacer.paced().and_then(|paced| paced.recording(now_ns));
            recording.cpu = cpu_use::between(&usage, &thread_usage());
        }
        recording.outcome = WorkerOutcome::Finished;
        // If a snapshot cannot be delivered, the user does not get it; the run continues.
        let _ = snapshots.mailbox.put(&recording);
        snapshots.answered = asked;
        self.worker_control.answer_snapshot(asked);
    }

    /// Sleeps until `due_ns`, but no longer than until the next look; computes instead until
    /// `busy_until_ns`.
    pub(crate) fn sleep(&mut self, clock: &Clock, due_ns: u64, busy_until_ns: u64) {
        let until_ns = due_ns.min(self.next_ns);
        clock.sleep_until(until_ns.min(busy_until_ns), u64::MAX);
        if due_ns <= self.next_ns {
            self.alarm.wait_until(clock, due_ns);
        } else {
            clock.sleep_until(until_ns, 0);
        }
    }

    /// How to wait for completions when the next operation is due at `due_ns`. The wait ends early
    /// and the rest is polled, because timers wake late.
    #[inline]
    pub(crate) fn wait_before(&mut self, due_ns: u64, now_ns: u64) -> Wait {
        if due_ns > self.next_ns {
            return Wait { at_least: 1, timeout_ns: self.next_ns.saturating_sub(now_ns).max(1) };
        }
        let timeout_ns = self.alarm.set(due_ns, now_ns);
        Wait { at_least: usize::from(timeout_ns > 0), timeout_ns }
    }

    /// A wait has ended without a completion.
    #[inline]
    pub(crate) fn waited_in_vain(&mut self, now_ns: u64) {
        self.alarm.rang(now_ns);
    }
}

/// Bytes of all directions so far.
fn moved_bytes(recorder: &mut impl Recorder) -> u64 {
    recorder.tally().totals.bytes.iter().sum()
}
