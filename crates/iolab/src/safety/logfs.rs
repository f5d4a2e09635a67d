//! What a job on files inside of logfs does to the device that they are on.
//!
//! A device in use is refused whatever the job does. What else is there matters only when the file system is made anew; a file that holds none
//! is refused by the engine itself, which then changes nothing.

use std::path::PathBuf;

use iolab_engine_logfs::Wishes;
use iolab_plan::WorkerPlan;

/// The devices, and whether they are made anew.
pub(super) fn devices(worker: &WorkerPlan) -> Option<(Vec<PathBuf>, bool)> {
    if worker.engine.name != "logfs" {
        return None;
    }
    let wishes = Wishes::of(&worker.engine.options);
    let paths = wishes.devices.into_iter().map(|(path, _)| path).collect();
    Some((paths, wishes.makes))
}
