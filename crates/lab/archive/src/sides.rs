//! The two sides of a comparison, from names on the command line.

use std::path::{Path, PathBuf};

use iolab_activity::Failure;
use iolab_comparison::{ComparedRun, RunSummary, Side};
use iolab_study::{JobSource, Study, TrialId};

use crate::run_files::{TrialFile, entries, has_extension, points_of, printed, study, summaries, summary};
use crate::{database, study_files};

/// Both sides. Intervals are only read if each side has one run: nothing else needs them.
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
        if let Some((folder, chosen)) = chosen_points(name)? {
            read_study(&folder, with_intervals, &chosen, &mut side)?;
            if side.runs.len() == before {
                return Err(Failure::mistake(format!("{name}: no trial of this configuration has run yet")));
            }
            continue;
        }
        for (path, part) in places(name)? {
            let first = side.runs.len();
            read(&path, with_intervals, &mut side)?;
            if let Some(part) = part {
                // An entry is one of several reports in a file.
                let kept = side.runs.split_off(first).into_iter().nth(part as usize);
                side.runs.extend(kept);
            }
        }
        if side.runs.len() == before {
            return Err(Failure::mistake(format!(
                "{name}: no recordings (*.iolab) and no JSON reports of fio (*.json) in this folder"
            )));
        }
    }
    Ok(side)
}

/// Axes and points that a side is restricted to.
type Chosen = [(String, String)];

/// The folder of a study, and what its side is restricted to.
type ChosenTrials = (PathBuf, Vec<(String, String)>);

/// Parses `FOLDER:axis=point[:axis=point…]`: the trials of a study that have these points. `None`
/// for any other name, also of a file with such a name.
fn chosen_points(name: &str) -> Result<Option<ChosenTrials>, Failure> {
    let is_study = |folder: &str| study_files::is_study(Path::new(folder));
    let mut places = name.match_indices(':').map(|(place, _)| place);
    let Some(place) = places.rfind(|place| !Path::new(name).exists() && is_study(&name[..*place])) else {
        return Ok(None);
    };
    let (folder, words) = (PathBuf::from(&name[..place]), &name[place + 1..]);
    let (study, _) = study(&folder)?;
    let design =
        iolab_study::design(&study).map_err(|error| Failure::mistake(format!("{}: {error}", folder.display())))?;
    let mut chosen = Vec::new();
    for word in words.split(':') {
        let (axis, point) = word.split_once('=').unwrap_or((word, ""));
        let Some(column) = design.axes.iter().position(|own| own == axis) else {
            let axes = design.axes.join(", ");
            return Err(Failure::mistake(format!("{name}: '{axis}' is no axis of this study; it has {axes}")));
        };
        let mut points: Vec<&str> = Vec::new();
        for configuration in &design.configurations {
            let own = configuration.points[column].as_str();
            if !points.contains(&own) {
                points.push(own);
            }
        }
        if !points.contains(&point) {
            let points = points.join(", ");
            return Err(Failure::mistake(format!("{name}: {axis} has no point '{point}'; it has {points}")));
        }
        chosen.push((axis.to_owned(), point.to_owned()));
    }
    Ok(Some((folder, chosen)))
}

/// The files that a name stands for, and which of several reports in one.
fn places(name: &str) -> Result<Vec<(PathBuf, Option<u32>)>, Failure> {
    let Some(entry) = name.strip_prefix('@') else { return Ok(vec![(PathBuf::from(name), None)]) };
    let of = |entry: iolab_store::DatabaseEntry| {
        let path = PathBuf::from(&entry.path);
        if !path.exists() {
            let gone = format!("@{}: {} no longer exists", entry.id, entry.path);
            return Err(Failure::mistake(gone));
        }
        Ok((path, (entry.kind == iolab_store::EntryKind::Fio).then_some(entry.part)))
    };
    let store = database::open_to_read()?;
    if let Some(tag) = entry.strip_prefix("tag:") {
        let filter = iolab_store::Filter { tags: vec![tag.to_owned()], with_trials: true, ..Default::default() };
        let entries = store.list(&filter).map_err(database::failure)?;
        if entries.is_empty() {
            return Err(Failure::mistake(format!("{name}: no entry has this tag")));
        }
        return entries.into_iter().map(of).collect();
    }
    let id = entry.parse().map_err(|_| {
        Failure::mistake(format!(
            "{name}: write @NUMBER for an entry, or @tag:TAG for a tag (`iolab db list` shows them)"
        ))
    })?;
    Ok(vec![of(store.entry(id).map_err(database::failure)?)?])
}

pub(crate) fn read(path: &Path, with_intervals: bool, side: &mut Side) -> Result<(), Failure> {
    if !path.is_dir() {
        let summaries = summaries(path, with_intervals)?.into_iter();
        side.runs.extend(summaries.map(|summary| ComparedRun { summary, ..ComparedRun::default() }));
        return Ok(());
    }
    if study_files::is_study(path) {
        return read_study(path, with_intervals, &[], side);
    }
    for entry in entries(path)? {
        if has_extension(&entry, "iolab") || has_extension(&entry, "json") {
            let summaries = summaries(&entry, with_intervals)?.into_iter();
            side.runs.extend(summaries.map(|summary| ComparedRun { summary, ..ComparedRun::default() }));
        } else if study_files::is_study(&entry) {
            let first = side.runs.len();
            read_study(&entry, with_intervals, &[], side)?;
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            side.runs[first..].iter_mut().for_each(|run| run.points.insert(0, ("study".to_owned(), name.clone())));
        }
    }
    Ok(())
}

/// The trials of a study that have the `chosen` points, each with its block and the rest of its
/// configuration.
fn read_study(path: &Path, with_intervals: bool, chosen: &Chosen, side: &mut Side) -> Result<(), Failure> {
    let (study, trials) = study(path)?;
    let is_command = matches!(study.job, JobSource::Command(_));
    let origin = std::fs::canonicalize(path).ok().map(|path| path.to_string_lossy().into_owned());
    side.missing.extend(missing(path, &study, &trials, chosen)?);
    for TrialFile { path, block, mut points } in trials {
        if !has_points(&points, chosen) {
            continue;
        }
        points.retain(|point| !chosen.contains(point));
        let read = if is_command { printed(&path, &study) } else { summary(&path, with_intervals) };
        // One damaged trial does not make the others worthless.
        let summary = read.unwrap_or_else(|failure| RunSummary {
            name: path.display().to_string(),
            flaw: Some(format!("it cannot be read: {}", failure.message)),
            ..RunSummary::default()
        });
        side.runs.push(ComparedRun { summary, block: Some(block), study: origin.clone(), points });
    }
    side.figures.extend(study.figures.into_iter().filter(|figure| !side.figures.contains(figure)).collect::<Vec<_>>());
    Ok(())
}

fn has_points(points: &[(String, String)], chosen: &Chosen) -> bool {
    chosen.iter().all(|point| points.contains(point))
}

/// The missing trials: by name in blocks that have begun, and the number of blocks that have not.
fn missing(path: &Path, study: &Study, trials: &[TrialFile], chosen: &Chosen) -> Result<Vec<String>, Failure> {
    let wrong = |error: iolab_study::StudyError| Failure::mistake(format!("{}: {error}", path.display()));
    let design = iolab_study::design(study).map_err(wrong)?;
    let is_there = |planned: &TrialId| {
        let points = points_of(&design, planned.configuration, planned.level);
        !has_points(&points, chosen)
            || trials.iter().any(|trial| trial.block == planned.block && trial.points == points)
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
        told.push(format!("{not_begun} of {}, not started", iolab_text::counted(study.blocks.into(), "block")));
    }
    Ok(told)
}
