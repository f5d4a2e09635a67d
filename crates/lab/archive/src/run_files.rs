//! Finding and reading runs by their names.
//!
//! A name is an entry of the database (`@12`, `@tag:NAME`), a recording, a JSON report of fio, a
//! folder of those, the folder of a study, or a folder of such folders.

use std::io::Read;
use std::path::{Path, PathBuf};

use iolab_activity::Failure;
use iolab_bounded_read::{FIO_REPORT, ReadError, STUDY_FOLDER};
use iolab_comparison::RunSummary;
use iolab_order::Arrange;
use iolab_recording::partial;
use iolab_study::{Design, JobSource, Printed, Study, Trial, TrialId};

use crate::recordings;
use crate::recordings::Loaded;
use crate::study_files;

/// What is in a folder, by name.
pub fn entries(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::mistake(format!("{}: {error}", path.display()));
    let mut entries = std::fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>())
        .map_err(failed)?;
    entries.arrange();
    Ok(entries)
}

pub(crate) fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

/// The recording of a trial, and its place in the study.
pub struct TrialFile {
    /// The file.
    pub path: PathBuf,
    /// Its block.
    pub block: u32,
    /// Its point on each axis.
    pub points: Vec<(String, String)>,
}

/// The study of a folder, and the recordings of its trials.
pub fn study(path: &Path) -> Result<(Study, Vec<TrialFile>), Failure> {
    let file = path.join(study_files::STUDY);
    let wrong = |error: String| Failure::mistake(format!("{}: {error}", file.display()));
    let text = iolab_bounded_read::read_text(&file, STUDY_FOLDER).map_err(|error| wrong(error.to_string()))?;
    let study: Study = iolab_deserialize::json(text.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let design = iolab_study::design(&study).map_err(|error| wrong(error.to_string()))?;
    let extension = if matches!(study.job, JobSource::Command(_)) { "json" } else { "iolab" };
    let files = entries(&path.join(study_files::TRIALS))?.into_iter().filter(|entry| has_extension(entry, extension));
    let trial = |path: PathBuf| place(&path, &design).map(|(block, points)| TrialFile { path, block, points });
    let trials = files.filter_map(trial).collect();
    Ok((study, trials))
}

/// What a recording in the folder of a study is of, in words: the block and the points of a trial,
/// or that it is preconditioning. Also for one that is not finished. `None` for other recordings.
pub fn title_in_study(recording: &Path) -> Option<String> {
    let inner = recording.parent()?;
    let file = inner.parent()?.join(study_files::STUDY);
    let study: Study =
        iolab_deserialize::json(iolab_bounded_read::read_text(&file, STUDY_FOLDER).ok()?.as_bytes()).ok()?;
    if inner.file_name()? == study_files::PRECONDITION {
        return Some("preconditioning".to_owned());
    }
    // NAME.iolab, or NAME.iolab.partial.
    let name = recording.file_name()?.to_str()?.split('.').next()?;
    let design = iolab_study::design(&study).ok()?;
    let trial = *design.trials.iter().find(|trial| trial.name() == name)?;
    Some(format!("{}, block {} of {}", design.name_of(&study, trial), trial.block + 1, study.blocks))
}

/// Axes and points of a configuration, and the level of its ladder.
pub(crate) fn points_of(design: &Design, configuration: usize, level: Option<usize>) -> Vec<(String, String)> {
    let points = design.configurations[configuration].points.iter().cloned();
    let level = level.map(|level| ("level".to_owned(), level.to_string()));
    design.axes.iter().cloned().zip(points).chain(level).collect()
}

/// What the command of a trial printed.
pub fn printed(path: &Path, study: &Study) -> Result<RunSummary, Failure> {
    let wrong = |error: String| Failure::mistake(format!("{}: {error}", path.display()));
    let text = iolab_bounded_read::read_text(path, FIO_REPORT).map_err(|error| wrong(error.to_string()))?;
    let printed = Printed::new(text);
    // Its place is stored beside its results.
    let planned = TrialId { block: 0, configuration: 0, level: None };
    let trial = Trial::of_command(planned, &study.figures, &printed);
    let values = study.figures.iter().zip(trial.values);
    Ok(RunSummary {
        name: path.display().to_string(),
        tool: "the command of the study".to_owned(),
        flaw: trial.flaw,
        of_the_run: values.filter_map(|(figure, value)| Some((figure.name(), value?))).collect(),
        ..RunSummary::default()
    })
}

/// Block and configuration of `b02-c003.iolab`; of `b02-c003-l04.iolab` the level of its ladder,
/// too.
fn place(recording: &Path, design: &Design) -> Option<(u32, Vec<(String, String)>)> {
    let (block, rest) = recording.file_stem()?.to_str()?.strip_prefix('b')?.split_once("-c")?;
    let (configuration, level) = rest.split_once("-l").map_or((rest, None), |(one, level)| (one, Some(level)));
    let configuration = design.configurations.get(configuration.parse::<usize>().ok()?)?;
    let mut points: Vec<(String, String)> =
        design.axes.iter().cloned().zip(configuration.points.iter().cloned()).collect();
    if let Some(level) = level {
        points.push(("level".to_owned(), level.parse::<u32>().ok()?.to_string()));
    }
    Some((block.parse().ok()?, points))
}

/// What is in a file: one recording, or the reports of fio.
pub fn summaries(path: &Path, with_intervals: bool) -> Result<Vec<RunSummary>, Failure> {
    let wrong = |error: String| Failure::mistake(format!("{}: {error}", path.display()));
    if is_recording(path)? {
        return Ok(vec![summary(path, with_intervals)?]);
    }
    let bytes = iolab_bounded_read::read(path, FIO_REPORT).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8_lossy(&bytes);
    iolab_comparison::read_fio_json(&path.display().to_string(), &text).map_err(|error| wrong(error.to_string()))
}

/// Whether a file is a recording, whole or partial; else it may be a report of fio.
pub fn is_recording(path: &Path) -> Result<bool, Failure> {
    let wrong = |error: ReadError| Failure::mistake(format!("{}: {error}", path.display()));
    let mut begins = Vec::new();
    let file = iolab_bounded_read::open(path).map_err(wrong)?;
    file.take(200).read_to_end(&mut begins).map_err(|error| wrong(error.into()))?;
    let says_so = || String::from_utf8_lossy(&begins).contains("iolab_recording");
    Ok(has_extension(path, "iolab") || partial::is_partial(&begins) || says_so())
}

pub(crate) fn summary(path: &Path, with_intervals: bool) -> Result<RunSummary, Failure> {
    let name = path.display().to_string();
    let Loaded { recording, notes } = recordings::load(path)?;
    let mut summary = RunSummary::of_recording(&name, &recording, with_intervals);
    summary.notes.extend(notes);
    Ok(summary)
}
