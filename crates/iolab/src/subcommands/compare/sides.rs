//! Finding and reading the runs of both sides.
//!
//! A name is a recording, a folder of recordings, the folder of a study, or a folder of such folders.

use std::path::{Path, PathBuf};

use iolab_comparison::{Run, RunSummary, Side};
use iolab_study::{Design, JobSource, Planned, Study, Trial};

use crate::exit::Failure;
use crate::recordings::{self, Loaded};

/// Both sides. Intervals are read where there is one run on each side only: nothing else needs them.
pub(super) fn load(baseline: &[String], candidate: &[String]) -> Result<(Side, Side), Failure> {
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
        read(Path::new(name), with_intervals, &mut side)?;
        if side.runs.len() == before {
            return Err(Failure::mistake(format!("iolab: {name}: no recordings in it")));
        }
    }
    Ok(side)
}

fn read(path: &Path, with_intervals: bool, side: &mut Side) -> Result<(), Failure> {
    if !path.is_dir() {
        side.runs.push(Run { summary: summary(path, with_intervals)?, ..Run::default() });
        return Ok(());
    }
    if path.join("study.json").exists() {
        return read_study(path, with_intervals, side);
    }
    for entry in entries(path)? {
        let is_study = || entry.join("study.json").exists();
        if has_extension(&entry, "iolab") {
            side.runs.push(Run { summary: summary(&entry, with_intervals)?, ..Run::default() });
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
fn entries(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::mistake(format!("iolab: {}: {error}", path.display()));
    let mut entries = std::fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>())
        .map_err(failed)?;
    entries.sort();
    Ok(entries)
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

/// The trials of a study, each with its block and its configuration.
fn read_study(path: &Path, with_intervals: bool, side: &mut Side) -> Result<(), Failure> {
    let file = path.join("study.json");
    let wrong = |error: String| Failure::mistake(format!("iolab: {}: {error}", file.display()));
    let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
    let study: Study = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let design = iolab_study::design(&study).map_err(|error| wrong(error.to_string()))?;
    let is_command = matches!(study.job, JobSource::Command(_));
    let extension = if is_command { "json" } else { "iolab" };
    for trial in entries(&path.join("trials"))?.into_iter().filter(|entry| has_extension(entry, extension)) {
        let Some((block, points)) = place(&trial, &design) else { continue };
        let summary = if is_command { printed(&trial, &study)? } else { summary(&trial, with_intervals)? };
        side.runs.push(Run { summary, block: Some(block), points });
    }
    side.figures.extend(study.figures.into_iter().filter(|figure| !side.figures.contains(figure)).collect::<Vec<_>>());
    Ok(())
}

/// What the command of a trial printed.
fn printed(path: &Path, study: &Study) -> Result<RunSummary, Failure> {
    let wrong = |error: String| Failure::mistake(format!("iolab: {}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let printed = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let trial = Trial::of_command(Planned { block: 0, configuration: 0, level: None }, &study.figures, &printed);
    let values = study.figures.iter().zip(trial.values);
    Ok(RunSummary {
        name: path.display().to_string(),
        tool: "the command of the study".to_owned(),
        flaw: trial.flaw,
        of_the_run: values.filter_map(|(figure, value)| Some((figure.name(), value?))).collect(),
        ..RunSummary::default()
    })
}

/// Block and configuration of `b02-c003.iolab`. `None` for anything else, such as a level of a ladder.
fn place(recording: &Path, design: &Design) -> Option<(u32, Vec<(String, String)>)> {
    let (block, configuration) = recording.file_stem()?.to_str()?.strip_prefix('b')?.split_once("-c")?;
    let configuration = design.configurations.get(configuration.parse::<usize>().ok()?)?;
    let points = design.axes.iter().cloned().zip(configuration.points.iter().cloned());
    Some((block.parse().ok()?, points.collect()))
}

fn summary(path: &Path, with_intervals: bool) -> Result<RunSummary, Failure> {
    let name = path.display().to_string();
    let Loaded { recording, notes } =
        recordings::load(path).map_err(|error| Failure::mistake(format!("iolab: {error:#}")))?;
    let mut summary = RunSummary::of_recording(&name, &recording, with_intervals);
    summary.notes.extend(notes);
    Ok(summary)
}
