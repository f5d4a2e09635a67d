//! The plan: what a run will do, as plain data, with every default resolved and every number
//! explicit.
//!
//! This is the first of the two narrow waists (job → **plan** → run → recording → report).
//! `resolve` makes it, `iolab plan` prints it, the runner obeys it and the recording carries it.
//! Nothing here decides, reads a clock or does I/O. [`describe()`] renders it for people.

mod arrivals;
mod buffers;
mod describe;
mod engines_by_name;
mod files;
mod logs;
mod pacing;
mod priorities;
mod replay;
mod steady;
mod verify;
mod worker;
mod workload;
mod zones;

pub use arrivals::{ArrivalsError, ArrivalsPlan, arrivals_checksum, arrivals_period_ns, parse_arrivals};
pub use buffers::{BufferContent, BufferMemory, BufferPlan};
pub use describe::describe;
pub use files::{FadviseHint, Fallocate, FileLock, FileOrigin, FilePlan, FileSync, LayoutPlan, WriteHint};
pub use iolab_options::{
    Direction, Distribution, EngineTraits, PageCache, PerDirection, Percent, Rank, RateProcess, Reach, ZoneShare,
};
pub use logs::{ClientLogPlan, HistogramLogPlan, LogKind, LogPlan, LogWindow};
pub use pacing::{FlowPlan, FollowPlan, LatencyTargetPlan, LimitPlan, PacingPlan, ThinkPlan, ThinkTrigger};
pub use priorities::{IoPriority, PriorityPlan, PriorityShare};
pub use replay::{ReplayFile, ReplayPlan, ReplayRules, ReplayShare, ReplaySurvey, TraceIdentity};
pub use steady::{SteadyMeasure, SteadyPlan};
pub use verify::{VerifyBacklog, VerifyKind, VerifyPattern, VerifyPlan, VerifyPolicy, VerifyTrim};
pub use worker::{
    CgroupPlan, ClockChoice, ContinuableError, CpuPolicy, EnginePlan, ErrorPlan, ExitScope, MeasurementPlan,
    NumaPolicy, PercentilePlan, ProcessPlan, QueuePlan, UnifiedReporting, WorkerPlan,
};
pub use workload::{
    BlockSizes, FileService, FileServiceKind, Pattern, RandomGenerator, RandomMap, Sequencer, SprandomPlan, StridePlan,
    SyncCadence, SyncFileRangePlan, WorkloadPlan,
};
pub use zones::{ZonePlan, ZoneResetPlan};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// The job files and command line it was made from, verbatim.
    pub sources: Vec<SourceText>,
    /// Options of `[global]` and of the command line before the first job, as the user wrote them.
    pub global_options: BTreeMap<String, String>,
    /// The workers, in the order of their numbers.
    pub workers: Vec<WorkerPlan>,
    /// What the user should know before the run: options without effect, odd combinations.
    pub warnings: Vec<String>,
    /// Which part of a run of several ranks it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
}

/// One text the plan was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceText {
    /// File name, `-` for standard input, `command line`.
    pub name: String,
    /// Its text.
    pub text: String,
}
