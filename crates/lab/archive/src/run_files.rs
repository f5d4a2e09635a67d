//! Finding and reading runs by their names.
//!
//! A name is an entry of the database (`@12`, `@tag:NAME`), a recording, a JSON report of fio, a
//! folder of those, the folder of a study, or a folder of such folders.

use std::io::Read;
use std::path::{Path, PathBuf};

use iolab_activity::Failure;
use iolab_bounded_read::{FIO_REPORT, ReadError, STUDY_FOLDER};
use iolab_comparison::{Run, RunSummary, Side};
use iolab_recording::partial;
use iolab_study::{Design, JobSource, Planned, Printed, Study, Trial};

use crate::database;
use crate::recordings::{self, Loaded};

/// Both sides. Intervals are read where there is one run on each side only: nothing else needs
/// them.
pub fn load(baseline: &[String], candidate: &[String]) -> Result<(Side, Side), Failure> {
    let (theirs, ours) = (side(baseline, false)?, side(candidate, false)?);
    if theirs.runs.len() == 1 && ours.runs.len() == 1 {
        return Ok((side(baseline, true)?, side(candidate, true)?));
    }
    Ok((theirs, ours))
}

fn side(names: &[String], with_intervals: bool) -> Result<Side, Failure> {
    let mut side = Side { name: names.join(", "), ..Side::default() };
    for name in names {
        let before = side.runs.len();
        for (path, part) in places(name)? {
            let first = side.runs.len();
            read(&path, with_intervals, &mut side)?;
            if let Some(part) = part {
                // Of a file with several reports, an entry is one.
                let kept = side.runs.split_off(first).into_iter().nth(part as usize);
                side.runs.extend(kept);
            }
        }
        if side.runs.len() == before {
            return Err(Failure::mistake(format!(
                "{name}: neither recordings nor fio's JSON reports (*.iolab, *.json) in it"
            )));
        }
    }
    Ok(side)
}

/// The files that a name stands for, and which of several reports in one.
fn places(name: &str) -> Result<Vec<(PathBuf, Option<u32>)>, Failure> {
    let Some(entry) = name.strip_prefix('@') else { return Ok(vec![(PathBuf::from(name), None)]) };
    let of = |entry: iolab_store::Entry| {
        let path = PathBuf::from(&entry.path);
        if !path.exists() {
            let gone = format!("@{}: {} is not there any more", entry.id, entry.path);
            return Err(Failure::mistake(gone));
        }
        Ok((path, (entry.kind == iolab_store::Kind::Fio).then_some(entry.part)))
    };
    let store = database::open_to_read()?;
    if let Some(tag) = entry.strip_prefix("tag:") {
        let filter = iolab_store::Filter { tags: vec![tag.to_owned()], with_trials: true, ..Default::default() };
        let entries = store.list(&filter).map_err(database::failure)?;
        if entries.is_empty() {
            return Err(Failure::mistake(format!("{name}: nothing has this tag")));
        }
        return entries.into_iter().map(of).collect();
    }
    let id = entry.parse().map_err(|_| {
        Failure::mistake(format!("{name}: @ and the number of an entry, or @tag: and a tag (iolab db list shows them)"))
    })?;
    Ok(vec![of(store.entry(id).map_err(database::failure)?)?])
}

fn read(path: &Path, with_intervals: bool, side: &mut Side) -> Result<(), Failure> {
    if !path.is_dir() {
        let summaries = summaries(path, with_intervals)?.into_iter();
        side.runs.extend(summaries.map(|summary| Run { summary, ..Run::default() }));
        return Ok(());
    }
    if path.join("study.json").exists() {
        return read_study(path, with_intervals, side);
    }
    for entry in entries(path)? {
        let is_study = || entry.join("study.json").exists();
        if has_extension(&entry, "iolab") || has_extension(&entry, "json") {
            let summaries = summaries(&entry, with_intervals)?.into_iter();
            side.runs.extend(summaries.map(|summary| Run { summary, ..Run::default() }));
        } else if is_study() {
            let first = side.runs.len();
            read_study(&entry, with_intervals, side)?;
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            side.runs[first..].iter_mut().for_each(|run| run.points.insert(0, ("study".to_owned(), name.clone())));
        }
    }
    Ok(())
}

/// What is in a folder, by name.
pub fn entries(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::mistake(format!("{}: {error}", path.display()));
    let mut entries = std::fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>())
        .map_err(failed)?;
    entries.sort();
    Ok(entries)
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

/// What a trial left, and its place in the study.
pub struct TrialFile {
    /// The file.
    pub path: PathBuf,
    /// Its block.
    pub block: u32,
    /// Its point on each axis.
    pub points: Vec<(String, String)>,
}

/// The study of a folder and what its trials left.
pub fn study(path: &Path) -> Result<(Study, Vec<TrialFile>), Failure> {
    let file = path.join("study.json");
    let wrong = |error: String| Failure::mistake(format!("{}: {error}", file.display()));
    let text = iolab_bounded_read::read_text(&file, STUDY_FOLDER).map_err(|error| wrong(error.to_string()))?;
    let study: Study = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let design = iolab_study::design(&study).map_err(|error| wrong(error.to_string()))?;
    let extension = if matches!(study.job, JobSource::Command(_)) { "json" } else { "iolab" };
    let files = entries(&path.join("trials"))?.into_iter().filter(|entry| has_extension(entry, extension));
    let trial = |path: PathBuf| place(&path, &design).map(|(block, points)| TrialFile { path, block, points });
    let trials = files.filter_map(trial).collect();
    Ok((study, trials))
}

/// The trials of a study, each with its block and its configuration.
fn read_study(path: &Path, with_intervals: bool, side: &mut Side) -> Result<(), Failure> {
    let (study, trials) = study(path)?;
    let is_command = matches!(study.job, JobSource::Command(_));
    side.missing.extend(missing(path, &study, &trials)?);
    for TrialFile { path, block, points } in trials {
        let read = if is_command { printed(&path, &study) } else { summary(&path, with_intervals) };
        // One damaged trial does not make the others worthless.
        let summary = read.unwrap_or_else(|failure| RunSummary {
            name: path.display().to_string(),
            flaw: Some(format!("it cannot be read: {}", failure.message)),
            ..RunSummary::default()
        });
        side.runs.push(Run { summary, block: Some(block), points });
    }
    side.figures.extend(study.figures.into_iter().filter(|figure| !side.figures.contains(figure)).collect::<Vec<_>>());
    Ok(())
}

/// The trials that are not there: by name in blocks that have begun, and how many blocks have not.
fn missing(path: &Path, study: &Study, trials: &[TrialFile]) -> Result<Vec<String>, Failure> {
    let wrong = |error: iolab_study::StudyError| Failure::mistake(format!("{}: {error}", path.display()));
    let design = iolab_study::design(study).map_err(wrong)?;
    let is_there = |planned: &Planned| {
        let points = points_of(&design, planned.configuration, planned.level);
        trials.iter().any(|trial| trial.block == planned.block && trial.points == points)
    };
    let (mut told, mut not_begun) = (Vec::new(), 0);
    for block in design.trials.chunk_by(|one, other| one.block == other.block) {
        if !trials.iter().any(|trial| trial.block == block[0].block) {
            not_begun += 1;
            continue;
        }
        let absent = block.iter().filter(|planned| !is_there(planned));
        told.extend(absent.map(|planned| format!("block {}, {}", planned.block + 1, design.name_of(study, *planned))));
    }
    // How many blocks there will be is not known before the last.
    if not_begun > 0 && study.auto_blocks.is_none() {
        told.push(format!("{not_begun} of {} blocks, which were not begun", study.blocks));
    }
    Ok(told)
}

/// Axes and points of a configuration, and the level of its ladder.
fn points_of(design: &Design, configuration: usize, level: Option<usize>) -> Vec<(String, String)> {
    let points = design.configurations[configuration].points.iter().cloned();
    let level = level.map(|level| ("level".to_owned(), level.to_string()));
    design.axes.iter().cloned().zip(points).chain(level).collect()
}

/// What the command of a trial printed.
pub fn printed(path: &Path, study: &Study) -> Result<RunSummary, Failure> {
    let wrong = |error: String| Failure::mistake(format!("{}: {error}", path.display()));
    let text = iolab_bounded_read::read_text(path, FIO_REPORT).map_err(|error| wrong(error.to_string()))?;
    let printed = Printed::new(text);
    // Its place is kept beside what it measured.
    let planned = Planned { block: 0, configuration: 0, level: None };
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

fn summary(path: &Path, with_intervals: bool) -> Result<RunSummary, Failure> {
    let name = path.display().to_string();
    let Loaded { recording, notes } = recordings::load(path)?;
    let mut summary = RunSummary::of_recording(&name, &recording, with_intervals);
    summary.notes.extend(notes);
    Ok(summary)
}
