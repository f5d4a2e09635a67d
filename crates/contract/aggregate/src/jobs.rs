//! The figures of reports: each job, and each reporting group.
//!
//! A report shows every worker for itself, or all workers of a group that asked for group reporting
//! as one. Counts and histograms are added; the runtime of a group is the longest of its workers';
//! minimum, maximum, mean and deviation of bandwidth and IOPS come from the *summed* series of the
//! group's workers, so that a minimum is a moment that existed (fio adds the workers' extremes,
//! which need not be simultaneous).

use iolab_order::Arrange;
use iolab_plan::{Direction, UnifiedReporting, WorkerPlan};
use iolab_recording::{
    BlockErrors, DepthUse, DriftRecording, LoopOverhead, LoopsOfWorkers, Recording, ScheduleRecording, SyncRecording,
    WorkerOutcome, WorkerRecording,
};

use crate::direction::DirectionFigures;
use crate::files::{CountedFile, counted_files};
use crate::members::Member;
use crate::shares::{Bands, DepthShares};
use crate::steady::{SteadyFigures, steady};
use crate::throughput::milliseconds;

/// One reported job: a worker or a group of workers.
#[derive(Debug)]
pub struct JobFigures<'a> {
    /// Plan of its first worker, the source of name, description and options.
    pub plan: &'a WorkerPlan,
    /// The workers it consists of.
    pub workers: Vec<&'a WorkerRecording>,
    /// Names of the hosts that they ran on, each once; empty for a run of one host.
    pub hosts: Vec<&'a str>,
    /// Process or thread id of the first.
    pub pid: u32,
    /// First errno that ended a worker; 0 if none.
    pub errno: i32,
    /// What is known about that error.
    pub error_message: Option<String>,
    /// Read, write and trim, or `mixed` alone.
    pub directions: Vec<DirectionFigures>,
    /// `mixed` in addition to the three, for `unified_rw_reporting=both`.
    pub mixed: Option<DirectionFigures>,
    /// Each file, of jobs with several that asked for it.
    pub files: Vec<CountedFile>,
    /// Trims and errors of each block, of jobs that count them.
    pub block_errors: Option<BlockErrors>,
    /// Flushes.
    pub sync: SyncRecording,
    /// Latency bands.
    pub bands: Bands,
    /// Shares of queue depths.
    pub depth: DepthShares,
    /// Shares of submission batches.
    pub submit: DepthShares,
    /// Shares of completion batches.
    pub complete: DepthShares,
    /// CPU figures.
    pub cpu: CpuFigures,
    /// Errors survived or fatal: how many, and the first errno seen.
    pub errors: ErrorFigures,
    /// Start of the first worker's I/O, ns since the start of the run.
    pub started_ns: u64,
    /// How the schedules of paced workers were kept.
    pub schedule: Option<ScheduleRecording>,
    /// How the times of a replayed trace were kept.
    pub drift: Option<DriftRecording>,
    /// A sentence for each worker that could not keep its schedule.
    pub saturation: Vec<String>,
    /// The tool's own part in the time per I/O, for each kind of loop among the workers.
    pub overheads: Vec<LoopOverhead>,
    /// How steady the rate was, if that was asked for.
    pub steady: Option<SteadyFigures>,
}

/// CPU time as shares of the workers' run time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuFigures {
    /// Sum of the workers' measured times, ms.
    pub runtime_ms: u64,
    /// User time, percent of it.
    pub user_percent: f64,
    /// System time, percent of it.
    pub system_percent: f64,
    /// Context switches.
    pub context_switches: u64,
    /// Major faults.
    pub major_faults: u64,
    /// Minor faults.
    pub minor_faults: u64,
}

/// `EILSEQ`: data that did not verify.
const DAMAGED: i32 = 84;

impl JobFigures<'_> {
    /// The errno that fio reports: of the error that ended a worker, or of damaged data that did
    /// not end it.
    pub fn reported_errno(&self) -> i32 {
        if self.errno == 0 && self.errors.first == DAMAGED { DAMAGED } else { self.errno }
    }

    /// Zones that its workers reset to write them again; `None` if it does not write to zones.
    pub fn zone_resets(&self) -> Option<u64> {
        let each: Vec<u64> = self.workers.iter().filter_map(|worker| worker.zone_resets).collect();
        (!each.is_empty()).then(|| each.iter().sum())
    }
}

/// Errors of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorFigures {
    /// Whether reports show them: non-fatal errors happened, or the plan allows them.
    pub shown: bool,
    /// How many.
    pub total: u64,
    /// The first errno; 0 if none.
    pub first: i32,
}

pub(crate) fn job_figures<'a>(
    members: &[Member<'a>],
    recording: &'a Recording,
    loops: Option<&LoopsOfWorkers<'_>>,
) -> JobFigures<'a> {
    let plan = members[0].0;
    let workers: Vec<&WorkerRecording> = members.iter().map(|member| member.1).collect();
    let ended_by = workers.iter().find(|worker| worker.outcome.errno() != 0).map(|worker| &worker.outcome);
    let each = || Direction::ALL.map(|direction| DirectionFigures::of(&[direction], members));
    let mixed = || DirectionFigures::of(&Direction::ALL, members);
    let (directions, beside) = match plan.measurement.unified {
        UnifiedReporting::None => (each().to_vec(), None),
        UnifiedReporting::Mixed => (vec![mixed()], None),
        UnifiedReporting::Both => (each().to_vec(), Some(mixed())),
    };
    let mut sync = SyncRecording::default();
    for worker in &workers {
        sync.ios += worker.sync.ios;
        sync.lat.merge(&worker.sync.lat);
    }
    let batches = |which: fn(&DepthUse) -> &[(u32, u64)], by_batch| {
        DepthShares::of(workers.iter().flat_map(|worker| which(&worker.depth)), by_batch)
    };
    JobFigures {
        plan,
        hosts: hosts(members, recording),
        pid: workers[0].pid,
        errno: ended_by.map_or(0, WorkerOutcome::errno),
        error_message: ended_by.and_then(message_of),
        bands: Bands::of(&directions),
        directions,
        mixed: beside,
        files: counted_files(members),
        block_errors: block_errors(&workers),
        sync,
        depth: batches(|depth| &depth.at_submit, false),
        submit: batches(|depth| &depth.submit_batches, true),
        complete: batches(|depth| &depth.complete_batches, true),
        cpu: cpu_figures(&workers),
        errors: error_figures(members),
        schedule: schedule(&workers),
        drift: drift(&workers),
        steady: steady(members),
        saturation: workers.iter().filter_map(|worker| worker.saturation()).collect(),
        overheads: loops.map(|loops| loops.overheads(members)).unwrap_or_default(),
        started_ns: workers.iter().map(|worker| worker.started_ns).min().unwrap_or(0),
        workers,
    }
}

fn hosts<'a>(members: &[Member<'a>], recording: &'a Recording) -> Vec<&'a str> {
    let mut names: Vec<&str> = members.iter().filter_map(|(plan, _)| recording.host_name(plan.host)).collect();
    names.arrange();
    names.dedup();
    names
}

fn schedule(workers: &[&WorkerRecording]) -> Option<ScheduleRecording> {
    workers.iter().filter_map(|worker| worker.schedule).reduce(|mut all, one| {
        all.join(&one);
        all
    })
}

fn drift(workers: &[&WorkerRecording]) -> Option<DriftRecording> {
    workers.iter().filter_map(|worker| worker.drift.clone()).reduce(|mut all, one| {
        all.join(&one);
        all
    })
}

fn block_errors(workers: &[&WorkerRecording]) -> Option<BlockErrors> {
    workers.iter().filter_map(|worker| worker.block_errors.clone()).reduce(|mut all, one| {
        all.join(&one);
        all
    })
}

fn message_of(outcome: &WorkerOutcome) -> Option<String> {
    match outcome {
        WorkerOutcome::Failed { message, .. } => Some(message.clone()),
        WorkerOutcome::Crashed { signal: 0, message } => Some(format!("worker vanished: {message}")),
        WorkerOutcome::Crashed { signal, message } => Some(format!("worker died of signal {signal}: {message}")),
        _ => None,
    }
}

fn cpu_figures(workers: &[&WorkerRecording]) -> CpuFigures {
    let sum = |of: fn(&WorkerRecording) -> u64| workers.iter().map(|worker| of(worker)).fold(0, u64::saturating_add);
    let runtime_ns = sum(|worker| worker.runtime_ns);
    let percent = |ns: u64| if runtime_ns == 0 { 0.0 } else { ns as f64 * 100.0 / runtime_ns as f64 };
    CpuFigures {
        runtime_ms: workers.iter().map(|worker| milliseconds(worker.runtime_ns)).sum(),
        user_percent: percent(sum(|worker| worker.cpu.user_ns)),
        system_percent: percent(sum(|worker| worker.cpu.system_ns)),
        context_switches: sum(|worker| worker.cpu.context_switches),
        major_faults: sum(|worker| worker.cpu.major_faults),
        minor_faults: sum(|worker| worker.cpu.minor_faults),
    }
}

fn error_figures(members: &[Member<'_>]) -> ErrorFigures {
    let counts = || members.iter().flat_map(|(_, worker)| &worker.errors);
    let allowed = members.iter().any(|(plan, _)| !plan.errors.continue_on.is_empty());
    // The job line reports a fatal error; the error line is about errors that the job survived.
    let survived = members.iter().any(|(_, worker)| worker.outcome.errno() == 0 && !worker.errors.is_empty());
    ErrorFigures {
        shown: allowed || survived,
        total: counts().map(|error| error.count).fold(0, u64::saturating_add),
        first: counts().next().map_or(0, |error| error.errno),
    }
}
