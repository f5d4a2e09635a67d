//! Which loop a plan asks for: its recorder, its pacer, its queue. Chosen once, by type, before the
//! first operation.
//!
//! Runs and calibrations both choose here, so that the calibrated loop is the one that runs. Jobs
//! of slow engines are the exception: they run with the recorder that records everything, and are
//! calibrated with the one that suffices.

use std::sync::Arc;

use iolab_engine::{Completions, Lane};
use iolab_measure::{
    CountingRecorder, DetailedRecorder, FullRecorder, IntervalSeries, IntervalStream, PerFileRecorder, Recorder,
    WorkerCounters,
};
use iolab_memory::SlotPool;
use iolab_plan::{IoPriority, QueuePlan, WorkerPlan};
use iolab_workload::{BufferFiller, OpBatch, OpStream, PassLimits};

use crate::hot_loop::HotLoop;
use crate::hot_loop::cached::CachedFiles;
use crate::hot_loop::checker::Checker;
use crate::hot_loop::queue::Queue;
use crate::hot_loop::slots::Slots;
use crate::lane_opening::extents;
use crate::open_files;
use crate::pacing::flow::Flow;
use crate::pacing::following::Following;
use crate::pacing::latency_target::LatencyTarget;
use crate::pacing::schedule::Schedule;
use crate::pacing::serialize::{Followed, Serialized};
use crate::pacing::{Paced, Pacer, Unpaced};
use crate::task::Task;
use crate::telling::{Teller, ToldKind};
use crate::trouble::{Fatal, Trouble};
use crate::watch::Watch;

/// Continues with the chosen recorder and pacer.
pub(crate) trait Chosen {
    type Answer;
    fn go<R: Recorder, P: Pacer>(self, recorder: R, pacer: P) -> Result<Self::Answer, Fatal>;
}

/// As [`Chosen`], also for special jobs ([`is_special`]): one loop for all jobs of a kind, whatever
/// other options they have.
pub(crate) trait ChosenSpecially: Chosen {
    /// For jobs that verify.
    fn go_verifying(self, recorder: DetailedRecorder, pacer: Paced) -> Result<Self::Answer, Fatal>;

    /// For jobs on zones that do not verify.
    fn go_zoned(self, recorder: DetailedRecorder, pacer: Paced) -> Result<Self::Answer, Fatal>;

    /// For jobs that lock their files.
    fn go_locking(self, recorder: DetailedRecorder, pacer: Paced) -> Result<Self::Answer, Fatal>;

    /// For jobs that note or tell their operations.
    fn go_noting<P: Pacer>(self, recorder: DetailedRecorder, pacer: P) -> Result<Self::Answer, Fatal>;
}

/// Whether a job asks for more than a recorder, a rate and pauses: it examines its operations
/// (verifies, places them in zones, locks, notes or tells them), or when they begin depends on
/// others. That costs more than a call through a pointer, so such loops exist only for
/// [`crate::lane_opening::BoxedLane`].
pub(crate) fn is_special(task: &Task<'_>) -> bool {
    let plan = task.plan;
    plan.verify.is_some()
        || plan.workload.zones.is_some()
        || task.locks.is_some()
        || serializes(plan)
        || follows(plan)
        || notes(task)
}

/// Whether overlapping operations wait for each other.
fn serializes(plan: &WorkerPlan) -> bool {
    plan.queue.serialize_overlap && plan.queue.depth > 1
}

/// Whether other jobs, or measured latencies, hold operations back.
fn follows(plan: &WorkerPlan) -> bool {
    plan.pacing.follow.is_some() || plan.pacing.flow.is_some() || plan.pacing.latency_target.is_some()
}

/// Whether operations are noted or told.
fn notes(task: &Task<'_>) -> bool {
    task.spools.operations.is_some() || Teller::of_operations(task.plan, task.telling).is_some()
}

/// What a loop is chosen by and begins with, besides the plan of its job.
pub(crate) struct LoopInputs {
    /// Replace the plan's rates.
    pub(crate) arrivals: Option<Schedule>,
    /// The times and the order of a trace.
    pub(crate) following: Option<Following>,
    /// Whether the lane is synchronous.
    pub(crate) synchronous: bool,
    pub(crate) origin_ns: u64,
}

/// Whether a job is special, or has a rate, pauses, logs, or anything else that only
/// [`DetailedRecorder`] records. Its loop does more for each operation than a call through a
/// pointer costs, so it exists only for [`crate::lane_opening::BoxedLane`].
pub(crate) fn is_detailed(task: &Task<'_>) -> bool {
    let plan = task.plan;
    let measurement = &plan.measurement;
    let latencies = [measurement.slat, measurement.clat, measurement.lat];
    is_special(task)
        || is_paced(plan)
        || is_logged(plan)
        || plan.errors.max_latency_ns != [0; 3]
        || plan.workload.priorities.is_some()
        || measurement.block_errors_bytes.is_some()
        || (latencies != [true; 3] && latencies != [false; 3])
}

/// Chooses the loop of a job that is not detailed.
pub(crate) fn choose<C: Chosen>(task: &Task<'_>, inputs: &LoopInputs, chosen: C) -> Result<C::Answer, Fatal> {
    let plan = task.plan;
    let LoopInputs { synchronous, origin_ns, .. } = *inputs;
    if !plan.measurement.lat {
        chosen.go(CountingRecorder::new(tally(task, origin_ns)), Unpaced)
    } else if counts_files(plan) {
        chosen.go(PerFileRecorder::new(tally(task, origin_ns), !synchronous, plan.files.len()), Unpaced)
    } else {
        chosen.go(FullRecorder::new(tally(task, origin_ns), !synchronous), Unpaced)
    }
}

/// Chooses the loop that records whatever a plan asks for, at any pace, without what is special.
pub(crate) fn choose_detailed<C: Chosen>(task: &Task<'_>, inputs: LoopInputs, chosen: C) -> Result<C::Answer, Fatal> {
    let recorder = detailed(task, tally(task, inputs.origin_ns), inputs.synchronous, inputs.origin_ns)?;
    if is_paced(task.plan) { chosen.go(recorder, pacer(task.plan, inputs)) } else { chosen.go(recorder, Unpaced) }
}

/// Chooses the loop of a job on a lane behind a pointer, special or not. One recorder serves all
/// jobs that are not special, whatever they record, because their operations take a microsecond or
/// more.
pub(crate) fn choose_specially<C: ChosenSpecially>(
    task: &Task<'_>,
    inputs: LoopInputs,
    chosen: C,
) -> Result<C::Answer, Fatal> {
    let plan = task.plan;
    if !is_special(task) {
        return choose_detailed(task, inputs, chosen);
    }
    let recorder = detailed(task, tally(task, inputs.origin_ns), inputs.synchronous, inputs.origin_ns)?;
    let pacer = pacer(plan, inputs);
    if plan.verify.is_some() {
        return chosen.go_verifying(recorder, pacer);
    }
    if plan.workload.zones.is_some() {
        return chosen.go_zoned(recorder, pacer);
    }
    if task.locks.is_some() {
        return chosen.go_locking(recorder, pacer);
    }
    let depth = plan.queue.depth as usize;
    let followed = task.others.and_then(|all| Followed::of(all.control, all.workers, plan.number as usize));
    let flow = task.others.and_then(|all| Flow::of(all.control, all.workers, plan.number as usize));
    let target = plan.pacing.latency_target.map(|target| {
        LatencyTarget::new(target, depth).telling(Teller::of(task.plan, task.telling, &[ToldKind::Rate]))
    });
    let pacer = Serialized::new(pacer, serializes(plan).then_some(depth), followed).held_back(flow, target);
    if notes(task) { chosen.go_noting(recorder, pacer) } else { chosen.go(recorder, pacer) }
}

fn is_paced(plan: &WorkerPlan) -> bool {
    plan.pacing.scheduled() != [false; 3] || plan.pacing.think.is_some() || plan.replay.is_some()
}

fn pacer(plan: &WorkerPlan, inputs: LoopInputs) -> Paced {
    Paced::new(&plan.pacing, inputs.arrivals, plan.queue.depth as usize).follow(inputs.following)
}

/// Whether there is a log of operations or intervals.
fn is_logged(plan: &WorkerPlan) -> bool {
    let logs = &plan.logs;
    logs.latency.is_some() || logs.bandwidth.is_some() || logs.iops.is_some() || logs.histogram.is_some()
}

/// Whether each file has its own counters. With a single file, the worker's counters suffice.
fn counts_files(plan: &WorkerPlan) -> bool {
    plan.measurement.per_file && plan.files.len() > 1
}

/// The worker's counters, and the intervals that they are divided into.
fn tally(task: &Task<'_>, origin_ns: u64) -> WorkerCounters {
    let (plan, measurement) = (task.plan, &task.plan.measurement);
    let longest_ns = plan.limits.runtime_ns.map_or(u64::MAX, |ns| ns.saturating_add(plan.limits.ramp_ns));
    // Unused capacity costs no memory; growing would allocate during the measurement.
    let expected = (longest_ns / measurement.interval_ns.max(1)).saturating_add(8).min(1 << 14);
    let intervals = IntervalSeries::new(origin_ns, measurement.interval_ns, expected as usize);
    let mut tally = WorkerCounters::new(plan.queue.depth as usize, intervals);
    if let Some(file) = task.stream
        && measurement.histogram_interval_ns > 0
    {
        let (file, ramp_first) = (Arc::clone(file), plan.limits.ramp_ns > 0);
        let length_ns = measurement.histogram_interval_ns;
        tally.stream_to(IntervalStream::new(file, plan.number, origin_ns, length_ns, ramp_first));
    }
    tally
}

fn detailed(
    task: &Task<'_>,
    tally: WorkerCounters,
    synchronous: bool,
    origin_ns: u64,
) -> Result<DetailedRecorder, Fatal> {
    let plan = task.plan;
    let mut recorder = DetailedRecorder::new(tally, &plan.measurement, synchronous, plan.pacing.scheduled());
    recorder.limit_latency(plan.errors.max_latency_ns);
    if counts_files(plan) {
        recorder.count_files(plan.files.len());
    }
    if let Some(block_bytes) = plan.measurement.block_errors_bytes {
        recorder.count_blocks(&plan.files, block_bytes);
    }
    if let Some(priorities) = &plan.workload.priorities {
        let own = plan.process.io_priority.map_or(IoPriority::default(), |(class, level, hint)| IoPriority {
            class,
            level,
            hint,
        });
        recorder.split_priorities(priorities, own, plan.measurement.percentiles.lat);
    }
    if is_logged(plan)
        && let Some(spool) = &task.spools.logs
    {
        let file = spool.try_clone().map_err(|error| open_files::fatal("log spool", &error))?;
        let epoch_ns = match plan.logs.epoch_clock {
            0 => task.clock.unix_ns(),
            clock => iolab_clock::kernel_time_ns(clock)
                .map_err(|error| open_files::fatal("log_alternate_epoch_clock_id", &error))?,
        };
        let unix_ns = epoch_ns.saturating_sub(task.clock.now_ns().saturating_sub(origin_ns));
        let add_ns = if plan.logs.unix_epoch { unix_ns } else { 0 };
        let smallest = plan.workload.block_sizes.iter().map(iolab_plan::BlockSizes::min).min().unwrap_or(0);
        recorder.log_to(&plan.logs, file, origin_ns, add_ns, smallest);
    }
    Ok(recorder)
}

/// The operations of the plan, without flushes if the engine has none.
pub(crate) fn stream_of(plan: &WorkerPlan, syncs: bool) -> Result<OpStream, Fatal> {
    let mut workload = plan.workload.clone();
    if !syncs {
        let sync = &mut workload.sync;
        (sync.fsync_every, sync.fdatasync_every, sync.barrier_every, sync.file_range) = (0, 0, 0, None);
    }
    let extents = extents(plan);
    let limits = PassLimits { io_bytes: plan.limits.io_bytes, io_count: plan.limits.io_count };
    OpStream::new(&workload, &extents, limits)
        .map_err(|error| Fatal { errno: libc::EINVAL, message: error.to_string() })
}

/// The parts of a loop, besides its plan.
pub(crate) struct Parts<'a, L, R, P, C> {
    pub(crate) lane: L,
    pub(crate) recorder: R,
    pub(crate) pacer: P,
    pub(crate) checker: C,
    pub(crate) stream: OpStream,
    pub(crate) cached: CachedFiles,
    pub(crate) filler: Option<BufferFiller>,
    pub(crate) pool: &'a mut SlotPool,
    pub(crate) watch: Watch<'a>,
}

/// A loop before its first operation.
#[inline]
pub(crate) fn assemble<'a, L: Lane, R: Recorder, P: Pacer, C: Checker>(
    task: &Task<'a>,
    parts: Parts<'a, L, R, P, C>,
) -> HotLoop<'a, L, R, P, C> {
    let plan = task.plan;
    let queue = queue_of(&plan.queue);
    let ends = parts.lane.ends();
    let room = plan.queue.batch_complete_max.map_or(queue.depth, |most| (most as usize).clamp(1, queue.depth));
    let mut trouble = Trouble::new(&plan.errors, &plan.files, plan.layout.fill_device).with_end(ends);
    if plan.verify.as_ref().is_some_and(|verify| verify.fatal) {
        trouble.end_at_damage();
    }
    HotLoop {
        lane: parts.lane,
        recorder: parts.recorder,
        pacer: parts.pacer,
        checker: parts.checker,
        clock: task.clock,
        stream: parts.stream,
        batch: OpBatch::new(),
        cached: parts.cached,
        filler: parts.filler,
        pool: parts.pool,
        slots: Slots::new(queue.depth),
        done: Completions::with_room(room),
        queue,
        watch: parts.watch,
        trouble,
        unflushed: 0,
        in_flight: 0,
    }
}

fn queue_of(plan: &QueuePlan) -> Queue {
    let depth = plan.depth as usize;
    let burst = plan.batch_submit.map_or(depth, |burst| (burst as usize).clamp(1, depth));
    Queue {
        depth,
        burst,
        busy_at: if plan.batch_grows { burst } else { usize::MAX },
        wait_for: (plan.batch_complete_min as usize).min(depth),
        refill_at: plan.low_watermark.map_or(depth - 1, |low| (low as usize).min(depth - 1)),
    }
}
