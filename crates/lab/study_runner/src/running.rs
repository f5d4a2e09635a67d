//! Runs a study from its folder to its results.

use std::path::Path;

use iolab_activity::Failure;
use iolab_archive::database;
use iolab_pipeline::Pipeline;
use iolab_statistics::DecisionRules;
use iolab_study::{Analysis, Design, Study, analyse, describe_design, next};
use iolab_text::counted;

use crate::begun::BegunStudy;
use crate::folder::Folder;
use crate::place::{Permissions, Place};
use crate::reading::lay_out;
use crate::trials::Running;
use crate::{cost, folder, hooks, report};

/// Runs studies.
pub struct StudyRunner<'a> {
    /// Plans the trials; its console receives messages.
    pub pipeline: Pipeline<'a>,
    /// What the trials may do.
    pub permissions: &'a Permissions,
    /// Whether the study is added to the database.
    pub is_listed: bool,
}

/// How the run of a study ended.
#[derive(Debug)]
pub struct StudyEnd {
    /// What it has found so far, as text.
    pub results: String,
    /// Whether all its trials were run; if not, the user ended it.
    pub is_whole: bool,
}

impl StudyRunner<'_> {
    /// Says what a study would run, how long that takes and how much it writes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn announcement(&self, study: &Study, job: &str) -> Result<String, Failure> {
        let design = lay_out(study)?;
        let cost = cost::of(&self.pipeline, &Place::of(study, self.permissions), study, &design, job)?;
        Ok(describe_design(study, &design) + &cost.describe())
    }

    /// Makes the folder of a study that can be run.
    ///
    /// # Errors
    /// What is wrong with the study; or the folder holds something else, or cannot be made.
    pub fn begin(&self, path: &Path, study: Study, job: &str) -> Result<BegunStudy, Failure> {
        let place = Place::of(&study, self.permissions);
        let cost = cost::of(&self.pipeline, &place, &study, &lay_out(&study)?, job)?;
        BegunStudy::new(path, study, job, cost)
    }

    /// Runs what is missing of a study.
    ///
    /// # Errors
    /// A trial failed, or the study cannot be run as it is.
    pub fn go_on(&self, begun: &BegunStudy) -> Result<StudyEnd, Failure> {
        let BegunStudy { folder, study, cost } = begun;
        let _lock = folder.lock()?;
        let design = lay_out(study)?;
        let job = folder.job()?;
        let place = Place::of(study, self.permissions);
        let made;
        let cost = match cost {
            Some(cost) => cost,
            None => {
                made = cost::of(&self.pipeline, &place, study, &design, &job)?;
                &made
            }
        };
        let console = self.pipeline.console;
        console.show(&(describe_design(study, &design) + &cost.describe()));
        // From here on, the trials and their order are fixed.
        let running = Running {
            folder,
            study,
            design: &design,
            job: &job,
            cost,
            place: &place,
            engines: self.pipeline.engines,
            console,
        };
        // From here on, a signal ends the current work, and the set-up is undone.
        iolab_process::count_signals();
        folder.forget_failures(&design)?;
        let before = folder.results(study, &design);
        for (trial, reason) in &before.damaged {
            let name = design.name_of(study, *trial);
            console.note(&format!("warning: block {}, {name}: {reason}", trial.block + 1));
        }
        let is_left = next(study, &design, &before).is_some();
        let is_whole = if is_left { hooks::around(study, || running.run())? } else { true };
        if let failed @ 1.. = folder.failures(&design) {
            let (trials, folder) = (counted(failed as u64, "trial"), folder.path().display());
            console.note(&format!("{trials} could not be set up; to try again: iolab study resume {folder}"));
        }
        let analysis = analysis(folder, study, &design);
        folder.keep_analysis(&analysis)?;
        if self.is_listed {
            database::keep_study(folder.path(), console);
        }
        let results = report::text(folder.path())?;
        Ok(StudyEnd { results, is_whole })
    }
}

/// What the study of a folder has found so far, for programs.
///
/// # Errors
/// The folder cannot be read.
pub fn results_json(folder: &Path) -> Result<String, Failure> {
    let (folder, study) = Folder::open(folder)?;
    let design = lay_out(&study)?;
    Ok(folder::to_json(&analysis(&folder, &study, &design)) + "\n")
}

fn analysis(folder: &Folder, study: &Study, design: &Design) -> Analysis {
    analyse(study, design, &folder.results(study, design), &DecisionRules::default())
}
