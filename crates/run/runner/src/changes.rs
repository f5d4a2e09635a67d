//! What a worker will do to its files: the changes that the guard judges, before the run and when a
//! file is opened.

use std::path::Path;

use iolab_engine::{Capabilities, FileEffect, FileUse};
use iolab_guard::{GuardedPath, PathChange, Removal};
use iolab_options::Direction;
use iolab_plan::{BufferMemory, FileOrigin, FilePlan, WorkerPlan};

/// A job's file in the form that the guard judges.
pub fn target_of(file: &FilePlan) -> GuardedPath<'_> {
    match &file.origin {
        FileOrigin::Named => GuardedPath::named(&file.path),
        FileOrigin::Generated { folder } => GuardedPath { path: &file.path, beneath: Some(folder), exact: false },
        FileOrigin::Found => GuardedPath { path: &file.path, beneath: None, exact: false },
    }
}

/// What a worker of an engine with these capabilities will do to one of its files; nothing if the
/// engine opens its own devices or generates its own offsets.
pub fn change_of(worker: &WorkerPlan, capabilities: &Capabilities, file: &FilePlan) -> PathChange {
    let overwrites = match (capabilities.files, capabilities.effect) {
        (FileUse::Devices | FileUse::DeviceNamedBy(_) | FileUse::Objects | FileUse::Nothing, _) => {
            return PathChange::default();
        }
        (_, FileEffect::ByDirection | FileEffect::Changes) => writes(worker),
        (_, FileEffect::Makes | FileEffect::Removes) => false,
    };
    let layout = &worker.layout;
    let removal = match capabilities.effect {
        FileEffect::Removes => Removal::Name,
        _ if layout.unlink || layout.unlink_each_loop => Removal::File,
        _ => Removal::None,
    };
    let extends_to = match (capabilities.files, capabilities.effect) {
        // A read takes storage too, however long the file is.
        (FileUse::Descriptors, FileEffect::Changes) => u64::MAX,
        (FileUse::Descriptors, _) if !file.block_device => file.layout_bytes,
        _ => 0,
    };
    PathChange { overwrites, extends_to, removal, in_use_is_accepted: layout.allow_mounted_write }
}

/// The file that `mem=mmap:FILE` extends to the length of the buffers and, when it is shared, fills
/// with their content.
pub fn buffer_file(worker: &WorkerPlan) -> Option<GuardedPath<'_>> {
    match &worker.buffers.memory {
        BufferMemory::File { path, .. } => Some(GuardedPath { path: Path::new(path), beneath: None, exact: false }),
        _ => None,
    }
}

/// Whether a job writes or trims.
pub fn writes(worker: &WorkerPlan) -> bool {
    worker.workload.pattern.directions.iter().any(|direction| *direction != Direction::Read)
}
