//! One worker: a thread or process with its own engine lane, stream of operations and statistics.

use std::collections::BTreeMap;

use iolab_options::{EngineTraits, Settings};
use serde::{Deserialize, Serialize};

use crate::{BufferPlan, FilePlan, LayoutPlan, LimitPlan, LogPlan, PacingPlan, ReplayPlan, VerifyPlan, WorkloadPlan};

/// Everything one worker does. `numjobs=4` makes four of these, with the same `section`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerPlan {
    /// Position in [`crate::Plan::workers`].
    pub number: u32,
    /// Job name (the section's, or `name=`).
    pub job: String,
    /// Index of the job section it comes from; clones of one section share it.
    pub section: u32,
    /// Which of the section's `numjobs` clones, from 0.
    pub clone: u32,
    /// `description=`.
    pub description: Option<String>,
    /// The section's own options as the user wrote them, by canonical name, for the reports.
    pub job_options: BTreeMap<String, String>,
    /// Reporting group (`new_group` and stonewalls begin a new one).
    pub group: u32,
    /// Whether the group's workers are reported as one.
    pub group_reporting: bool,
    /// Stage: workers of stage n start when all workers of stage n-1 have ended (stonewall).
    pub stage: u32,
    /// The host that it runs on, an index of the recording's list of hosts; 0 if there is only one.
    #[serde(default, skip_serializing_if = "is_first")]
    pub host: u32,
    /// Name of a job that must have ended before this one starts (`wait_for`).
    pub wait_for: Option<String>,
    /// Which engine, with its own options.
    pub engine: EnginePlan,
    /// The files or devices.
    pub files: Vec<FilePlan>,
    /// How files are made, opened and removed.
    pub layout: LayoutPlan,
    /// Which operations.
    pub workload: WorkloadPlan,
    /// A trace that the operations come from, in place of the pattern of `workload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayPlan>>,
    /// How many at once.
    pub queue: QueuePlan,
    /// When each is sent.
    pub pacing: PacingPlan,
    /// When the worker stops.
    pub limits: LimitPlan,
    /// What written buffers hold and where buffers live.
    pub buffers: BufferPlan,
    /// What is measured.
    pub measurement: MeasurementPlan,
    /// Log files asked for.
    pub logs: LogPlan,
    /// Thread or process, CPUs, priorities.
    pub process: ProcessPlan,
    /// Which errors end it.
    pub errors: ErrorPlan,
    /// How written data is verified, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyPlan>,
}

fn is_first(host: &u32) -> bool {
    *host == 0
}

/// The engine of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnginePlan {
    /// Canonical engine name.
    pub name: String,
    /// The engine's own options, defaults included where they have one.
    pub options: Settings,
    /// Its traits, independent of its name; absent from plans made before engines described
    /// themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traits: Option<EngineTraits>,
}

impl EnginePlan {
    /// The traits of the engine: its own description, otherwise those known for its name.
    pub fn traits(&self) -> EngineTraits {
        self.traits.unwrap_or_else(|| crate::engines_by_name::traits(&self.name, &self.options))
    }
}

/// Queue depth and batching.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueuePlan {
    /// The most operations in flight (1 for synchronous engines).
    pub depth: u32,
    /// The iodepth asked for; differs from `depth` only for synchronous engines.
    pub asked_depth: u32,
    /// Submit as soon as this many are queued, or the queue is full; `None`: only when it is full.
    pub batch_submit: Option<u32>,
    /// While the device has at least `batch_submit` operations, all free slots are submitted at
    /// once instead.
    #[serde(default)]
    pub batch_grows: bool,
    /// Wait for at least this many completions when the queue is full (0 polls).
    pub batch_complete_min: u32,
    /// Collect at most this many at once; `None`: all available.
    pub batch_complete_max: Option<u32>,
    /// Operations that overlap one in flight wait for it.
    #[serde(default)]
    pub serialize_overlap: bool,
    /// Operations are submitted by separate threads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offload: bool,
    /// Refill only when the depth has dropped to this; `None`: at once.
    pub low_watermark: Option<u32>,
}

/// What is measured and how it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasurementPlan {
    /// Whether the worker appears in reports at all (`stats=0` hides it).
    pub stats: bool,
    /// Record submission latency.
    pub slat: bool,
    /// Record completion latency.
    pub clat: bool,
    /// Record total latency.
    pub lat: bool,
    /// Record bandwidth and IOPS intervals.
    pub bandwidth: bool,
    /// Length of the intervals for counting operations and bytes for rates, ns.
    pub interval_ns: u64,
    /// Length of the recorded intervals (`interval`), ns; 0 records none.
    #[serde(default)]
    pub histogram_interval_ns: u64,
    /// Time between samples of block devices and machine (`sample_interval`), ns; 0 for none. A run
    /// uses the shortest of its workers' intervals.
    #[serde(default)]
    pub sample_interval_ns: u64,
    /// Trace every request of the block devices (`trace_block`); one worker that
    /// wants it is enough.
    #[serde(default)]
    pub trace_block: bool,
    /// Count operations, bytes and completion latencies of each file, where the worker has several
    /// (`per_file_stats`).
    #[serde(default)]
    pub per_file: bool,
    /// Count trims and errors of each block of this many bytes (`block_error_percentiles`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_errors_bytes: Option<u64>,
    /// Averaging window of the bandwidth summary (`bwavgtime`), ms.
    pub bandwidth_window_ms: u64,
    /// Averaging window of the IOPS summary (`iopsavgtime`), ms.
    pub iops_window_ms: u64,
    /// Which percentiles to print, of what.
    pub percentiles: PercentilePlan,
    /// Sum directions in reports.
    pub unified: UnifiedReporting,
    /// Report disk utilisation.
    pub disk_util: bool,
    /// Where time stamps come from.
    pub clock: ClockChoice,
    /// Clock of the start time in reports (`clock_gettime(2)`'s number); 0 is the real time.
    #[serde(default, skip_serializing_if = "is_first")]
    pub start_clock: u32,
    /// Measure the cost of the tool itself in this worker's configuration before the run.
    #[serde(default)]
    pub calibrate: bool,
    /// Commits of an application that one sync stands for (`commits_per_sync`); changes nothing in
    /// the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits_per_sync: Option<f64>,
    /// 1024: `KiB` first (the default); 1000.
    pub kb_base: u32,
    /// fio's `unit_base`: 0 automatic (bytes), 8 bytes, 1 bits.
    pub unit_base: u32,
    /// Significant figures in the normal report (1 to 10).
    pub significant_figures: u32,
}

/// Percentiles of the reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PercentilePlan {
    /// The list, percent, ascending.
    pub list: Vec<f64>,
    /// Of completion latency.
    pub clat: bool,
    /// Of total latency.
    pub lat: bool,
    /// Of submission latency.
    pub slat: bool,
}

/// `unified_rw_reporting`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum UnifiedReporting {
    /// Each direction for itself.
    None,
    /// One `mixed` block instead.
    Mixed,
    /// Both.
    Both,
}

/// `clocksource`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClockChoice {
    /// The TSC if it is invariant, otherwise `clock_gettime`.
    Best,
    /// The TSC; an error if it cannot be trusted.
    Cpu,
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    ClockGettime,
    /// `gettimeofday`.
    Gettimeofday,
}

/// Thread or process, CPUs, priorities, identity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessPlan {
    /// A thread of the main process instead of a forked process.
    pub thread: bool,
    /// `nice` increment.
    pub nice: Option<i32>,
    /// I/O priority class (0 none, 1 realtime, 2 best effort, 3 idle), level (0 highest, 7), hint.
    pub io_priority: Option<(u8, u8, u16)>,
    /// CPUs this worker may run on (already its own share when the policy is split).
    pub cpus: Option<Vec<usize>>,
    /// The policy the CPUs came from.
    pub cpu_policy: CpuPolicy,
    /// NUMA nodes to run on.
    pub numa_cpu_nodes: Option<Vec<usize>>,
    /// NUMA memory policy.
    pub numa_memory: Option<NumaPolicy>,
    /// Bytes to lock in memory before starting.
    pub lock_memory_bytes: u64,
    /// User id to switch to.
    pub uid: Option<u32>,
    /// Group id to switch to.
    pub gid: Option<u32>,
    /// Command to run before the worker starts.
    pub exec_prerun: Option<String>,
    /// Command to run after it ended.
    pub exec_postrun: Option<String>,
    /// The control group it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<CgroupPlan>,
    /// Name shown by `ps` (`comm`); the job's name if absent.
    pub comm: Option<String>,
}

/// `cgroup`, `cgroup_weight`, `cgroup_nodelete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CgroupPlan {
    /// Its name, below the root of the hierarchy.
    pub name: String,
    /// Its I/O weight.
    pub weight: Option<u32>,
    /// It is not removed at the end.
    pub keep: bool,
}

/// `cpus_allowed_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CpuPolicy {
    /// All clones share the whole set.
    Shared,
    /// Each clone gets one CPU of the set.
    Split,
}

/// `numa_mem_policy`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NumaPolicy {
    /// `default`, `prefer`, `bind`, `interleave` or `local`.
    pub mode: String,
    /// Its nodes.
    pub nodes: Vec<usize>,
}

/// Which errors end a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorPlan {
    /// Kinds of operation whose errors are counted but do not end the worker.
    pub continue_on: Vec<ContinuableError>,
    /// Errnos not treated as errors at all, for read, write, verify.
    pub ignore: [Vec<i32>; 3],
    /// Print each ignored or survived error.
    pub dump: bool,
    /// End the other workers when this one ends.
    pub exit_all: bool,
    /// End the other workers when this one ends with an error.
    pub exit_all_on_error: bool,
    /// Which others `exit_all` means.
    pub exit_scope: ExitScope,
    /// An operation slower than this many ns ends the worker with ETIME; 0: no limit.
    pub max_latency_ns: [u64; 3],
}

/// A kind of error of `continue_on_error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ContinuableError {
    /// A read failed.
    Read,
    /// A write (or trim, or sync) failed.
    Write,
    /// Data did not verify.
    Verify,
}

/// `exit_what`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExitScope {
    /// Workers of the same reporting group.
    Group,
    /// Workers of the same stage.
    Stonewall,
    /// Every worker.
    All,
}
