//! The stages of a run on this machine: job files and words become a plan, the plan is judged and
//! run, and the result is a recording.
//!
//! ```text
//! words, job files ─▶ Planned ─▶ Judged ─▶ Recording
//!        Pipeline::plan    ::judge     ::run
//! ```
//! Every measurement uses this path: `iolab run`, trials of studies, benchmarks, the demo. The
//! program provides the engines and prints the results.

mod device_state;
mod idleness;
mod merging;
mod pipeline;
mod safety;
mod surroundings;

pub use device_state::{
    changes_device_settings, check_device_settings, left_over_settings, restore_device_settings, settings_machine,
    state_folder,
};
pub use idleness::{IdleThreads, IdlenessObserver};
pub use pipeline::{JudgedPlan, Pipeline, PlanRequest, Planned, read_job_file, redaction};
pub use safety::no_room;
pub use surroundings::ThisMachine;
