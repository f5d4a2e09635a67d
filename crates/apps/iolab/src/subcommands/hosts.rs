//! `iolab hosts`: runs jobs on several hosts, and makes one recording of the parts that ranks or
//! hosts have recorded.

use std::path::Path;

use iolab_archive::recordings::{self, Loaded};
use iolab_hosts::PartOfRun;
use iolab_outputs::OutputKind;

use crate::exit::ExitFailure;
use crate::hosts::{HostsAction, MergeArguments};
use crate::output::{self, Format};
use crate::{console, hosts, outputs};

pub(crate) fn main(action: &HostsAction) -> Result<u8, ExitFailure> {
    match action {
        HostsAction::Run(arguments) => hosts::launch(arguments),
        HostsAction::Merge(arguments) => merge(arguments),
    }
}

fn merge(arguments: &MergeArguments) -> Result<u8, ExitFailure> {
    let read = arguments.parts.iter().map(|path| (path.as_path(), "a part of the run"));
    let mut outputs = outputs::beside(arguments.force, read);
    let place = outputs.place(&arguments.record, OutputKind::Recording, "the recording (--record)")?;
    let parts = arguments.parts.iter().map(|path| part(path)).collect::<Result<Vec<_>, _>>()?;
    let recording = iolab_hosts::merge(parts)?;
    for warning in &recording.warnings {
        eprintln!("iolab: warning: {warning}");
    }
    place.write(recording.to_json().as_bytes())?;
    eprintln!("iolab: recording saved as {}", arguments.record.display());
    let report = super::report::in_format(&recording, &[], Format::Normal, false, console::columns());
    output::print_for_people(&report)?;
    Ok(0)
}

fn part(path: &Path) -> Result<PartOfRun, ExitFailure> {
    let Loaded { recording, notes } = recordings::load(path).map_err(iolab_activity::Failure::from)?;
    Ok(PartOfRun { name: path.display().to_string(), recording, notes })
}
