//! Runs a plan and returns its recording: lays out files, starts workers, supervises stages,
//! collects results.
//!
//! The folder `hot_loop` is the measured path; everything else here is cold. The runner prints
//! nothing and decides nothing that the plan does not say; what the user should see goes through
//! [`RunObserver`].

mod alarm;
mod attributes;
mod beginning;
mod calibration;
mod cgroup;
mod changes;
mod choice;
mod closing;
mod containment;
mod control;
mod cpu_use;
mod deliver;
mod error;
mod feed;
mod floor;
mod given;
mod hot_loop;
mod lane_opening;
mod launch;
mod layout;
mod locking;
mod noting;
mod observer;
mod offload;
mod open_files;
mod pacing;
mod passes;
mod pool;
mod progress;
mod registry;
mod run;
mod sampling;
mod steady;
mod stream;
mod supervise;
mod task;
mod telling;
mod told;
mod trouble;
mod verification;
mod watch;
mod wear;
mod worker;
mod zoned;

/// The primitives behind the words that workers and the main thread share. `tests/interleavings`
/// replaces them with those of a model checker.
mod sync {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

    pub(crate) use iolab_memory::{SharedRegion, SharedState};
    pub(crate) use iolab_process::{futex_wait, futex_wake_all};
}

pub use changes::{buffer_file, change_of, target_of, writes};
pub use error::RunError;
pub use feed::{FeedGate, FeedOut, Supplied, Unwanted};
pub use iolab_recording::{Event, Progress, State, WorkerProgress};
pub use layout::needs;
pub use observer::{RunObserver, Start, Wish};
pub use registry::{EngineEntry, Engines};
pub use run::{RunRequest, RunResult, run};
pub use sampling::{ObservationSink, Sampling};
pub use task::{Spools, Supply};
pub use telling::{Telling, ToldKind, told_line};
pub use verification::state::{About as VerifiedFile, Kept as KeptState, read as read_verify_state};

use iolab_plan::WorkerPlan;

/// The registry entry of a worker's engine.
pub(crate) fn engine_of<'a>(engines: &'a [EngineEntry], worker: &WorkerPlan) -> Option<&'a EngineEntry> {
    engines.iter().find(|engine| {
        engine.description.name == worker.engine.name
            || engine.description.aliases.contains(&worker.engine.name.as_str())
    })
}
