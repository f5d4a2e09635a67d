//! The measurements of one worker.

use iolab_histogram::SparseHistogram;
use iolab_plan::{IoPriority, PerDirection};
use iolab_text::grouped;
use serde::{Deserialize, Serialize};

use crate::schedule::readable;
use crate::{BlockErrors, DriftRecording, HistogramLogEntry, IntervalLatencies, ScheduleRecording, SteadyRecording};

/// One worker's results. All times are ns; run times count from the start of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerRecording {
    /// Number of its plan.
    pub number: u32,
    /// Process or thread id.
    pub pid: u32,
    /// How it ended.
    pub outcome: WorkerOutcome,
    /// When its I/O began, ns since the start of the run.
    pub started_ns: u64,
    /// Length of its measured part, ns.
    pub runtime_ns: u64,
    /// Read, write, trim.
    pub directions: PerDirection<DirectionRecording>,
    /// The part of each file, in the order of the plan; empty unless the job requested it
    /// (`per_file_stats`) and has several files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRecording>,
    /// Trims and errors of each block, if the job counts them (`block_error_percentiles`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_errors: Option<BlockErrors>,
    /// fsync, fdatasync and sync_file_range.
    pub sync: SyncRecording,
    /// Operations per interval, on a grid common to all workers.
    pub intervals: Vec<Interval>,
    /// Latencies per interval of the plan's `histogram_interval_ns`, ascending; empty when that is
    /// 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interval_latencies: Vec<IntervalLatencies>,
    /// Queue depths and batches.
    pub depth: DepthUse,
    /// CPU time, switches and faults of the measured part.
    pub cpu: CpuUse,
    /// Errors survived or fatal, by errno.
    pub errors: Vec<ErrorCount>,
    /// How the schedule was kept, when the load is paced by a rate or by recorded arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleRecording>,
    /// How the times of a trace were kept, when the worker replays one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftRecording>,
    /// How steady the rate was, if the worker judged that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyRecording>,
    /// The queue depth that `latency_target` found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_depth: Option<u32>,
    /// When it began by the clock that the job names, ns, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_by_clock_ns: Option<u64>,
    /// What was verified, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationRecording>,
    /// Zones that were reset to be written again, if the job writes to zones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_resets: Option<u64>,
    /// Histogram log lines, if asked for.
    pub histogram_log: Vec<HistogramLogEntry>,
    /// What the user should know about this worker.
    pub notes: Vec<String>,
    /// Results that were lost because there was no room for them: sentences, which are also among
    /// the notes. A run that lost something has failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}

/// What was verified, and what was damaged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerificationRecording {
    /// Intervals that were checked.
    pub intervals: u64,
    /// Intervals that were damaged.
    pub damaged: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<DamageRecording>,
    /// The state after a loss of power, if it was judged (`verify_policy=durable`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<AftermathRecording>,
}

/// Intervals after a loss of power: how many of each class were checked, and the content of the
/// sound ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AftermathRecording {
    /// Their last write was flushed.
    pub must_be_new: u64,
    /// A write was flushed, and later ones were not.
    pub must_not_be_older: u64,
    /// No write was flushed.
    pub may_be_either: u64,
    /// Held the last write.
    pub newest: u64,
    /// Held an earlier write that was allowed.
    pub older: u64,
    /// Held a write that the state does not know, because it is older than the data.
    pub newer: u64,
    /// Held zeroes that were allowed.
    pub zeroes: u64,
    /// Held sectors of several writes that were allowed.
    pub torn: u64,
    /// Held something else, and were allowed to hold anything.
    pub anything: u64,
}

impl AftermathRecording {
    /// All counts, in the order of the fields.
    pub fn counts(mut self) -> [u64; 9] {
        self.counts_mut().map(|count| *count)
    }

    /// All counts, mutable.
    pub fn counts_mut(&mut self) -> [&mut u64; 9] {
        let AftermathRecording {
            must_be_new,
            must_not_be_older,
            may_be_either,
            newest,
            older,
            newer,
            zeroes,
            torn,
            anything,
        } = self;
        [must_be_new, must_not_be_older, may_be_either, newest, older, newer, zeroes, torn, anything]
    }
}

/// An interval without its expected content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DamageRecording {
    /// The file.
    pub file: String,
    /// Where the interval begins, bytes.
    pub offset: u64,
    /// Its length, bytes.
    pub length: u32,
    /// What differs, in a sentence.
    pub reason: String,
    /// The kind of damage, in a sentence.
    pub damage: String,
}

/// How a worker ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkerOutcome {
    /// It never ran (the run ended first).
    #[default]
    NotRun,
    /// It did what the plan said, or was ordered to stop by `exitall`.
    Finished,
    /// The user or a signal ended it early; its figures are valid for the time that it ran.
    Interrupted,
    /// An error ended it.
    Failed {
        /// The first fatal errno.
        errno: i32,
        /// What failed, in a sentence.
        message: String,
    },
    /// Its process died.
    Crashed {
        /// Signal number, or 0 if it exited without reporting.
        signal: i32,
        /// What is known.
        message: String,
    },
}

impl WorkerOutcome {
    /// What ended it, in a sentence for people; empty if nothing did.
    pub fn reason(&self) -> String {
        match self {
            WorkerOutcome::Failed { errno, message } => format!("{message} (errno {errno})"),
            WorkerOutcome::Crashed { message, .. } => message.clone(),
            WorkerOutcome::NotRun => "it was not run".to_owned(),
            WorkerOutcome::Interrupted => "it was interrupted".to_owned(),
            WorkerOutcome::Finished => String::new(),
        }
    }
}

impl WorkerRecording {
    /// Records that some of its results could not be saved.
    pub fn note_lost(&mut self, sentence: &str) {
        self.notes.push(sentence.to_owned());
        self.lost.push(sentence.to_owned());
    }

    /// Whether it failed, died, or lost something it measured.
    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, WorkerOutcome::Failed { .. } | WorkerOutcome::Crashed { .. }) || !self.lost.is_empty()
    }
}

impl WorkerOutcome {
    /// The errno reports show: 0 unless it failed or crashed.
    pub fn errno(&self) -> i32 {
        match self {
            WorkerOutcome::Failed { errno, .. } => *errno,
            WorkerOutcome::Crashed { .. } => 5, // EIO: what a parent can honestly say of a vanished child
            _ => 0,
        }
    }
}

/// One direction's totals and latencies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionRecording {
    /// Operations completed in the measured part.
    pub ios: u64,
    /// Bytes moved in the measured part.
    pub bytes: u64,
    /// Operations issued over the whole life of the worker, ramp included.
    pub issued: u64,
    /// Time from the first to the last measured operation of the worker, ns (the divisor of rates).
    pub runtime_ns: u64,
    /// Transfers that came back short and were continued.
    pub short_ios: u64,
    /// Operations given up.
    pub dropped_ios: u64,
    /// submitted - begun.
    pub slat: SparseHistogram,
    /// reaped - submitted.
    pub clat: SparseHistogram,
    /// reaped - begun.
    pub lat: SparseHistogram,
    /// reaped - intended, when the load is paced; empty otherwise. Its sum is that of three parts:
    /// waiting for the device, lateness of the generator, `lat`.
    pub response: SparseHistogram,
    /// For a paced load: how long due operations waited because the device had not finished earlier
    /// ones.
    #[serde(default)]
    pub backlog_wait: SparseHistogram,
    /// For a paced load: how much later operations began than possible, caused by the load
    /// generator itself.
    #[serde(default)]
    pub generator_late: SparseHistogram,
    /// The operations of each priority, for a job whose operations have several (`cmdprio_*`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityRecording>,
}

/// The operations of one priority.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorityRecording {
    /// The priority.
    pub priority: IoPriority,
    /// `clat`, or `lat` for a job with `lat_percentiles`.
    pub latency: SparseHistogram,
}

/// One file's part of a worker's operations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileRecording {
    /// Bytes moved in the measured part.
    pub bytes: PerDirection<u64>,
    /// reaped - submitted; they count the operations, too.
    pub clat: PerDirection<SparseHistogram>,
}

/// Flush operations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncRecording {
    /// Completed.
    pub ios: u64,
    /// Latency.
    pub lat: SparseHistogram,
}

/// Operations completed in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Start, ns since the start of the run.
    pub start_ns: u64,
    /// Length, ns (the first and last may be shorter than the grid).
    pub length_ns: u64,
    /// Operations, by direction.
    pub ios: PerDirection<u64>,
    /// Bytes, by direction.
    pub bytes: PerDirection<u64>,
}

/// How full the queue was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DepthUse {
    /// `(depth, operations submitted when the queue, themselves included, was that deep)`,
    /// ascending.
    pub at_submit: Vec<(u32, u64)>,
    /// `(operations per flush, flushes)`, ascending.
    pub submit_batches: Vec<(u32, u64)>,
    /// `(completions per reap, reaps)`, ascending; 0 is a reap that found none.
    pub complete_batches: Vec<(u32, u64)>,
}

/// `getrusage(2)` over the measured part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuUse {
    /// User time, ns.
    pub user_ns: u64,
    /// System time, ns.
    pub system_ns: u64,
    /// Voluntary and involuntary context switches.
    pub context_switches: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Minor page faults.
    pub minor_faults: u64,
}

/// How often one errno was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorCount {
    /// The errno.
    pub errno: i32,
    /// How often.
    pub count: u64,
}

impl WorkerRecording {
    /// A sentence about a load that was too high; `None` when the schedule was kept.
    pub fn saturation(&self) -> Option<String> {
        let schedule = self.schedule.as_ref().filter(|schedule| schedule.is_saturated())?;
        let sum = |of: fn(&crate::DirectionRecording) -> u128| self.directions.iter().map(of).sum::<u128>();
        let by_generator = sum(|direction| direction.generator_late.sum) > sum(|direction| direction.backlog_wait.sum);
        let fault = if by_generator { "; the load generator, not the device, was too slow" } else { "" };
        let rest = match schedule.backlog_at_end {
            0 => "the last of them was sent".to_owned(),
            1 => "1 operation was never sent; it was".to_owned(),
            count => format!("{} operations were never sent; the first of them was", grouped(count)),
        };
        Some(format!(
            "saturated: requested {} IOPS, reached {}; {rest} {} late{fault}",
            grouped(schedule.asked_iops().round() as u64),
            grouped(schedule.sent_iops().round() as u64),
            readable(schedule.lag_at_end_ns),
        ))
    }
}
