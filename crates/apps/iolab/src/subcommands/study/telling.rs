//! The report of a study or a collection, from its folder: as text, or as a page.

use std::path::Path;

use iolab_html::{Digest, Page, StudyReport, collection_page, exemplars, study_page, warning_lines};
use iolab_recording::Recording;
use iolab_statistics::Rules;
use iolab_study::{Analysis, Design, Planned, Step, Study, analyse, missing, tell_results};

use super::collections;
use super::folder::{Folder, to_json};
use crate::exit::Failure;
use crate::recordings;

/// Everything a report of one study is made of, read from its folder.
struct Told {
    folder: String,
    study: Study,
    design: Design,
    analysis: Analysis,
    rules: Rules,
    job: String,
    missing: usize,
    digests: Vec<Digest>,
    exemplars: Vec<(Planned, Recording)>,
}

/// Whether a folder is of a study or of a collection.
pub(crate) fn is_study(path: &Path) -> bool {
    path.is_dir()
}

/// What the study, or each study of the collection, has found so far, as text.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let (_, folders) = collections::folders_of(path)?;
    let told = folders.iter().map(|folder| {
        let told = Told::read(folder)?;
        let warnings = warning_lines(&told.digests);
        Ok(tell_results(&told.study, &told.design, &told.analysis, &told.rules, &warnings))
    });
    Ok(told.collect::<Result<Vec<String>, Failure>>()?.join("\n"))
}

/// The same for programs: the analysis of a study, or those of a collection in a list.
pub(crate) fn json(path: &Path) -> Result<String, Failure> {
    let (collection, folders) = collections::folders_of(path)?;
    let told: Vec<Told> = folders.iter().map(|folder| Told::read(folder)).collect::<Result<_, Failure>>()?;
    let analyses: Vec<&Analysis> = told.iter().map(|told| &told.analysis).collect();
    let text = match (&collection, analyses.as_slice()) {
        (None, [analysis]) => to_json(analysis),
        (_, analyses) => to_json(&analyses),
    };
    Ok(text + "\n")
}

/// The same as a page.
pub(crate) fn page(path: &Path) -> Result<Page, Failure> {
    let (collection, folders) = collections::folders_of(path)?;
    let told: Vec<Told> = folders.iter().map(|folder| Told::read(folder)).collect::<Result<_, Failure>>()?;
    let reports: Vec<StudyReport<'_>> = told.iter().map(Told::report).collect();
    Ok(match (&collection, reports.as_slice()) {
        (None, [report]) => study_page(report),
        (Some(collection), reports) => collection_page(collection, reports),
        (None, _) => unreachable!("a folder without a collection is one study's"),
    })
}

impl Told {
    fn read(path: &Path) -> Result<Told, Failure> {
        let (folder, study) = Folder::open(path)?;
        let design = super::lay_out(&study)?;
        let rules = Rules::default();
        let mut digests = Vec::new();
        // One recording after the other: all of them at once may not fit into memory.
        let results = folder.results_seen(&study, &design, &mut |planned, recording| {
            if planned.level.is_none() {
                with_findings(recording);
                digests.push(Digest::of(planned, recording));
            }
        });
        let missing = missing(&study, &design, &results).count();
        let analysis = analyse(&study, &design, &results, &rules);
        let exemplars = exemplars(&study, &design, &analysis, &rules);
        let load = |planned: Planned| {
            Some((planned, recordings::load(&folder.recording_of(&Step::Trial(planned))).ok()?.recording))
        };
        let exemplars = exemplars.into_iter().filter_map(load).collect();
        let job = folder.job()?;
        Ok(Told {
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

/// Recordings of older versions have no findings in them.
pub(crate) fn with_findings(recording: &mut Recording) {
    if recording.findings.is_empty() {
        recording.findings = iolab_findings::find(recording);
    }
}
