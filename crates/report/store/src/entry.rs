//! Entries: the stored data of a run, a study or a report.

use std::collections::BTreeMap;

use iolab_comparison::{LatencyKind, RunFigure, RunSummary, overview};
use iolab_order::Arrange;
use serde::Serialize;

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A recording.
    Run,
    /// The folder of a study; its trials are runs that have it as their parent.
    Study,
    /// A JSON report of fio.
    Fio,
}

impl EntryKind {
    /// Its word in lists and exports.
    pub fn word(self) -> &'static str {
        match self {
            EntryKind::Run => "run",
            EntryKind::Study => "study",
            EntryKind::Fio => "fio",
        }
    }

    pub(crate) fn from_word(word: &str) -> EntryKind {
        match word {
            "study" => EntryKind::Study,
            "fio" => EntryKind::Fio,
            _ => EntryKind::Run,
        }
    }
}

/// An entry to be added.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// The kind.
    pub kind: EntryKind,
    /// Names of its jobs, or the title of the study.
    pub title: String,
    /// Absolute path of its file or folder.
    pub path: String,
    /// Index of the report in its file, from 0.
    pub part: u32,
    /// The entry of its study.
    pub parent: Option<i64>,
    /// Block in the study, from 0.
    pub block: Option<u32>,
    /// Axes and points in the study.
    pub points: Vec<(String, String)>,
    /// The job files and command line of the run.
    pub job_text: String,
    /// The study's analysis as JSON, as far as it has run.
    pub analysis: Option<String>,
    /// The measured figures.
    pub summary: RunSummary,
}

impl NewEntry {
    /// An entry for a run, titled with the names of its jobs.
    pub fn of_run(kind: EntryKind, path: String, summary: RunSummary) -> NewEntry {
        let names: Vec<&str> = summary.jobs.iter().map(|job| job.name.as_str()).collect();
        NewEntry {
            kind,
            title: names.join(", "),
            path,
            part: 0,
            parent: None,
            block: None,
            points: Vec::new(),
            job_text: String::new(),
            analysis: None,
            summary,
        }
    }

    pub(crate) fn figures(&self) -> Vec<EntryFigure> {
        let jobs = overview(&self.summary).into_iter().map(EntryFigure::of);
        // Figures of the run as a whole have no job; their unit is in the name.
        let whole = self.summary.of_the_run.iter().map(|(name, value)| EntryFigure {
            job: String::new(),
            name: name.clone(),
            latency: None,
            unit: String::new(),
            value: *value,
        });
        jobs.chain(whole).collect()
    }
}

/// One figure of an entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EntryFigure {
    /// The job; empty for all jobs together.
    pub job: String,
    /// Its name.
    pub name: String,
    /// `lat` or `clat`, if it is a latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<String>,
    /// Its unit: `ns`, `B/s`, or empty.
    pub unit: String,
    /// Its value.
    pub value: f64,
}

impl EntryFigure {
    fn of(figure: RunFigure) -> EntryFigure {
        let latency = figure.latency.map(|kind| match kind {
            LatencyKind::Total => "lat".to_owned(),
            LatencyKind::Completion => "clat".to_owned(),
        });
        EntryFigure {
            job: figure.job.unwrap_or_default(),
            name: figure.figure.name(),
            latency,
            unit: figure.figure.unit().to_owned(),
            value: figure.value,
        }
    }
}

/// A stored entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DatabaseEntry {
    /// Its number.
    pub id: i64,
    /// The kind.
    pub kind: EntryKind,
    /// Names of its jobs, or the title of the study.
    pub title: String,
    /// Path of its file or folder.
    pub path: String,
    /// Index of the report in its file, from 0.
    pub part: u32,
    /// The entry of its study.
    pub parent: Option<i64>,
    /// Block in the study, from 0.
    pub block: Option<u32>,
    /// Axes and points in the study.
    pub points: Vec<(String, String)>,
    /// Start, ns since the Unix epoch, if known.
    pub started_unix_ns: Option<u64>,
    /// Length, ns, if known.
    pub elapsed_ns: Option<u64>,
    /// Program and version that made it.
    pub tool: String,
    /// Host, if known.
    pub hostname: Option<String>,
    /// Kernel, if known.
    pub kernel: Option<String>,
    /// CPU, if known.
    pub cpu_model: Option<String>,
    /// The job files and command line of the run.
    pub job_text: String,
    /// Why it does not count.
    pub flaw: Option<String>,
    /// The user's note.
    pub note: String,
    /// The study's analysis as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Options by job.
    pub options: BTreeMap<String, BTreeMap<String, String>>,
    /// Figures by job and name.
    pub figures: Vec<EntryFigure>,
    /// `(rule, consequence)` of its findings.
    pub findings: Vec<(String, String)>,
}

impl DatabaseEntry {
    /// The value of a figure of all jobs together, or of the only job.
    pub fn figure(&self, name: &str) -> Option<&EntryFigure> {
        let mut own = self.figures.iter().filter(|figure| figure.name == name);
        let all = self.figures.iter().find(|figure| figure.name == name && figure.job.is_empty());
        all.or_else(|| own.next().filter(|_| own.next().is_none()))
    }

    /// All values of an option, without duplicates.
    pub fn option_values(&self, name: &str) -> Vec<&str> {
        let mut values: Vec<&str> = self.options.values().filter_map(|own| own.get(name)).map(String::as_str).collect();
        values.arrange();
        values.dedup();
        values
    }
}
