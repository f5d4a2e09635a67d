//! Reads a study with all files that it names, so that it is self-contained.

use std::path::Path;

use iolab_activity::Failure;
use iolab_bounded_read::{JOB_FILE, STUDY_FILE};
use iolab_pipeline::Pipeline;
use iolab_study::{Design, JobSetting, JobSource, Study, StudyHosts};

use crate::begun::BegunStudy;
pub(crate) use crate::collections::mistake;
use crate::place::{Permissions, Place};
use crate::{collections, cost, device, hooks};

/// How a study differs from its file.
#[derive(Debug, Clone, Default)]
pub struct StudyForm {
    /// Trials of each configuration.
    pub blocks: Option<u32>,
    /// The quick form that the file describes.
    pub quick: bool,
    /// The form on these hosts.
    pub hosts: Option<StudyHosts>,
    /// The form on this device.
    pub device: Option<String>,
    /// Whether it is one of a collection: those without a form for a device stay as they are.
    pub is_part: bool,
}

/// The study of a file, or those of a collection, each in its folder. Nothing is created if one of
/// them cannot be run.
///
/// # Errors
/// What is wrong with one of them.
pub fn begin(
    pipeline: &Pipeline<'_>,
    file: &Path,
    path: &Path,
    form: &StudyForm,
    permissions: &Permissions,
) -> Result<Vec<BegunStudy>, Failure> {
    let (collection, files) = collections::files_of(file)?;
    let form = &StudyForm { is_part: collection.is_some(), ..form.clone() };
    let mut studies = Vec::new();
    for file in &files {
        let (study, job) = read(file, form)?;
        let place = Place::of(&study, permissions);
        let cost = cost::of(pipeline, &place, &study, &lay_out(&study)?, &job)
            .map_err(|failure| located(file, &study, failure))?;
        studies.push((study, job, cost));
    }
    let folders = match &collection {
        None => vec![path.to_owned()],
        Some(collection) => collections::begin(path, collection)?,
    };
    let begun = studies.into_iter().zip(&folders);
    begun.map(|((study, job, cost), folder)| BegunStudy::new(folder, study, &job, cost)).collect()
}

/// The study of a file and the text of its job.
///
/// # Errors
/// What is wrong with the file, with its line.
pub fn read(path: &Path, form: &StudyForm) -> Result<(Study, String), Failure> {
    let place = path.display();
    let text = iolab_bounded_read::read_text(path, STUDY_FILE)
        .map_err(|error| Failure::mistake(format!("{place}: {error}")))?;
    let mut study = iolab_study::read(&text).map_err(|error| mistake(path, &error))?;
    if form.quick {
        study = study.quickened().map_err(|error| mistake(path, &error))?;
    }
    if let Some(name) = &form.device
        && (study.device_form.is_some() || !form.is_part)
    {
        let device = device::named(name)?;
        study = study.on_device(device).map_err(|error| mistake(path, &error))?;
    }
    study = study.without_unmet(hooks::is_met).map_err(|error| mistake(path, &error))?;
    if let Some(blocks) = form.blocks {
        (study.blocks, study.auto_blocks) = (blocks, None);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let job = text_of(&study.job, folder).map_err(|error| Failure::mistake(format!("{place}: job {error}")))?;
    complete(&mut study, &job, folder)?;
    if let Some(hosts) = &form.hosts {
        study = study.on_hosts(hosts.clone()).map_err(|error| mistake(path, &error))?;
    }
    Ok((study, job))
}

/// Adds to a failure of one of the study's configurations the line of the study file that sets the
/// option in the message.
pub fn located(path: &Path, study: &Study, mut failure: Failure) -> Failure {
    let Ok(text) = iolab_bounded_read::read_text(path, STUDY_FILE) else { return failure };
    let points = study.axes.iter().flat_map(|axis| &axis.points);
    let settings = study.settings.iter().chain(points.flat_map(|point| &point.settings));
    for JobSetting { option, value } in settings {
        // The line of the job in the message.
        let is_about = shows(&failure.message, &format!("{option}={value}"));
        let at_option =
            failure.message.contains("not a job option") || failure.message.contains("neither a job option");
        if let Some(place) = iolab_study::place_of(&text, option, value, at_option).filter(|_| is_about) {
            let at = format!("{}:{}:{}", path.display(), place.line, place.column);
            failure.message = format!("{at}: {option} = {value}\n{}", failure.message);
            break;
        }
    }
    failure
}

/// Whether a message shows this line of a job; colours may stand around it.
fn shows(message: &str, line: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|next: char| next.is_alphanumeric() || ".,:%".contains(next));
    message.match_indices(line).any(|(at, _)| !goes_on(&message[at + line.len()..]))
}

/// Reads the files that the study names, so that it is self-contained.
///
/// # Errors
/// A job that it names cannot be read.
pub fn complete(study: &mut Study, job: &str, folder: &Path) -> Result<(), Failure> {
    if let Some(source) = study.precondition.as_mut().and_then(|how| how.job.as_mut()) {
        let text = text_of(source, folder);
        let text = text.map_err(|error| Failure::mistake(format!("precondition: job {error}")))?;
        *source = JobSource::Text(text);
    }
    // Intervals show a warm-up. The default interval of a second is too long for a short trial.
    let says_interval = job.lines().any(|line| line.split('=').next().is_some_and(|name| name.trim() == "interval"));
    if study.trims_warm_up && !study.sets("interval") && !says_interval {
        study.settings.push(JobSetting { option: "interval".to_owned(), value: "100ms".to_owned() });
    }
    Ok(())
}

fn text_of(source: &JobSource, folder: &Path) -> Result<String, String> {
    match source {
        JobSource::Text(text) | JobSource::Command(text) => Ok(text.clone()),
        JobSource::File(name) => {
            let path = folder.join(name);
            iolab_bounded_read::read_text(&path, JOB_FILE).map_err(|error| format!("{}: {error}", path.display()))
        }
    }
}

/// The design of a study.
///
/// # Errors
/// It has none: contradictions between its axes and settings.
pub fn lay_out(study: &Study) -> Result<Design, Failure> {
    iolab_study::design(study).map_err(|error| Failure::mistake(format!("{}: {error}", study.title)))
}
