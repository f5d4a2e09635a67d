//! The model of a program: a section for each role of files and class of threads.

use std::io::{self, Read};

use iolab_order::Arrange;
use iolab_trace::{Facts, Ordered, Role};

use crate::gather::gather;
use crate::section::Source;
use crate::{Computing, ProcessorLoad, RoleRules, Section, Survey, TraceStretch};

/// A section with less than this share of the transfers, of the bytes and of the syncs is left out.
const LEAST_SHARE: f64 = 0.01;

/// The user's parameters of a model.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// Roles of files whose paths do not show them.
    pub rules: RoleRules,
    /// The stretch to examine; found automatically if absent.
    pub stretch: Option<TraceStretch>,
    /// The number of commits during the trace, according to the program.
    pub commits: Option<u64>,
}

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The trace cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It contains no storage operations.
    #[error("the trace has no reads and writes of files or devices in {0}")]
    Nothing(String),
}

/// The effect of a program on storage.
#[derive(Debug)]
pub struct ProgramModel {
    /// The origin of the trace.
    pub facts: Facts,
    /// The tracer's cost per call, ns; 0 if unknown.
    pub call_cost_ns: f64,
    /// The examined part.
    pub stretch: TraceStretch,
    /// Whether the user gave it.
    pub told_stretch: bool,
    /// The whole trace.
    pub span: TraceStretch,
    /// Operations in the stretch.
    pub operations: u64,
    /// Most syncs first, then most transfers.
    pub sections: Vec<Section>,
    /// Sections that were too small.
    pub left_out: Vec<Section>,
    /// The computing besides the operations; absent if the trace has no processor activity.
    pub computing: Option<Computing>,
    /// Commits for each sync of the first section, if the user gave the commits.
    pub commits_per_sync: Option<f64>,
}

impl ProgramModel {
    /// Builds a model from the first and the second reading of a trace.
    ///
    /// # Errors
    /// The trace cannot be read, or contains no storage operations.
    pub fn of<R: Read>(
        first: &mut Ordered<R>,
        second: &mut Ordered<R>,
        request: &ModelRequest,
    ) -> Result<ProgramModel, ModelError> {
        let survey = Survey::of(first, &request.rules)?;
        let nothing = || ModelError::Nothing("it".to_owned());
        let span = survey.span().ok_or_else(nothing)?;
        let found = survey.busy_stretch().ok_or_else(nothing)?;
        let stretch = request.stretch.unwrap_or(found);
        let call_cost_ns = survey.call_cost_ns(second.reader().facts());
        let (all, operations) = gather(second, &survey, stretch, call_cost_ns)?;
        let reader = second.reader();
        let facts = reader.facts().clone();
        let source = Source { files: reader.files(), stretch, has_durations: facts.has_durations };
        let mut sections: Vec<Section> = all
            .into_iter()
            .filter(|(_, seen)| seen.all_transfers() > 0)
            .map(|((role, class), seen)| Section::of(role, class, seen, &source))
            .collect();
        if sections.is_empty() {
            let range = format!("{:.1} s to {:.1} s of it", seconds(stretch.from_ns), seconds(stretch.until_ns));
            return Err(ModelError::Nothing(range));
        }
        sections.arrange_by(|a, b| {
            (b.syncs_per_s, b.transfers_per_s)
                .partial_cmp(&(a.syncs_per_s, a.transfers_per_s))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        let sum = |of: fn(&Section) -> u64| sections.iter().map(of).sum::<u64>() as f64;
        let sums = [sum(|one| one.seen.all_transfers()), sum(|one| one.seen.bytes()), sum(|one| one.seen.all_syncs())];
        let is_worth = |one: &Section| {
            let parts = [one.seen.all_transfers(), one.seen.bytes(), one.seen.all_syncs()];
            parts.iter().zip(sums).any(|(part, sum)| *part as f64 > LEAST_SHARE * sum)
        };
        let (sections, left_out): (Vec<Section>, Vec<Section>) =
            sections.into_iter().partition(|one| is_worth(one) && one.role != Role::Program);
        // Commits are counted over the whole trace, like the syncs that they are divided by.
        let commits_per_sync = request.commits.zip(sections.first()).and_then(|(commits, first)| {
            let syncs = survey.syncs_of(first.role);
            (syncs > 0).then_some(commits as f64 / syncs as f64)
        });
        let load = second.reader().end().and_then(|end| ProcessorLoad::of(end, stretch));
        let computing = load.map(|load| Computing::of(&load, &sections, leader_of(&sections)));
        let told_stretch = request.stretch.is_some();
        Ok(ProgramModel {
            facts,
            call_cost_ns,
            stretch,
            told_stretch,
            span,
            operations,
            sections,
            left_out,
            computing,
            commits_per_sync,
        })
    }

    /// The processor activity during the stretch.
    pub fn load(&self) -> Option<&ProcessorLoad> {
        self.computing.as_ref().map(|computing| &computing.load)
    }

    /// The section whose syncs are the program's commits, if there is one.
    pub fn leader(&self) -> Option<&Section> {
        leader_of(&self.sections)
    }
}

fn leader_of(sections: &[Section]) -> Option<&Section> {
    sections.first().filter(|first| first.seen.all_syncs() * 10 >= first.seen.all_transfers())
}

/// ns as seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
