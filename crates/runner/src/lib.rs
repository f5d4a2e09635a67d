//! Runs a plan and returns its recording: lays out files, starts workers, supervises stages, collects results.
//!
//! `hot_loop.rs` is the measured path; everything else here is cold. The runner prints nothing and decides
//! nothing that the plan does not say; what the user should see goes through [`Observer`].

mod alarm;
mod attributes;
mod bursts;
mod calibration;
mod changes;
mod choice;
mod cold_path;
mod control;
mod counting;
mod cpu_use;
mod deliver;
mod hot_loop;
mod ideal;
mod keeping;
mod launch;
mod layout;
mod one_by_one;
mod open_files;
mod pacing;
mod queue;
mod registry;
mod run;
mod sampling;
mod schedule;
mod serialize;
mod slots;
mod steady;
mod stream;
mod supervise;
mod trouble;
mod watch;
mod worker;

pub use changes::{buffer_file, change_of, target_of, writes};
pub use control::State;
pub use layout::needs;
pub use registry::EngineEntry;
pub use run::{RunError, RunRequest, RunResult, run};
pub use supervise::{Observer, Progress, WorkerProgress};

use iolab_plan::WorkerPlan;

/// The registry entry of a worker's engine.
pub(crate) fn engine_of<'a>(engines: &'a [EngineEntry], worker: &WorkerPlan) -> Option<&'a EngineEntry> {
    engines.iter().find(|engine| {
        engine.description.name == worker.engine.name
            || engine.description.aliases.contains(&worker.engine.name.as_str())
    })
}
