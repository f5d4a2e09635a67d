//! `iolab study`: one job under several settings, in blocks, and what can be said of the
//! differences.

mod collections;
mod cost;
mod folder;
pub(crate) mod from_words;
mod hooks;
mod preconditioning;
mod progress;
pub(crate) mod telling;
mod trials;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use iolab_bounded_read::{JOB_FILE, STUDY_FILE};
use iolab_statistics::Rules;
use iolab_study::{
    Analysis, Design, JobSource, Setting, Study, StudyError, analyse, describe_design, describe_results, next,
};

use crate::exit::{Failure, INTERRUPTED};
use crate::output;
use folder::Folder;
use trials::Running;

/// What each trial is told that the study does not say.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Passed {
    /// Devices and files that may be overwritten, as for `iolab run`
    #[arg(long, value_name = "PATH")]
    allow_destroy: Vec<String>,
    /// Keep the values of ${VARIABLES} in the recordings, as for `iolab run`
    #[arg(long)]
    keep_secrets: bool,
}

impl Passed {
    /// As words of `iolab run`.
    fn words(&self) -> impl Iterator<Item = String> {
        let allowed = self.allow_destroy.iter().map(|path| format!("--allow-destroy={path}"));
        allowed.chain(self.keep_secrets.then(|| "--keep-secrets".to_owned()))
    }
}

/// What to do with studies.
#[derive(Debug, Subcommand)]
pub(crate) enum StudyAction {
    /// Say what a study would run, how long that takes and how much it writes
    Plan {
        /// Study file, or a file that names several (TOML)
        study: PathBuf,
        /// Trials of each configuration, instead of what the file says
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        blocks: Option<u32>,
        /// The quick form that the file describes
        #[arg(long)]
        quick: bool,
    },
    /// Run a study; one that was interrupted goes on where it stopped
    Run {
        /// Study file, or a file that names several (TOML)
        study: PathBuf,
        /// Folder for its trials; the file's name without `.toml`, in the current folder, unless
        /// told
        #[arg(long)]
        folder: Option<PathBuf>,
        /// Trials of each configuration, instead of what the file says
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        blocks: Option<u32>,
        /// The quick form that the file describes
        #[arg(long)]
        quick: bool,
        #[command(flatten)]
        passed: Passed,
    },
    /// Go on with a study from its folder
    Resume {
        /// Its folder
        folder: PathBuf,
        #[command(flatten)]
        passed: Passed,
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

/// How a study is to differ from its file.
#[derive(Debug, Clone, Copy)]
struct Form {
    blocks: Option<u32>,
    quick: bool,
}

pub(crate) fn main(action: &StudyAction) -> Result<u8, Failure> {
    match action {
        StudyAction::Plan { study: file, blocks, quick } => {
            let form = Form { blocks: *blocks, quick: *quick };
            let (_, files) = collections::files_of(file)?;
            one_after_another(&files, |file| plan(file, form))
        }
        StudyAction::Run { study: file, folder, blocks, quick, passed } => {
            let form = Form { blocks: *blocks, quick: *quick };
            let path = folder.clone().unwrap_or_else(|| file.file_stem().map_or_else(PathBuf::new, PathBuf::from));
            let begun = begin(file, &path, form)?;
            one_after_another(&begun, |(folder, study)| go_on(folder, study, Going::listed(passed)))
        }
        StudyAction::Resume { folder, passed } => {
            let (_, folders) = collections::folders_of(folder)?;
            one_after_another(&folders, |folder| {
                let (folder, study) = Folder::open(folder)?;
                go_on(&folder, &study, Going::listed(passed))
            })
        }
        StudyAction::Show { folder, json } => {
            let (_, folders) = collections::folders_of(folder)?;
            one_after_another(&folders, |folder| show(folder, *json))
        }
    }
}

/// Does something with each, until one does not end well.
fn one_after_another<T>(all: &[T], mut each: impl FnMut(&T) -> Result<u8, Failure>) -> Result<u8, Failure> {
    for one in all {
        match each(one)? {
            0 => {}
            code => return Ok(code),
        }
    }
    Ok(0)
}

/// The folders of a study, or of those of a collection, with the studies in them; nothing is made
/// while one of them cannot be run.
fn begin(file: &Path, path: &Path, form: Form) -> Result<Vec<(Folder, Study)>, Failure> {
    let (collection, files) = collections::files_of(file)?;
    let mut studies = Vec::new();
    for file in &files {
        let (study, job) = read(file, form)?;
        cost::of(&study, &lay_out(&study)?, &job)?;
        studies.push((study, job));
    }
    let folders = match &collection {
        None => vec![path.to_owned()],
        Some(collection) => collections::begin(path, collection)?,
    };
    let begin = |((study, job), folder): ((Study, String), &PathBuf)| Ok((Folder::begin(folder, &study, &job)?, study));
    studies.into_iter().zip(&folders).map(begin).collect()
}

fn plan(file: &Path, form: Form) -> Result<u8, Failure> {
    let (study, job) = read(file, form)?;
    announce(&study, &job)
}

/// Says what a study would run.
fn announce(study: &Study, job: &str) -> Result<u8, Failure> {
    let design = lay_out(study)?;
    let cost = cost::of(study, &design, job)?;
    output::print(&(describe_design(study, &design) + &cost.describe()))?;
    Ok(0)
}

fn show(folder: &Path, json: bool) -> Result<u8, Failure> {
    let (folder, study) = Folder::open(folder)?;
    let design = lay_out(&study)?;
    let analysis = analysis(&folder, &study, &design);
    match json {
        true => output::print(&(folder::to_json(&analysis) + "\n"))?,
        false => output::print_verdicts(&describe_results(&study, &design, &analysis, &Rules::default()))?,
    }
    Ok(0)
}

/// What the user allows of a study as it goes on.
#[derive(Clone, Copy)]
struct Going<'a> {
    passed: &'a Passed,
    /// Whether the database is told of it.
    is_listed: bool,
}

impl Going<'_> {
    fn listed(passed: &Passed) -> Going<'_> {
        Going { passed, is_listed: true }
    }
}

fn go_on(folder: &Folder, study: &Study, going: Going<'_>) -> Result<u8, Failure> {
    let _lock = folder.lock()?;
    let design = lay_out(study)?;
    let job = folder.job()?;
    let cost = cost::of(study, &design, &job)?;
    eprint!("{}{}", describe_design(study, &design), cost.describe());
    // Beyond this point nothing decides any more which trials there may be, or in which order.
    let running = Running { folder, study, design: &design, job: &job, cost: &cost, passed: going.passed };
    // From here on a signal ends what is going on, and what was set up is taken down.
    iolab_process::count_signals();
    let is_left = next(study, &design, &folder.results(study, &design)).is_some();
    let is_whole = if is_left { hooks::around(study, || running.run())? } else { true };
    let analysis = analysis(folder, study, &design);
    folder.keep_analysis(&analysis)?;
    if going.is_listed {
        crate::database::keep_study(folder.path());
    }
    output::print_verdicts(&describe_results(study, &design, &analysis, &Rules::default()))?;
    if is_whole {
        let path = folder.path().display();
        eprintln!("iolab: for the whole report, with figures: iolab report {path} -o {path}.html");
        return Ok(0);
    }
    eprintln!("iolab: interrupted; go on with: iolab study resume {}", folder.path().display());
    Ok(INTERRUPTED)
}

/// The study of a file and the text of its job.
fn read(path: &Path, form: Form) -> Result<(Study, String), Failure> {
    let place = path.display();
    let text = iolab_bounded_read::read_text(path, STUDY_FILE)
        .map_err(|error| Failure::mistake(format!("iolab: {place}: {error}")))?;
    let mut study = iolab_study::read(&text).map_err(|error| mistake(path, &error))?;
    if form.quick {
        study = study.quickened().map_err(|error| mistake(path, &error))?;
    }
    if let Some(blocks) = form.blocks {
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
    // A warm-up is looked for in intervals: the usual ones, a second long, say little of a short
    // trial.
    let says_interval = job.lines().any(|line| line.split('=').next().is_some_and(|name| name.trim() == "interval"));
    if study.trims_warm_up && !study.sets("interval") && !says_interval {
        study.settings.push(Setting { option: "interval".to_owned(), value: "100ms".to_owned() });
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
