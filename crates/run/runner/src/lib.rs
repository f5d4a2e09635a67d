//! Runs a plan and returns its recording: lays out files, starts workers, supervises stages,
//! collects results.
//!
//! The folder `hot_loop` is the measured path; everything else here is cold. The runner prints
//! nothing and decides nothing that the plan does not say; what the user should see goes through
//! [`Observer`].

mod alarm;
mod attributes;
mod calibration;
mod changes;
mod choice;
mod control;
mod cpu_use;
mod deliver;
mod hot_loop;
mod launch;
mod layout;
mod observer;
mod open_files;
mod pacing;
mod registry;
mod run;
mod sampling;
mod steady;
mod stream;
mod supervise;
mod trouble;
mod watch;
mod worker;

/// What workers and the main thread share words by. `tests/interleavings` puts a model checker's in
/// its place.
mod sync {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

    pub(crate) use iolab_memory::{SharedRegion, SharedState};
    pub(crate) use iolab_process::{futex_wait, futex_wake_all};
}

pub use changes::{buffer_file, change_of, target_of, writes};
pub use iolab_recording::{Event, Progress, State, WorkerProgress};
pub use layout::needs;
pub use observer::{Observer, Wish};
pub use registry::{EngineEntry, Engines};
pub use run::{RunError, RunRequest, RunResult, run};

use iolab_plan::WorkerPlan;

/// The registry entry of a worker's engine.
pub(crate) fn engine_of<'a>(engines: &'a [EngineEntry], worker: &WorkerPlan) -> Option<&'a EngineEntry> {
    engines.iter().find(|engine| {
        engine.description.name == worker.engine.name
            || engine.description.aliases.contains(&worker.engine.name.as_str())
    })
}
