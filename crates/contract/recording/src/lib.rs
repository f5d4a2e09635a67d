//! The recording: everything a run measured, as plain data.
//!
//! This is the second narrow waist (run → **recording** → report). Every report is a function of
//! it, now or years later. It is saved as one JSON document whose first field says its format; see
//! [`Recording::to_json`]. Nothing here measures, renders or does I/O.

mod block_errors;
mod calibration;
mod drift;
mod event;
mod finding;
mod format;
mod host;
mod host_parts;
mod hosts;
mod idleness;
mod interval;
mod log;
mod network;
mod noted;
mod observations;
pub mod partial;
mod recording;
mod redaction;
mod schedule;
mod sound;
mod spooled;
mod steady;
mod worker;

pub use block_errors::{BlockErrors, BlockTrims};
pub use calibration::{Calibration, LIMIT_PERCENT, LoopCost, LoopOverhead, LoopsOfWorkers, METHOD, TimerLateness};
pub use drift::{DriftInterval, DriftRecording};
pub use event::{Event, Progress, State, WorkerProgress};
pub use finding::{Finding, Severity};
pub use format::RecordingError;
pub use host::{CpuQuota, DeviceCounters, DeviceSetting, DeviceUse, HostFacts};
pub use hosts::Host;
pub use idleness::{CpuIdleness, Idleness};
pub use interval::{DirectionInterval, IntervalLatencies};
pub use log::{HistogramLogEntry, LogEntry};
pub use network::{LinkSample, MountSample, NetworkSeries, PeerSample, SampleSeries, ServerSample};
pub use noted::{NotedAction, NotedOperation};
pub use observations::{DeviceSample, DeviceSeries, HostSample, Observations, QuotaUse, RequestInterval};
pub use recording::{FORMAT, FORMAT_OF_SEVERAL_HOSTS, Recording};
pub use redaction::Redaction;
pub use schedule::ScheduleRecording;
pub use sound::Unsound;
pub use spooled::{BlockHeader, LoggedOperation, OperationTraits, SpoolBlock, SpooledRecord, SpooledRecords};
pub use steady::SteadyRecording;
pub use worker::{
    AftermathRecording, CpuUse, DamageRecording, DepthUse, DirectionRecording, ErrorCount, FileRecording, Interval,
    PriorityRecording, SyncRecording, VerificationRecording, WorkerOutcome, WorkerRecording,
};
