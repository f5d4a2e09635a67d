//! `iolab watch`: the command line of `iolab-watch`.

mod arguments;
mod record;

use std::io;
use std::path::PathBuf;

use iolab_aggregate::DeviceFigures;
use iolab_iostat::{DataUnit, ReportLayout};
use iolab_outputs::{OutputKind, Outputs};
use iolab_watch::{Wanted, WatchError, WatchFormat, WatchOutput};

use crate::durations::duration_ns;
use crate::exit::ExitFailure;
use crate::metrics_file::{METRICS, write as write_metrics};
use crate::outputs;
use crate::printing::{complain, print_to_reader};
pub(crate) use arguments::WatchArguments;

pub(crate) fn main(arguments: &WatchArguments) -> Result<u8, ExitFailure> {
    let wanted = wanted(arguments);
    if let Some(path) = &arguments.program.record {
        return record::record(path, arguments.metrics.as_deref(), &arguments.program, wanted);
    }
    let mut terminal = Terminal { metrics: arguments.metrics.clone(), outputs: outputs::beside(false, []) };
    if let Some(path) = &terminal.metrics {
        terminal.outputs.place(path, OutputKind::Report, METRICS)?;
    }
    match iolab_watch::watch(&wanted, &mut terminal) {
        Ok(()) => Ok(0),
        Err(error @ WatchError::Mistake(_)) => Err(ExitFailure::mistake(format!("iolab: {error}"))),
        Err(error) => Err(ExitFailure::failed(format!("iolab: {error}"))),
    }
}

fn wanted(arguments: &WatchArguments) -> Wanted {
    Wanted {
        words: arguments.words.clone(),
        partitions: arguments.partitions.clone(),
        groups: arguments.groups.given.clone(),
        only_groups: arguments.groups.only_groups,
        mapper_names: arguments.mapper_names,
        persistent: arguments.persistent.clone(),
        skip_first: arguments.skip_first,
        metrics: arguments.metrics.is_some(),
        full_screen: arguments.full_screen,
        form: form(arguments),
    }
}

/// Standard output for reports, a file for metrics, standard error for the rest.
struct Terminal {
    metrics: Option<PathBuf>,
    outputs: Outputs,
}

impl WatchOutput for Terminal {
    fn print(&mut self, text: &str) -> io::Result<bool> {
        print_to_reader(text).map_err(io::Error::other)
    }

    fn metrics(&mut self, devices: &[DeviceFigures]) -> io::Result<()> {
        let Some(path) = &self.metrics else { return Ok(()) };
        let text = iolab_report::openmetrics_of_devices(devices, env!("CARGO_PKG_VERSION"));
        write_metrics(&mut self.outputs, path, &text).map_err(io::Error::other)
    }

    fn warn(&mut self, text: &str) {
        complain(&format!("iolab: warning: {text}\n"));
    }
}

fn form(arguments: &WatchArguments) -> WatchFormat {
    let tables = &arguments.tables;
    let pretty = tables.pretty || tables.for_people || arguments.persistent.is_some();
    WatchFormat {
        layout: ReportLayout {
            extended: tables.extended,
            short: tables.short,
            unit: if tables.megabytes { DataUnit::Megabytes } else { DataUnit::Kilobytes },
            decimals: tables.decimals,
            human: tables.human || tables.for_people,
            name_last: pretty,
            broken: pretty && !tables.compact,
        },
        cpu: !arguments.devices_only || arguments.cpu_only,
        devices: !arguments.cpu_only || arguments.devices_only || tables.extended || arguments.partitions.is_some(),
        timestamps: arguments.timestamps,
        omit_idle: arguments.omit_idle,
        document: arguments.output.is_some(),
        lines: arguments.json,
        more: arguments.more,
    }
}
