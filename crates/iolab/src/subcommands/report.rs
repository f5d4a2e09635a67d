//! `iolab report FILE`: a saved recording in any format.

use std::io::Write;

use anyhow::Context;
use iolab_recording::Recording;
use iolab_report::TerseVersion;

use crate::arguments::ReportArguments;
use crate::exit::Failure;
use crate::output::{self, Format};
use crate::recordings::{self, Loaded};

pub(crate) fn main(arguments: &ReportArguments) -> Result<u8, Failure> {
    let version = TerseVersion::from_number(u64::from(arguments.terse_version))
        .ok_or_else(|| Failure::mistake("iolab: --terse-version is 2, 3, 4 or 5"))?;
    let formats = arguments.output_format.iter().map(|word| {
        let unknown = || Failure::mistake(format!("iolab: unknown format {word}: normal, terse, json or json+"));
        Format::parse(word, version).ok_or_else(unknown)
    });
    let formats = formats.collect::<Result<Vec<_>, _>>()?;
    let Loaded { recording, notes } =
        recordings::load(&arguments.recording).map_err(|error| Failure::mistake(format!("iolab: {error:#}")))?;
    notes.iter().for_each(|note| eprintln!("iolab: warning: {note}"));
    let text = match arguments.intervals.as_deref() {
        Some("table") => iolab_report::intervals_table(&recording),
        Some(_) => iolab_report::intervals_json_lines(&recording),
        None => formats
            .into_iter()
            .map(|format| noted(format, &notes) + &told(format, &recording) + &output::render(&recording, format, true))
            .collect(),
    };
    match &arguments.output {
        None => output::print(&text)?,
        Some(path) => std::fs::File::create(path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("writing {path}"))?,
    }
    Ok(0)
}

/// What people must not overlook stands before the report; formats for programs have no place for it.
fn noted(format: Format, notes: &[String]) -> String {
    let shown = if format == Format::Normal { notes } else { &[] };
    shown.iter().map(|note| format!("note: {note}\n")).collect()
}

/// Findings stand before the report, too. Recordings of older versions have none in them.
fn told(format: Format, recording: &Recording) -> String {
    match format {
        Format::Normal if recording.findings.is_empty() => {
            iolab_findings::findings_text(&iolab_findings::find(recording))
        }
        Format::Normal => iolab_findings::findings_text(&recording.findings),
        _ => String::new(),
    }
}
