//! Writes reports in the requested formats to the requested place.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{Context, Result};
use iolab_options::without_passwords;
use iolab_outputs::{OutputKind, Outputs};
use iolab_plan::Plan;
use iolab_recording::Recording;
use iolab_report::{JsonStyle, PerfDetail, Style, TerseVersion};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::console;
use crate::exit::ExitFailure;
use crate::printing::shown;
pub(crate) use crate::printing::{print, print_comparison, print_for_people, print_verdicts};
use crate::run_options::OutputFormat;

/// The name of a run's report in messages.
pub(crate) const REPORT: &str = "the report (--output)";

/// The name of a command's output in messages.
pub(crate) const OUTPUT: &str = "the output (-o)";

/// The command line of this program, for the part of a page about its origin.
pub(crate) fn command_line() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    without_passwords(&format!("iolab {}", words.join(" "))).into_owned()
}

/// One report format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Normal,
    Terse(TerseVersion),
    Json,
    JsonPlus,
    /// Metrics for Prometheus.
    OpenMetrics,
    /// The table of SPDK perf.
    Perf(PerfDetail),
}

impl Format {
    /// Converts a format of `--output-format`; `version` is that of the terse format.
    pub(crate) fn of(format: OutputFormat, version: TerseVersion) -> Format {
        match format {
            OutputFormat::Normal => Format::Normal,
            OutputFormat::Terse => Format::Terse(version),
            OutputFormat::Json => Format::Json,
            OutputFormat::JsonPlus => Format::JsonPlus,
            OutputFormat::OpenMetrics => Format::OpenMetrics,
        }
    }
}

/// Where reports go, and in which formats, in the order they are printed.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) formats: Vec<Format>,
    destination: Option<iolab_outputs::Output>,
    /// Reports of the unfinished run precede the last one, so JSON output is one array.
    snapshots: bool,
    documents: u32,
    /// Whether findings precede the last report in the normal format; fio's format has no place for
    /// them.
    findings: bool,
}

impl Output {
    /// Opens the destination at once under its name: a run whose report cannot be written should
    /// not begin, and people read reports as they grow.
    pub(crate) fn open(
        formats: Vec<Format>,
        outputs: &mut Outputs,
        path: Option<&str>,
        snapshots: bool,
    ) -> Result<Output, ExitFailure> {
        let destination = match path {
            None => None,
            Some(path) => {
                let mut output = outputs.place(Path::new(path), OutputKind::Report, REPORT)?.begin()?;
                output.publish()?;
                Some(output)
            }
        };
        Ok(Output { formats, destination, snapshots, documents: 0, findings: false })
    }

    /// Prints findings before the last report.
    pub(crate) fn with_findings(self) -> Output {
        Output { findings: true, ..self }
    }

    pub(crate) fn to_standard_output(&self) -> bool {
        self.destination.is_none()
    }

    /// The destination once more; writes go behind what is there.
    pub(crate) fn duplicate(&self) -> std::io::Result<File> {
        match &self.destination {
            Some(output) => output.as_file().try_clone(),
            None => Ok(File::from(std::io::stdout().as_fd().try_clone_to_owned()?)),
        }
    }

    fn has_json(&self) -> bool {
        self.formats.iter().any(|format| matches!(format, Format::Json | Format::JsonPlus))
    }

    /// Writes what precedes the run: fio's header lines, in the normal format.
    pub(crate) fn begin(&mut self, plan: &Plan) -> Result<()> {
        if self.formats.contains(&Format::Normal) {
            self.write(&iolab_report::normal_header(plan))?;
        }
        if self.snapshots && self.has_json() { self.write("[\n") } else { Ok(()) }
    }

    /// Writes a report of the run so far. If the output must be one JSON document, the report goes
    /// to standard error, for the person who asked for it.
    pub(crate) fn report(&mut self, recording: &Recording) -> Result<()> {
        if self.has_json() && !self.snapshots {
            let text = render(recording, Format::Normal, false);
            crate::printing::complain(&text);
            return Ok(());
        }
        self.add(recording)
    }

    fn add(&mut self, recording: &Recording) -> Result<()> {
        if self.documents > 0 && self.snapshots && self.has_json() {
            self.write(",\n")?;
        }
        self.documents += 1;
        let mut written = Ok(());
        for format in self.formats.clone() {
            let text = render(recording, format, false);
            let one = if format == Format::Normal { self.write_for_people(&text) } else { self.write(&text) };
            if one.is_err() && self.destination.is_some() {
                // Printed in the wrong place rather than lost.
                print(&text)?;
            }
            written = written.and(one);
        }
        written
    }

    /// Writes the last report.
    pub(crate) fn finish(mut self, recording: &Recording) -> Result<()> {
        if self.findings && self.formats.contains(&Format::Normal) && !self.has_json() {
            let columns = if self.to_standard_output() { console::columns() } else { iolab_text::USUAL_COLUMNS };
            self.write_for_people(&iolab_findings::findings_text(&recording.findings, columns))?;
        }
        self.add(recording)?;
        if self.snapshots && self.has_json() {
            self.write("]\n")?;
        }
        self.destination.map_or(Ok(()), |output| Ok(output.finish()?))
    }

    fn write_for_people(&mut self, text: &str) -> Result<()> {
        if self.to_standard_output() { print_for_people(text) } else { self.write(text) }
    }

    pub(crate) fn write(&mut self, text: &str) -> Result<()> {
        match &mut self.destination {
            Some(output) => {
                let written = output.write_all(shown(text).as_bytes());
                written.with_context(|| format!("writing the report to {}", output.path().display()))
            }
            None => print(text),
        }
    }
}

/// Writes data to the file that the user named, or to standard output.
pub(crate) fn write_or_print(outputs: &mut Outputs, path: Option<&Path>, text: &str) -> Result<(), ExitFailure> {
    match path {
        None => Ok(print(text)?),
        Some(path) => Ok(outputs.place(path, OutputKind::Report, OUTPUT)?.write(shown(text).as_bytes())?),
    }
}

/// A report as text. `whole` includes what the normal format prints before a run.
pub(crate) fn render(recording: &Recording, format: Format, whole: bool) -> String {
    let offset = || utc_offset_seconds(recording.started_unix_ns.saturating_add(recording.elapsed_ns));
    let json = |plus| iolab_report::json(recording, JsonStyle { plus, utc_offset_seconds: offset() });
    match format {
        Format::Normal if whole => iolab_report::normal(recording, &Style { utc_offset_seconds: offset() }),
        Format::Normal => iolab_report::normal_body(recording, &Style { utc_offset_seconds: offset() }),
        Format::Terse(version) => iolab_report::terse(recording, version),
        Format::Json => json(false),
        Format::JsonPlus => json(true),
        Format::OpenMetrics => iolab_report::openmetrics(recording),
        Format::Perf(detail) => iolab_report::perf(recording, detail),
    }
}

/// The offset of local time from UTC at a moment, in seconds. Reports give local time, as fio's do.
fn utc_offset_seconds(unix_ns: u64) -> i32 {
    let moment = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    local_time_zone().to_offset(moment).seconds()
}

/// The time zone of `TZ`, or of the machine. `TimeZone::system` also looks for the name of the
/// machine's zone, for which it lists the database of zones: some hundred system calls.
fn local_time_zone() -> TimeZone {
    let machine = || zone_of_file(Path::new("/etc/localtime"));
    if std::env::var_os("TZ").is_some() { TimeZone::system() } else { machine().unwrap_or_else(TimeZone::system) }
}

/// The zone that a file describes (RFC 9636), without its name.
fn zone_of_file(path: &Path) -> Option<TimeZone> {
    TimeZone::tzif("", &std::fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_of_files_are_those_of_the_database() {
        let moments = [0, 90, 180, 270].map(|days| Timestamp::from_second(1_760_000_000 + days * 86_400).unwrap());
        for name in ["America/New_York", "Asia/Kolkata", "Australia/Sydney", "Etc/UTC", "Europe/Berlin"] {
            // Not every machine has the database.
            let Some(zone) = zone_of_file(&Path::new("/usr/share/zoneinfo").join(name)) else { continue };
            let known = TimeZone::get(name).unwrap();
            assert!(moments.iter().all(|moment| zone.to_offset(*moment) == known.to_offset(*moment)), "{name}");
        }
        assert!(
            moments.iter().all(|moment| local_time_zone().to_offset(*moment) == TimeZone::system().to_offset(*moment))
        );
    }
}
