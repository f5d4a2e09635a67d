//! The files that runs leave on this machine (recordings, logs, and the database that lists them),
//! and finding them by name.

pub mod database;
pub mod housekeeping;
pub mod iologs;
pub mod log_files;
pub mod recordings;
pub mod run_files;
pub mod running;
pub mod sides;
pub mod study_files;

use std::path::Path;

use iolab_observe::System;
use iolab_outputs::Outputs;

/// The outputs of a command that reads these files and folders.
pub fn outputs_beside<'p>(force: bool, inputs: impl IntoIterator<Item = (&'p Path, &'p str)>) -> Outputs {
    let mut outputs = Outputs::new(force, in_use);
    inputs.into_iter().for_each(|(path, what)| outputs.reads(path, what));
    outputs
}

/// What the system uses a file for. Such a file is not replaced, even if the user asks for it.
fn in_use(path: &Path) -> Option<String> {
    let hazards = iolab_guard::hazards_at(&System::live(), path);
    hazards.iter().find(|hazard| hazard.danger.is_use()).map(ToString::to_string)
}
