//! `iolab study`: the command line of `iolab-study-runner`, which runs one job under several
//! settings, in blocks, and judges the differences.

pub(crate) mod from_words;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use iolab_archive::study_files;
use iolab_outputs::OutputKind;
use iolab_study::Study;
use iolab_study_runner::{
    BegunStudy, Permissions, StudyForm, StudyRunner, begin, default_folder, files_of, folders_of, located, read,
    report, results_json, with_device,
};

use crate::exit::{ExitFailure, INTERRUPTED};
use crate::follower::{Followed, Follower};
use crate::hosts::StudyHostArguments;
use crate::metrics_file::METRICS;
use crate::{output, outputs, pipeline};

/// Options for every trial that the study file cannot hold.
#[derive(Debug, clap::Args)]
pub(crate) struct Passed {
    /// Allow overwriting this device or file, as for `iolab run`; may be repeated
    #[arg(long, value_name = "PATH")]
    allow_destroy: Vec<String>,
    /// Keep the values of ${VARIABLES} in the recordings, as for `iolab run`
    #[arg(long)]
    keep_secrets: bool,
    /// Serve a page that shows each trial while it runs; its address is printed
    #[arg(long)]
    web: bool,
    /// Keep this file up to date with metrics of the trials, in the text form of OpenMetrics
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
}

impl Passed {
    fn shown(&self) -> Shown<'_> {
        Shown { web: self.web, metrics: self.metrics.as_deref() }
    }

    fn permissions(&self) -> Permissions {
        Permissions { allow_destroy: self.allow_destroy.clone(), keep_secrets: self.keep_secrets }
    }
}

/// What to do with studies.
#[derive(Debug, Subcommand)]
pub(crate) enum StudyAction {
    /// Show what a study would run, how long it takes and how much it writes
    Plan {
        /// Study file (TOML), or a TOML file that lists several
        study: PathBuf,
        /// Trials per configuration, overriding the study file
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        blocks: Option<u32>,
        /// Use the quick variant that the study file defines
        #[arg(long)]
        quick: bool,
        /// Use the study's variant for one created device, which is served and attached meanwhile
        #[arg(long, value_name = "NAME")]
        device: Option<String>,
        #[command(flatten)]
        hosts: StudyHostArguments,
    },
    /// Run a study; an interrupted study continues where it stopped
    Run {
        /// Study file (TOML), or a TOML file that lists several
        study: PathBuf,
        /// Folder for the trials; by default the study file's name without `.toml`, in the current
        /// folder, or that name with `.study` behind it where something else is called so
        #[arg(long)]
        folder: Option<PathBuf>,
        /// Trials per configuration, overriding the study file
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        blocks: Option<u32>,
        /// Use the quick variant that the study file defines
        #[arg(long)]
        quick: bool,
        /// Use the study's variant for one created device, which is served and attached meanwhile
        #[arg(long, value_name = "NAME")]
        device: Option<String>,
        #[command(flatten)]
        hosts: StudyHostArguments,
        #[command(flatten)]
        passed: Passed,
    },
    /// Continue an interrupted study, from its folder
    Resume {
        /// Study folder
        folder: PathBuf,
        #[command(flatten)]
        passed: Passed,
    },
    /// Show the results of a study so far
    Show {
        /// Study folder
        folder: PathBuf,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn main(action: &StudyAction) -> Result<u8, ExitFailure> {
    match action {
        StudyAction::Plan { study: file, blocks, quick, device, hosts } => {
            let (collection, files) = files_of(file)?;
            let is_part = collection.is_some();
            let hosts = hosts.read()?;
            let form = StudyForm { blocks: *blocks, quick: *quick, hosts, device: device.clone(), is_part };
            with_device(device.as_deref(), || one_after_another(&files, |file| plan(file, &form)))
        }
        StudyAction::Run { study: file, folder, blocks, quick, device, hosts, passed } => {
            let hosts = hosts.read()?;
            let form = StudyForm { blocks: *blocks, quick: *quick, hosts, device: device.clone(), is_part: false };
            let path = folder.clone().unwrap_or_else(|| unasked_folder(file));
            let permissions = passed.permissions();
            with_device(device.as_deref(), || {
                let begun = begin(&pipeline::pipeline(), file, &path, &form, &permissions)?;
                one_after_another(&begun, |begun| go_on(&runner(&permissions), passed.shown(), begun))
            })
        }
        StudyAction::Resume { folder, passed } => {
            let (_, folders) = folders_of(folder)?;
            one_after_another(&folders, |folder| {
                let begun = BegunStudy::open(folder)?;
                let device = begun.study.served.as_ref().map(|device| device.name.as_str());
                with_device(device, || go_on(&runner(&passed.permissions()), passed.shown(), &begun))
            })
        }
        StudyAction::Show { folder, json } => {
            let (_, folders) = folders_of(folder)?;
            one_after_another(&folders, |folder| show(folder, *json))
        }
    }
}

/// The default folder; prints its name if it is not the usual one.
fn unasked_folder(file: &Path) -> PathBuf {
    let path = default_folder(file);
    if path.file_name() != file.file_stem() {
        let usual = file.file_stem().unwrap_or_default().display();
        eprintln!("iolab: {usual} holds something else than a study; the trials go to {}", path.display());
    }
    path
}

/// Applies `each` to all of them in turn, until one does not end with exit code 0.
fn one_after_another<T>(all: &[T], mut each: impl FnMut(&T) -> Result<u8, ExitFailure>) -> Result<u8, ExitFailure> {
    for one in all {
        match each(one)? {
            0 => {}
            code => return Ok(code),
        }
    }
    Ok(0)
}

fn plan(file: &Path, form: &StudyForm) -> Result<u8, ExitFailure> {
    let (study, job) = read(file, form)?;
    announce(&study, &job).map_err(|failure| located_in(file, &study, failure))
}

/// The failure with its line in the study file.
fn located_in(file: &Path, study: &Study, failure: ExitFailure) -> ExitFailure {
    let ExitFailure { code, message } = failure;
    let kind = iolab_activity::FailureKind::of_exit_code(code.into()).unwrap_or(iolab_activity::FailureKind::Mistake);
    located(file, study, iolab_activity::Failure::report(kind, message)).into()
}

/// Prints what a study would run.
fn announce(study: &Study, job: &str) -> Result<u8, ExitFailure> {
    output::print(&runner(&Permissions::default()).announcement(study, job)?)?;
    Ok(0)
}

fn show(folder: &Path, json: bool) -> Result<u8, ExitFailure> {
    match json {
        true => output::print(&results_json(folder)?)?,
        false => output::print_verdicts(&report::text(folder)?)?,
    }
    Ok(0)
}

/// A runner whose studies are listed in the database.
fn runner(permissions: &Permissions) -> StudyRunner<'_> {
    StudyRunner { pipeline: pipeline::pipeline(), permissions, is_listed: true }
}

/// How the trials are shown while they run.
#[derive(Debug, Clone, Copy)]
struct Shown<'a> {
    web: bool,
    metrics: Option<&'a Path>,
}

fn go_on(runner: &StudyRunner<'_>, shown: Shown<'_>, begun: &BegunStudy) -> Result<u8, ExitFailure> {
    let folder = begun.folder.path();
    let trials = folder.join(study_files::TRIALS);
    let page = shown.web.then(|| Follower::page(Followed::Trials(&trials))).transpose()?;
    let metrics = shown.metrics.map(|path| {
        outputs::beside(false, []).place(path, OutputKind::Report, METRICS)?;
        Follower::metrics(Followed::Trials(&trials), path, false)
    });
    let metrics = metrics.transpose()?;
    let ended = runner.go_on(begun);
    drop((page, metrics));
    let ended = ended?;
    output::print_verdicts(&ended.results)?;
    let path = folder.display();
    if ended.is_whole {
        eprintln!("iolab: full report with figures: iolab report {path} -o {path}.html");
        return Ok(0);
    }
    eprintln!("iolab: interrupted; go on with: iolab study resume {path}");
    Ok(INTERRUPTED)
}
