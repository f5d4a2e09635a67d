//! The recording: everything a run measured, as plain data.
//!
//! This is the second narrow waist (run → **recording** → report). Every report is a function of
//! it, now or years later. It is saved as one JSON document whose first field says its format; see
//! [`Recording::to_json`]. Nothing here measures, renders or does I/O.

mod calibration;
mod event;
mod finding;
mod format;
mod host;
mod hosts;
mod interval;
mod log;
mod observations;
pub mod partial;
mod redaction;
mod schedule;
mod sound;
mod spooled;
mod steady;
mod worker;

pub use calibration::{Calibration, LIMIT_PERCENT, LoopCost, METHOD, Overhead, TimerLateness};
pub use event::{Event, Progress, State, WorkerProgress};
pub use finding::{Finding, Severity};
pub use format::{FORMAT, FORMAT_OF_SEVERAL_HOSTS, ReadError};
pub use host::{CpuQuota, DeviceCounters, DeviceSetting, DeviceUse, HostFacts};
pub use hosts::Host;
pub use interval::{DirectionInterval, IntervalLatencies};
pub use log::{HistogramLogEntry, LogEntry};
pub use observations::{DeviceSample, DeviceSeries, HostSample, Observations, QuotaUse, RequestInterval};
pub use redaction::Redaction;
pub use schedule::ScheduleRecording;
pub use sound::Unsound;
pub use spooled::{BlockHeader, LoggedOperation, OperationTraits, SpoolBlock, SpooledRecord, SpooledRecords};
pub use steady::SteadyRecording;
pub use worker::{CpuUse, DepthUse, DirectionRecording, ErrorCount, Interval, Outcome, SyncRecording, WorkerRecording};

use iolab_plan::Plan;
use serde::{Deserialize, Serialize};

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Format number; readers refuse what they do not know.
    pub iolab_recording: u32,
    /// Version of the program that made it.
    pub iolab_version: String,
    /// What was to be done.
    pub plan: Plan,
    /// Where it was done.
    pub host: HostFacts,
    /// All hosts, of a run of several; `host` is the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host>,
    /// What the tool itself costs, if the plan asked for it and it could be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Start of the first stage, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// From there to the end of the last worker, ns.
    pub elapsed_ns: u64,
    /// The workers, in plan order.
    pub workers: Vec<WorkerRecording>,
    /// Block devices under the files, before and after.
    pub devices: Vec<DeviceUse>,
    /// What was seen of the machine while the run went on, if it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observations: Option<Observations>,
    /// What a reader must know about the figures, the gravest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What the user should know about the figures.
    pub warnings: Vec<String>,
    /// The user or a signal ended the run early.
    pub interrupted: bool,
}
