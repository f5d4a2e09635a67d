//! `iolab study`: one job under several settings, in blocks, and what can be said of the differences.

mod cost;
mod folder;
mod preconditioning;
mod progress;
mod trials;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use iolab_statistics::Rules;
use iolab_study::{
    Analysis, Design, JobSource, Setting, Study, StudyError, analyse, describe_design, describe_results,
};

use crate::exit::{Failure, INTERRUPTED};
use crate::output;
use folder::Folder;
use trials::Running;

/// What to do with studies.
#[derive(Debug, Subcommand)]
pub(crate) enum StudyAction {
    /// Say what a study would run, how long that takes and how much it writes
    Plan {
        /// Study file (TOML)
        study: PathBuf,
        /// Trials of each configuration, instead of what the file says
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        blocks: Option<u32>,
    },
    /// Run a study; one that was interrupted goes on where it stopped
    Run {
        /// Study file (TOML)
        study: PathBuf,
        /// Folder for its trials; the file's name without `.toml`, unless told
        #[arg(long)]
        folder: Option<PathBuf>,
        /// Trials of each configuration, instead of what the file says
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        blocks: Option<u32>,
        /// Devices and files that may be overwritten, as for `iolab run`
        #[arg(long, value_name = "PATH")]
        allow_destroy: Vec<String>,
    },
    /// Go on with a study from its folder
    Resume {
        /// Its folder
        folder: PathBuf,
        /// Devices and files that may be overwritten, as for `iolab run`
        #[arg(long, value_name = "PATH")]
        allow_destroy: Vec<String>,
    },
    /// Show what a study has found so far
    Show {
        /// Its folder
        folder: PathBuf,
        /// JSON instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn main(action: &StudyAction) -> Result<u8, Failure> {
    match action {
        StudyAction::Plan { study, blocks } => {
            let (study, job) = read(study, *blocks)?;
            let design = lay_out(&study)?;
            let cost = cost::of(&study, &design, &job)?;
            output::print(&(describe_design(&study, &design) + &cost.describe()))?;
            Ok(0)
        }
        StudyAction::Run { study: file, folder, blocks, allow_destroy } => {
            let (study, job) = read(file, *blocks)?;
            let path = folder.clone().unwrap_or_else(|| file.with_extension(""));
            let folder = Folder::begin(&path, &study, &job)?;
            go_on(&folder, &study, allow_destroy)
        }
        StudyAction::Resume { folder, allow_destroy } => {
            let (folder, study) = Folder::open(folder)?;
            go_on(&folder, &study, allow_destroy)
        }
        StudyAction::Show { folder, json } => {
            let (folder, study) = Folder::open(folder)?;
            let design = lay_out(&study)?;
            let analysis = analysis(&folder, &study, &design);
            match json {
                true => output::print(&(folder::to_json(&analysis) + "\n"))?,
                false => output::print(&describe_results(&study, &design, &analysis))?,
            }
            Ok(0)
        }
    }
}

fn go_on(folder: &Folder, study: &Study, allow_destroy: &[String]) -> Result<u8, Failure> {
    let _lock = folder.lock()?;
    let design = lay_out(study)?;
    let job = folder.job()?;
    let cost = cost::of(study, &design, &job)?;
    eprint!("{}{}", describe_design(study, &design), cost.describe());
    // Beyond this point nothing decides any more which trials there may be, or in which order.
    let is_whole = Running { folder, study, design: &design, job: &job, cost: &cost, allow_destroy }.run()?;
    let analysis = analysis(folder, study, &design);
    folder.keep_analysis(&analysis)?;
    output::print(&describe_results(study, &design, &analysis))?;
    if is_whole {
        return Ok(0);
    }
    eprintln!("iolab: interrupted; go on with: iolab study resume {}", folder.path().display());
    Ok(INTERRUPTED)
}

/// The study of a file and the text of its job.
fn read(path: &Path, blocks: Option<u32>) -> Result<(Study, String), Failure> {
    let place = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| Failure::mistake(format!("iolab: {place}: {error}")))?;
    let mut study = iolab_study::read(&text).map_err(|error| mistake(path, &error))?;
    if let Some(blocks) = blocks {
        (study.blocks, study.auto_blocks) = (blocks, None);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let job = text_of(&study.job, folder).map_err(|error| Failure::mistake(format!("iolab: {place}: job {error}")))?;
    complete(&mut study, &job, folder)?;
    Ok((study, job))
}

/// Reads what the study names, so that it is whole by itself.
fn complete(study: &mut Study, job: &str, folder: &Path) -> Result<(), Failure> {
    if let Some(source) = study.precondition.as_mut().and_then(|how| how.job.as_mut()) {
        let text = text_of(source, folder);
        let text = text.map_err(|error| Failure::mistake(format!("iolab: precondition: job {error}")))?;
        *source = JobSource::Text(text);
    }
    // A warm-up is looked for in intervals: the usual ones, a second long, say little of a short trial.
    let says_interval = job.lines().any(|line| line.split('=').next().is_some_and(|name| name.trim() == "interval"));
    if study.trims_warm_up && !study.sets("interval") && !says_interval {
        study.settings.push(Setting { option: "interval".to_owned(), value: "100ms".to_owned() });
    }
    Ok(())
}

fn text_of(source: &JobSource, folder: &Path) -> Result<String, String> {
    match source {
        JobSource::Text(text) => Ok(text.clone()),
        JobSource::File(name) => {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        }
    }
}

fn mistake(path: &Path, error: &StudyError) -> Failure {
    let gap = if matches!(error, StudyError::Shape { .. }) { "" } else { " " };
    Failure::mistake(format!("iolab: {}:{gap}{error}", path.display()))
}

fn lay_out(study: &Study) -> Result<Design, Failure> {
    iolab_study::design(study).map_err(|error| Failure::mistake(format!("iolab: {}: {error}", study.title)))
}

fn analysis(folder: &Folder, study: &Study, design: &Design) -> Analysis {
    analyse(study, design, &folder.results(study, design), &Rules::default())
}
