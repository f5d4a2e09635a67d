//! When operations are sent, and when the worker stops.

use iolab_options::{PerDirection, RateProcess};
use serde::{Deserialize, Serialize};

use crate::{ArrivalsPlan, SteadyPlan};

/// Rates and think time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacingPlan {
    /// Bytes per second, per direction; 0: no limit.
    pub rate_bytes: PerDirection<u64>,
    /// Operations per second, per direction; 0: no limit.
    pub rate_iops: PerDirection<u64>,
    /// Slower than this many bytes per second over a cycle ends the worker; 0: no floor.
    pub rate_min_bytes: PerDirection<u64>,
    /// Slower than this many operations per second over a cycle ends the worker; 0: no floor.
    pub rate_min_iops: PerDirection<u64>,
    /// Arrivals written down in a file, in place of rates; common to all directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalsPlan>,
    /// Whether the times of a replayed trace apply instead of rates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_trace: bool,
    /// Spread of arrivals.
    pub process: RateProcess,
    /// Cycle of the floors, ms.
    pub cycle_ms: u64,
    /// Forgive schedule slips caused by think time.
    pub ignore_think_time: bool,
    /// Think time.
    pub think: Option<ThinkPlan>,
    /// The job whose operations the operations of this worker wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<FollowPlan>,
    /// The flow that it shares with other workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowPlan>,
    /// The latency that its queue depth is chosen by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_target: Option<LatencyTargetPlan>,
    /// Seed of Poisson gaps.
    pub seed: u64,
}

/// `flow`: transfers of the workers of one flow are in the ratio of their weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowPlan {
    /// Which flow.
    pub id: u32,
    /// Its weight, at least 1.
    pub weight: u32,
    /// How long it sleeps when it is ahead, ns.
    pub sleep_ns: u64,
}

/// `latency_target`: the largest queue depth whose latencies are below a limit is searched.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyTargetPlan {
    /// The limit, ns.
    pub target_ns: u64,
    /// How long each depth is tried, ns.
    pub window_ns: u64,
    /// Percent of the operations that have to be below the limit.
    pub percentile: f64,
    /// Continue at the depth that was found, instead of ending.
    pub goes_on: bool,
}

/// `follow=JOB:N`: a transfer for each N that the workers of another job have completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FollowPlan {
    /// The job that is followed.
    pub job: String,
    /// The number of its transfers for each transfer of this worker.
    pub every: f64,
}

impl PacingPlan {
    /// Which directions have intended times.
    pub fn scheduled(&self) -> PerDirection<bool> {
        let all = self.arrivals.is_some() || self.by_trace;
        std::array::from_fn(|index| all || self.rate_bytes[index] > 0 || self.rate_iops[index] > 0)
    }
}

/// Pauses between operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThinkPlan {
    /// Pause, ns.
    pub pause_ns: u64,
    /// How much of it is spent spinning, ns.
    pub spin_ns: u64,
    /// The processor time that ends the spinning, ns; 0: `spin_ns` of the clock end it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub work_ns: u64,
    /// Iterations of a loop before each pause.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spin_cycles: u64,
    /// Operations between pauses.
    pub blocks: u32,
    /// Which operations count.
    pub trigger: ThinkTrigger,
    /// Pause after this much time of I/O instead, ns; 0: count operations only.
    pub io_time_ns: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// `thinktime_blocks_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ThinkTrigger {
    /// Completions.
    Complete,
    /// Submissions.
    Issue,
}

/// When the worker starts, starts to count, and stops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitPlan {
    /// Wait this long after the stage starts, ns.
    pub start_delay_ns: u64,
    /// Not measured, ns from the start of I/O.
    pub ramp_ns: u64,
    /// Bytes that are moved before it is measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ramp_bytes: u64,
    /// Longest measured time, ns; `None`: no limit.
    pub runtime_ns: Option<u64>,
    /// Then the worker goes on until it has done as many operations as the worker of its job that
    /// had done most, on all ranks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wear_out: bool,
    /// Start over at the end of the files until the runtime is over.
    pub time_based: bool,
    /// Passes over the workload.
    pub loops: u64,
    /// Bytes to move in one pass.
    pub io_bytes: u64,
    /// Most operations; `None`: no limit.
    pub io_count: Option<u64>,
    /// The worker also stops when its rate, or that of its group, has become steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyPlan>,
}
