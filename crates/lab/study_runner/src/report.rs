//! The report of a study or a collection, from its folder: as text, or as a page.

use std::path::Path;

use std::sync::atomic::AtomicU64;

use iolab_activity::{Console, Failure, ProgressLine, ProgressUnit, Silent, watched};
use iolab_archive::recordings;
use iolab_html::{Digest, Page, StudyReport, collection_page, exemplars, study_page, warning_lines};
use iolab_recording::Recording;
use iolab_statistics::DecisionRules;
use iolab_study::{Analysis, Design, Step, Study, TrialId, analyse, describe_results, missing};

use crate::collections;
use crate::folder::{Folder, to_json};

/// The input of a report of one study, read from its folder.
struct StudyMaterial {
    folder: String,
    study: Study,
    design: Design,
    analysis: Analysis,
    rules: DecisionRules,
    job: String,
    missing: usize,
    digests: Vec<Digest>,
    exemplars: Vec<(TrialId, Recording)>,
}

/// Whether a folder is of a study or of a collection.
pub fn is_study(path: &Path) -> bool {
    path.is_dir()
}

/// The results of the study, or of each study of the collection, so far, as text.
///
/// # Errors
/// The folder cannot be read.
pub fn text(path: &Path) -> Result<String, Failure> {
    let (_, folders) = collections::folders_of(path)?;
    let texts = folders.iter().map(|folder| {
        let read = StudyMaterial::read(folder, &Silent)?;
        let warnings = warning_lines(&read.digests);
        Ok(describe_results(&read.study, &read.design, &read.analysis, &read.rules, &warnings))
    });
    Ok(texts.collect::<Result<Vec<String>, Failure>>()?.join("\n"))
}

/// The results as JSON: the analysis of a study, or those of a collection in a list.
///
/// # Errors
/// The folder cannot be read.
pub fn json(path: &Path) -> Result<String, Failure> {
    let (collection, folders) = collections::folders_of(path)?;
    let studies: Vec<StudyMaterial> =
        folders.iter().map(|folder| StudyMaterial::read(folder, &Silent)).collect::<Result<_, Failure>>()?;
    let analyses: Vec<&Analysis> = studies.iter().map(|study| &study.analysis).collect();
    let text = match (&collection, analyses.as_slice()) {
        (None, [analysis]) => to_json(analysis),
        (_, analyses) => to_json(&analyses),
    };
    Ok(text + "\n")
}

/// The results as a page.
///
/// # Errors
/// The folder cannot be read.
pub fn page(path: &Path, console: &dyn Console) -> Result<Page, Failure> {
    let (collection, folders) = collections::folders_of(path)?;
    let studies: Vec<StudyMaterial> =
        folders.iter().map(|folder| StudyMaterial::read(folder, console)).collect::<Result<_, Failure>>()?;
    let reports: Vec<StudyReport<'_>> = studies.iter().map(StudyMaterial::report).collect();
    let what = format!("making the page of {}", path.display());
    Ok(watched(console, what, ProgressUnit::Uncounted, None, &AtomicU64::new(0), || {
        match (&collection, reports.as_slice()) {
            (None, [report]) => study_page(report),
            (Some(collection), reports) => collection_page(collection, reports),
            (None, _) => unreachable!("a folder without a collection is one study's"),
        }
    }))
}

impl StudyMaterial {
    fn read(path: &Path, console: &dyn Console) -> Result<StudyMaterial, Failure> {
        let (folder, study) = Folder::open(path)?;
        let design = crate::reading::lay_out(&study)?;
        let rules = DecisionRules::default();
        let mut digests = Vec::new();
        let what = format!("reading {}", path.display());
        let trials = design.trials.len() as u64;
        let mut progress = ProgressLine::new(console, what, ProgressUnit::Things("trials"), Some(trials));
        let mut read = 0;
        // One recording after the other: all of them at once may not fit into memory.
        let results = folder.results_seen(&study, &design, &mut |planned, recording| {
            read += 1;
            progress.at(read);
            if planned.level.is_none() {
                with_findings(recording);
                digests.push(Digest::of(planned, recording));
            }
        });
        drop(progress);
        let missing = missing(&study, &design, &results).count();
        let what = format!("analysing {}", path.display());
        let analysis = watched(console, what, ProgressUnit::Uncounted, None, &AtomicU64::new(0), || {
            analyse(&study, &design, &results, &rules)
        });
        let exemplars = exemplars(&study, &design, &analysis, &rules);
        let load = |planned: TrialId| {
            Some((planned, recordings::load(&folder.recording_of(&Step::Trial(planned))).ok()?.recording))
        };
        let exemplars = exemplars.into_iter().filter_map(load).collect();
        let job = folder.job()?;
        Ok(StudyMaterial {
            folder: path.display().to_string(),
            study,
            design,
            analysis,
            rules,
            job,
            missing,
            digests,
            exemplars,
        })
    }

    fn report(&self) -> StudyReport<'_> {
        StudyReport {
            study: &self.study,
            design: &self.design,
            analysis: &self.analysis,
            rules: &self.rules,
            job: &self.job,
            folder: &self.folder,
            missing: self.missing,
            digests: &self.digests,
            exemplars: &self.exemplars,
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// Adds findings to recordings of older versions, which have none.
pub fn with_findings(recording: &mut Recording) {
    if recording.findings.is_empty() {
        recording.findings = iolab_findings::find(recording);
    }
}
