//! `iolab report`: a saved recording in any format, or a study; both also as an HTML page.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use iolab_activity::{ProgressUnit, watched};
use iolab_archive::recordings::{self, Loaded};
use iolab_html::{Page, recording_page};
use iolab_outputs::{OutputKind, Outputs, make_folder};
use iolab_recording::Recording;
use iolab_report::TerseVersion;
use iolab_study_runner::report as study_report;

use crate::arguments::ReportArguments;
use crate::console;
use crate::exit::ExitFailure;
use crate::output::{self, Format};
use crate::outputs;
use crate::printing::{StandardError, shown};
use crate::run_options::OutputFormat;

pub(crate) fn main(arguments: &ReportArguments) -> Result<u8, ExitFailure> {
    let wants_page = arguments.output_format.iter().any(|word| word == "html")
        || arguments.output.as_deref().is_some_and(|path| path.ends_with(".html") || path.ends_with(".htm"))
        || arguments.figures.is_some();
    let mut outputs = outputs::beside(arguments.force, [(arguments.recording.as_path(), "the recording")]);
    let place = match arguments.output.as_deref().map(Path::new) {
        Some(path) => Some(outputs.place(path, OutputKind::Report, "the report (-o)")?),
        None => None,
    };
    if let Some(folder) = &arguments.hdr {
        write_hdr(&mut outputs, folder, &arguments.recording)?;
        if place.is_none() && !wants_page && is_for_people(arguments) && arguments.intervals.is_none() {
            return Ok(0);
        }
    }
    let text = match (study_report::is_study(&arguments.recording), wants_page) {
        (_, true) => page(arguments, &mut outputs)?,
        (true, false) => of_study(arguments)?,
        (false, false) => in_formats(arguments)?,
    };
    match place {
        // A user who asks only for files of figures does not want a page on the terminal.
        None if arguments.figures.is_some() && !arguments.output_format.iter().any(|word| word == "html") => {}
        None if is_for_people(arguments) => output::print_for_people(&text)?,
        None => output::print(&text)?,
        Some(place) => place.write(shown(&text).as_bytes())?,
    }
    Ok(0)
}

/// Whether everything that is printed is for people, not for programs.
fn is_for_people(arguments: &ReportArguments) -> bool {
    arguments.output_format.iter().all(|word| word == "normal") && arguments.intervals.as_deref() != Some("json")
}

/// The report of a study. A study has figures of its own, but no single recording for other
/// formats.
fn of_study(arguments: &ReportArguments) -> Result<String, ExitFailure> {
    for (option, is_set) in [("--intervals", arguments.intervals.is_some()), ("--watch", arguments.watch.is_some())] {
        if is_set {
            let reason = "needs a recording, but this is a study: name a recording in its folder";
            return Err(ExitFailure::mistake(format!("iolab: {option} {reason}")));
        }
    }
    let formats: Vec<&str> = arguments.output_format.iter().map(String::as_str).collect();
    match formats.as_slice() {
        ["normal"] => Ok(study_report::text(&arguments.recording)?),
        ["json"] => Ok(study_report::json(&arguments.recording)?),
        _ => Err(ExitFailure::mistake(format!(
            "iolab: --output-format={} needs a recording, but this is a study: use normal, json or html",
            formats.join(",")
        ))),
    }
}

fn page(arguments: &ReportArguments, outputs: &mut Outputs) -> Result<String, ExitFailure> {
    if arguments.intervals.is_some()
        || arguments.output_format.iter().any(|word| !["html", "normal"].contains(&word.as_str()))
    {
        return Err(ExitFailure::mistake("iolab: html cannot be combined with other formats or with --intervals"));
    }
    let page = if study_report::is_study(&arguments.recording) {
        study_report::page(&arguments.recording, &StandardError)?
    } else {
        let Loaded { mut recording, notes } = load(&arguments.recording)?;
        let name = arguments.recording.display().to_string();
        waiting(format!("making the page of {name}"), || {
            study_report::with_findings(&mut recording);
            recording_page(&recording, &name, &notes, env!("CARGO_PKG_VERSION"))
        })
    };
    if let Some(folder) = &arguments.figures {
        write_figures(outputs, folder, &page)?;
    }
    Ok(page.html)
}

/// Writes each figure as a separate picture and as a table.
fn write_figures(outputs: &mut Outputs, folder: &Path, page: &Page) -> Result<(), ExitFailure> {
    make_folder(folder)?;
    for figure in &page.figures {
        for (ending, text) in [("svg", figure.standalone()), ("csv", figure.table.csv())] {
            let path = folder.join(format!("{}.{ending}", figure.id));
            outputs.place(&path, OutputKind::Report, "a figure (--figures)")?.write(text.as_bytes())?;
        }
    }
    Ok(())
}

/// Writes the latencies of a recording as files of HdrHistogram.
fn write_hdr(outputs: &mut Outputs, folder: &Path, recording: &Path) -> Result<(), ExitFailure> {
    if study_report::is_study(recording) {
        let reason = "needs a recording, but this is a study: name a recording in its folder";
        return Err(ExitFailure::mistake(format!("iolab: --hdr {reason}")));
    }
    let files = iolab_report::hdr_files(&load(recording)?.recording);
    if files.is_empty() {
        return Err(ExitFailure::mistake("iolab: --hdr: the recording has no latencies (disable_lat, gtod_reduce)"));
    }
    make_folder(folder)?;
    for file in files {
        outputs
            .place(&folder.join(&file.name), OutputKind::Report, "latencies (--hdr)")?
            .write(file.text.as_bytes())?;
    }
    Ok(())
}

/// Shows progress on a terminal.
fn waiting<T>(what: String, work: impl FnOnce() -> T) -> T {
    watched(&StandardError, what, ProgressUnit::Uncounted, None, &AtomicU64::new(0), work)
}

fn load(path: &Path) -> Result<Loaded, ExitFailure> {
    let loaded = waiting(format!("reading {}", path.display()), || recordings::load(path));
    let loaded = loaded.map_err(iolab_activity::Failure::from)?;
    loaded.notes.iter().for_each(|note| eprintln!("iolab: warning: {note}"));
    Ok(loaded)
}

fn in_formats(arguments: &ReportArguments) -> Result<String, ExitFailure> {
    let version = TerseVersion::from_number(u64::from(arguments.terse_version))
        .ok_or_else(|| ExitFailure::mistake("iolab: --terse-version is 2, 3, 4 or 5"))?;
    let formats = arguments.output_format.iter().map(|word| {
        let unknown = || {
            let known = OutputFormat::WORDS;
            ExitFailure::mistake(format!("iolab: unknown format {word}: use one of {known}, html"))
        };
        OutputFormat::parse(word).map(|format| Format::of(format, version)).ok_or_else(unknown)
    });
    let formats = formats.collect::<Result<Vec<_>, _>>()?;
    let Loaded { recording, notes } = load(&arguments.recording)?;
    match arguments.watch.as_deref() {
        Some("table") => return Ok(iolab_report::observed_table(&recording)),
        Some(_) => return Ok(iolab_report::observed_json_lines(&recording)),
        None => {}
    }
    let columns = if arguments.output.is_none() { console::columns() } else { iolab_text::USUAL_COLUMNS };
    Ok(match arguments.intervals.as_deref() {
        Some("table") => iolab_report::intervals_table(&recording),
        Some(_) => iolab_report::intervals_json_lines(&recording),
        None => waiting("making the report".to_owned(), || {
            let has_json = formats.iter().any(|format| matches!(format, Format::Json | Format::JsonPlus));
            formats.into_iter().map(|format| in_format(&recording, &notes, format, has_json, columns)).collect()
        }),
    })
}

/// The report as the run printed it: notes and findings follow the header and precede the results.
/// If the report is one JSON document, nothing else is added to it.
pub(super) fn in_format(
    recording: &Recording,
    notes: &[String],
    format: Format,
    has_json: bool,
    columns: usize,
) -> String {
    match format {
        Format::Normal if !has_json => {
            let header = iolab_report::normal_header(&recording.plan);
            noted(format, notes)
                + &header
                + &told(format, recording, columns)
                + &output::render(recording, format, false)
        }
        _ => noted(format, notes) + &output::render(recording, format, true),
    }
}

/// Notes precede the report for people; formats for programs have no place for them.
fn noted(format: Format, notes: &[String]) -> String {
    let shown = if format == Format::Normal { notes } else { &[] };
    shown.iter().map(|note| format!("note: {note}\n")).collect()
}

/// The findings as text. Recordings of older versions do not contain any, so they are computed
/// here.
fn told(format: Format, recording: &Recording, columns: usize) -> String {
    match format {
        Format::Normal if recording.findings.is_empty() => {
            iolab_findings::findings_text(&iolab_findings::find(recording), columns)
        }
        Format::Normal => iolab_findings::findings_text(&recording.findings, columns),
        _ => String::new(),
    }
}
