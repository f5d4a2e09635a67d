//! Plans for calibration trials: a worker's plan with the same loop, but without anything that
//! waits, ends it early or takes much memory.
//!
//! | of the worker's plan | in the trial |
//! | --- | --- |
//! | rates, arrivals | so high that every operation is due |
//! | think time | none, but accounted for |
//! | start delay, ramp, floors, latency limits, wear-out | none |
//! | depth | as long as buffers that are filled before writes fit into a processor's cache |
//! | files | shorter, where a map of their blocks would be large |
//!
//! There is no trial for writes whose buffers are filled and exceed a cache.

use iolab_memory::{Backing, SlotPool};
use iolab_plan::{BlockSizes, FileOrigin, Plan, RandomMap, WorkerPlan};
use iolab_workload::BufferFiller;

use crate::registry::EngineEntry;
use crate::registry::LaneKind;
use crate::trouble::Fatal;
use crate::{changes, open_files};

/// Largest total size of buffers that are filled before writes, bytes.
const FILLED_BYTES: u64 = 1 << 20;
/// Largest number of places in maps of blocks.
const MAP_PLACES: u64 = 1 << 20;
/// The rate of a load that is always late, operations per second.
const ALWAYS_DUE: u64 = 1_000_000_000;

/// One kind of loop, and the workers that have it.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) plan: WorkerPlan,
    pub(super) lane: LaneKind,
    /// Numbers of the workers, ascending.
    pub(super) workers: Vec<u32>,
    /// What is filled before writes, if anything is.
    filled: bool,
}

/// Whether the worker is to be calibrated: reports do not show those without statistics.
pub(super) fn is_wanted(worker: &WorkerPlan) -> bool {
    worker.measurement.calibrate && worker.measurement.stats
}

/// The trials of a run: one for each different loop.
pub(super) fn of_plan(plan: &Plan, engines: &[EngineEntry]) -> Vec<Trial> {
    let mut trials: Vec<Trial> = Vec::new();
    // The number and the trial of the previous section. Clones differ only in paths, seeds and
    // processors.
    let mut last: Option<(u32, Option<usize>)> = None;
    for worker in plan.workers.iter().filter(|worker| is_wanted(worker)) {
        let known = last.filter(|(section, _)| *section == worker.section);
        let place = known.map_or_else(|| place(&mut trials, worker, engines), |(_, place)| place);
        last = Some((worker.section, place));
        if let Some(place) = place {
            trials[place].workers.push(worker.number);
        }
    }
    trials
}

/// The index in `trials` of this worker's loop; adds the trial if it is missing.
fn place(trials: &mut Vec<Trial>, worker: &WorkerPlan, engines: &[EngineEntry]) -> Option<usize> {
    let entry = crate::engine_of(engines, worker)?;
    let trial = Trial::of(worker, entry)?;
    let same = |other: &Trial| other.lane == trial.lane && other.filled == trial.filled && other.plan == trial.plan;
    Some(trials.iter().position(same).unwrap_or_else(|| {
        trials.push(trial);
        trials.len() - 1
    }))
}

impl Trial {
    /// The trial of one worker; `None` if its loop cannot be tried in little time and memory.
    pub(super) fn of(worker: &WorkerPlan, entry: &EngineEntry) -> Option<Trial> {
        let capabilities = &entry.description.capabilities;
        let mut plan = nameless(worker);
        unhurried(&mut plan);
        if !capabilities.syncs {
            let sync = &mut plan.workload.sync;
            (sync.fsync_every, sync.fdatasync_every, sync.barrier_every, sync.file_range) = (0, 0, 0, None);
        }
        shorten_files(&mut plan);
        let filler = BufferFiller::new(&plan.buffers, plan.workload.buffer_seed);
        let filled = capabilities.moves_data && changes::writes(&plan) && filler.touches_writes();
        if filled {
            let most = FILLED_BYTES / plan.buffers.slot_bytes.max(1);
            plan.queue.depth = plan.queue.depth.min(u32::try_from(most).unwrap_or(u32::MAX));
        }
        // A replay's loop waits for the times of its trace.
        let possible = plan.queue.depth > 0 && !plan.layout.create_only && plan.replay.is_none();
        possible.then(|| Trial { plan, lane: entry.lane, workers: Vec::new(), filled })
    }

    /// The buffers of the trial, and how they are filled before writes.
    pub(super) fn buffers(&self) -> Result<(SlotPool, Option<BufferFiller>), Fatal> {
        let plan = &self.plan;
        // Buffers that are never read need no memory.
        let slot_bytes = if self.filled { plan.buffers.slot_bytes as usize } else { 1 };
        let mut pool = SlotPool::new(plan.queue.depth as usize, slot_bytes, 0, &Backing::Anonymous)
            .map_err(|error| open_files::fatal(&error.message, &error.source))?;
        let mut filler = self.filled.then(|| BufferFiller::new(&plan.buffers, plan.workload.buffer_seed));
        if let Some(filler) = &mut filler {
            (0..pool.view().slots()).for_each(|slot| filler.initialise(pool.slot_mut(slot)));
        }
        Ok((pool, filler))
    }
}

/// The plan without the fields in which workers with the same loop differ.
fn nameless(worker: &WorkerPlan) -> WorkerPlan {
    let mut plan = worker.clone();
    (plan.number, plan.section, plan.clone, plan.group, plan.stage) = (0, 0, 0, 0, 0);
    plan.group_reporting = false;
    plan.job.clear();
    plan.job_options.clear();
    (plan.description, plan.wait_for, plan.verify) = (None, None, None);
    plan.engine.options = Default::default();
    (plan.workload.seed, plan.workload.buffer_seed, plan.pacing.seed) = (1, 1, 1);
    for file in &mut plan.files {
        file.path.clear();
        file.origin = FileOrigin::Named;
        (file.start_bytes, file.layout_bytes, file.block_device) = (0, 0, false);
    }
    let process = &mut plan.process;
    (process.nice, process.io_priority, process.cpus, process.comm) = (None, None, None, None);
    (process.exec_prerun, process.exec_postrun) = (None, None);
    let logs = &mut plan.logs;
    [&mut logs.latency, &mut logs.bandwidth, &mut logs.iops].into_iter().flatten().for_each(String::clear);
    if let Some(log) = &mut logs.histogram {
        log.prefix.clear();
    }
    plan
}

/// Removes all waits, so that only the time limit ends the loop.
fn unhurried(plan: &mut WorkerPlan) {
    let pacing = &mut plan.pacing;
    pacing.rate_iops = pacing.scheduled().map(|scheduled| if scheduled { ALWAYS_DUE } else { 0 });
    (pacing.rate_bytes, pacing.arrivals) = ([0; 3], None);
    (pacing.rate_min_bytes, pacing.rate_min_iops) = ([0; 3], [0; 3]);
    if let Some(think) = &mut pacing.think {
        (think.pause_ns, think.spin_ns) = (0, 0);
    }
    let limits = &mut plan.limits;
    (limits.start_delay_ns, limits.ramp_ns, limits.runtime_ns) = (0, 0, None);
    (limits.time_based, limits.loops, limits.wear_out) = (true, 1, false);
    for limit_ns in plan.errors.max_latency_ns.iter_mut().filter(|limit_ns| **limit_ns > 0) {
        *limit_ns = u64::MAX;
    }
}

/// A map of blocks has a bit for each place in the files, all of which are cleared before the first
/// operation.
fn shorten_files(plan: &mut WorkerPlan) {
    let workload = &plan.workload;
    let sizes = || workload.block_sizes.iter();
    let fixed = sizes().all(|sizes| matches!(sizes, BlockSizes::Fixed(_)));
    if !workload.pattern.random || workload.random_map == RandomMap::Off || fixed {
        return;
    }
    let least = sizes().map(BlockSizes::min).min().unwrap_or(1).max(1);
    let most = sizes().map(BlockSizes::max).max().unwrap_or(1);
    let places = MAP_PLACES / plan.files.len().max(1) as u64;
    let longest_bytes = places.saturating_mul(least).max(most.saturating_mul(16));
    plan.files.iter_mut().for_each(|file| file.length_bytes = file.length_bytes.min(longest_bytes));
}
