//! Studies without a study file: `iolab run job.fio --vary iodepth=1,4,16 --repeat 7`.

use std::path::{Path, PathBuf};

use iolab_jobfile::command_line::CommandLine;
use iolab_jobfile::{Diagnostic, DiagnosticSeverity, OPTIONS, find_option, suggest};
use iolab_pipeline::read_job_file;
use iolab_study::{Figure, JobSource, Ladder, Preconditioning, Slo, Study, StudyError, StudyHosts, axis_of_words};
use iolab_study_runner::{Permissions, StudyRunner, complete};

use crate::exit::ExitFailure;
use crate::pipeline;
use crate::run_options::{Asked, StudyWords, refuse_beside_a_study};

/// Runs the study that a command line describes, or continues it.
pub(crate) fn run(asked: &Asked, hosts: Option<StudyHosts>) -> Result<u8, ExitFailure> {
    let (mut study, job, path) = read(asked)?;
    if let Some(hosts) = hosts {
        study = study.on_hosts(hosts).map_err(|error| ExitFailure::mistake(format!("iolab: {error}")))?;
    }
    let permissions =
        Permissions { allow_destroy: asked.run.allow_destroy.clone(), keep_secrets: asked.run.keep_secrets };
    let runner =
        StudyRunner { pipeline: pipeline::pipeline(), permissions: &permissions, is_listed: !asked.run.no_database };
    let begun = runner.begin(&path, study, &job)?;
    let shown = super::Shown { web: asked.run.web, metrics: asked.run.metrics.as_deref().map(Path::new) };
    super::go_on(&runner, shown, &begun)
}

/// Prints what the study would run.
pub(crate) fn plan(asked: &Asked) -> Result<u8, ExitFailure> {
    let (study, job, _) = read(asked)?;
    super::announce(&study, &job)
}

fn read(asked: &Asked) -> Result<(Study, String, PathBuf), ExitFailure> {
    let (words, line) = (&asked.run.study, &asked.line);
    refuse_beside_a_study(line).map_err(|finding| asked.refused(&[finding]))?;
    let (job, stem) = job(line)?;
    let mut study = begin(&stem, words)?;
    study.job = JobSource::Text(job.clone());
    for vary in &words.vary {
        let misplaced = |reason: String, suggestion: Option<String>| {
            asked.refused(&[Diagnostic {
                severity: DiagnosticSeverity::Error,
                source: 0,
                span: vary.span,
                reason,
                suggestion,
            }])
        };
        let axis = axis_of_words(&vary.text).map_err(|error| misplaced(format!("--vary: {error}"), None))?;
        if !is_option(&axis.name) {
            let near = suggest(&axis.name).map(|near| format!("did you mean `{near}`?"));
            return Err(misplaced(format!("--vary: `{}` is not an option", axis.name), near));
        }
        study.axes.push(axis);
    }
    if let Some(name) = &words.profile {
        study.begin_from(name).map_err(|error| mistake("--drive-profile", &error))?;
    }
    if let Some(word) = &words.precondition {
        study.precondition = Preconditioning::from_word(word).map_err(|error| mistake("--precondition", &error))?;
    }
    complete(&mut study, &job, Path::new(""))?;
    let folder = words.folder.clone().map_or_else(|| PathBuf::from(format!("{stem}-study")), PathBuf::from);
    Ok((study, job, folder))
}

/// The study without its job and axes.
fn begin(stem: &str, words: &StudyWords) -> Result<Study, ExitFailure> {
    let ladder = match words.ladder.as_deref() {
        None => None,
        Some("none") => Some(Ladder::default()),
        Some(target) => {
            let slo = Slo::from_text(target).map_err(|error| mistake("--ladder", &error))?;
            Some(Ladder { slo: Some(slo), ..Ladder::default() })
        }
    };
    let trims_warm_up = match words.steady.as_deref() {
        None | Some("none") => false,
        Some("auto") => true,
        Some(other) => return Err(ExitFailure::mistake(format!("iolab: --steady={other}: auto or none"))),
    };
    let varied: Vec<&str> =
        words.vary.iter().map(|vary| vary.text.split_once('=').map_or("", |parts| parts.0)).collect();
    let title = if varied.is_empty() { stem.to_owned() } else { format!("{stem}: {}", varied.join(", ")) };
    let mut study = Study { title, figures: Figure::usual(), trims_warm_up, ladder, ..Study::default() };
    // Compared configurations are repeated until their differences are decided; a single
    // configuration has nothing to be compared with.
    let blocks = words.blocks.as_deref().or_else(|| (!words.vary.is_empty()).then_some("auto"));
    study.set_blocks(blocks).map_err(|error| mistake("--repeat", &error))?;
    Ok(study)
}

/// The text of the job, and its name.
fn job(line: &CommandLine) -> Result<(String, String), ExitFailure> {
    let own = line.job_text().map_err(|error| ExitFailure::mistake(format!("iolab: {error}")))?;
    match line.files.as_slice() {
        [] => {
            let name = line.first_job().unwrap_or("job").replace(['/', '.'], "_");
            Ok((own, name))
        }
        [file] => {
            let read = |error: iolab_bounded_read::ReadError| ExitFailure::mistake(format!("iolab: {file}: {error}"));
            let bytes = read_job_file(file).map_err(read)?;
            let text = String::from_utf8(bytes)
                .map_err(|_| ExitFailure::mistake(format!("iolab: {file}: not a job file (not UTF-8)")))?;
            let stem = Path::new(file).file_stem().map_or("job".to_owned(), |stem| stem.to_string_lossy().into_owned());
            let stem = if file == "-" { "job".to_owned() } else { stem };
            // Options before a job file apply to all its jobs.
            Ok((own + &text, stem))
        }
        _ => Err(ExitFailure::mistake("iolab: a study takes one job file; for several, write a collection of studies")),
    }
}

fn is_option(name: &str) -> bool {
    let of_engines = || iolab_engine_catalogue::descriptions().into_iter().flat_map(|engine| engine.options);
    let is_own = OPTIONS.iter().any(|entry| entry.answers_to(name));
    is_own || find_option(name).is_some() || of_engines().any(|entry| entry.answers_to(name))
}

fn mistake(option: &str, error: &StudyError) -> ExitFailure {
    ExitFailure::mistake(format!("iolab: {option}: {error}"))
}
