//! The events of a run in order: the one stream for everything that follows a run.
//!
//! ```text
//!  runner ──▶ Event ──┬──▶ partial recording (a file)
//!                     └──▶ an observer: the terminal with its status line and reports of the run so far
//! ```
//!
//! Events borrow their data; an observer copies what it keeps. Times are those of the recording.

use std::path::Path;

use serde::Serialize;

use crate::recording::Recording;
use crate::{IntervalLatencies, Observations, WorkerRecording};

/// One thing that happened.
///
/// As JSON, the field `event` names the kind.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// Files are being laid out.
    LaidOut {
        /// The file that is being laid out.
        path: &'a Path,
        /// Bytes laid out until now, of all files.
        done_bytes: u64,
        /// Bytes to be laid out.
        total_bytes: u64,
    },
    /// The run is about to begin: its recording, without results.
    Planned(&'a Recording),
    /// The first operations can begin.
    Begun {
        /// When, ns since the Unix epoch.
        unix_ns: u64,
    },
    /// A worker changed its state. States are sampled about ten times a second, so short ones may
    /// be missed.
    StateChanged {
        /// Its number.
        worker: u32,
        /// What it does now.
        state: State,
    },
    /// An interval of a worker has ended. Sent only to observers that ask for it, and only in runs
    /// that record intervals.
    IntervalEnded {
        /// Its number.
        worker: u32,
        /// What it did.
        interval: &'a IntervalLatencies,
    },
    /// Samples of the machine since the last such event (see [`Observations::append`]).
    Observed(&'a Observations),
    /// Where the run stands, about ten times a second.
    Progress(&'a Progress),
    /// The recording of the run so far, for observers that requested it.
    SoFar(&'a Recording),
    /// A worker has ended.
    WorkerEnded(&'a WorkerRecording),
}

/// Where a run stands.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// Since the first operations could begin, ns.
    pub elapsed_ns: u64,
    /// Each worker, in plan order.
    pub workers: Vec<WorkerProgress>,
}

/// Where one worker stands.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerProgress {
    /// What it is doing.
    pub state: State,
    /// Operations measured so far, by direction.
    pub ios: [u64; 3],
    /// Bytes measured so far, by direction.
    pub bytes: [u64; 3],
    /// Length of its measured part so far, ns.
    pub measured_ns: u64,
}

/// What a worker is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
pub enum State {
    /// Waiting for its stage.
    Waiting = 0,
    /// Opening files and buffers.
    SettingUp = 1,
    /// Ready, waiting to begin with the others.
    Ready = 2,
    /// In its ramp.
    Ramping = 3,
    /// Measuring.
    Running = 4,
    /// Flushing and closing.
    Finishing = 5,
    /// Its recording is complete.
    Done = 6,
}

impl State {
    /// The state with this number; the last one for numbers that none has.
    pub fn from_number(number: u32) -> State {
        match number {
            0 => State::Waiting,
            1 => State::SettingUp,
            2 => State::Ready,
            3 => State::Ramping,
            4 => State::Running,
            5 => State::Finishing,
            _ => State::Done,
        }
    }
}
