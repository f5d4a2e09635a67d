//! Findings of one run or of many: each once, the gravest first, with how many trials share it.

use iolab_recording::{Finding, Severity};
use maud::{Markup, html};

use crate::frame::{counted, details, name};

/// One finding with where it was made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gathered {
    pub(crate) finding: Finding,
    /// What each run that has it saw: the run's name and the evidence.
    pub(crate) seen: Vec<(String, String)>,
    /// How many runs there are.
    pub(crate) of: usize,
}

/// Runs in which the same rule found something of the same gravity share a finding: its words are
/// those of the first, the evidence is of each.
pub(crate) fn gather<'a>(runs: impl ExactSizeIterator<Item = (String, &'a [Finding])>) -> Vec<Gathered> {
    let of = runs.len();
    let mut all: Vec<Gathered> = Vec::new();
    for (run, findings) in runs {
        for finding in findings {
            let is_same = |other: &&mut Gathered| {
                let other = &other.finding;
                (&other.rule, other.severity) == (&finding.rule, finding.severity)
            };
            let seen = (run.clone(), finding.evidence.clone());
            match all.iter_mut().find(is_same) {
                Some(gathered) => gathered.seen.push(seen),
                None => all.push(Gathered { finding: finding.clone(), seen: vec![seen], of }),
            }
        }
    }
    all.sort_by(|one, other| (one.finding.severity, other.seen.len()).cmp(&(other.finding.severity, one.seen.len())));
    all
}

/// Findings about all runs together; they stand before those of single runs.
pub(crate) fn of_all(findings: &[Finding]) -> Vec<Gathered> {
    let alone = |finding: &Finding| Gathered {
        finding: finding.clone(),
        seen: vec![("all trials".to_owned(), finding.evidence.clone())],
        of: 1,
    };
    findings.iter().map(alone).collect()
}

/// More than these pieces of evidence are not printed.
const MOST_EVIDENCE: usize = 50;

pub(crate) fn markup(findings: &[Gathered]) -> Markup {
    let (notes, grave): (Vec<&Gathered>, Vec<&Gathered>) =
        findings.iter().partition(|gathered| gathered.finding.severity == Severity::Note);
    html! {
        h3 { "What to know before reading the figures" }
        @if !grave.is_empty() { (list(&grave)) }
        @if !notes.is_empty() { (details(&counted(notes.len(), "note", "notes"), &list(&notes))) }
    }
}

fn list(findings: &[&Gathered]) -> Markup {
    html! { ul.findings { @for gathered in findings { li class=(class(gathered.finding.severity)) { (one(gathered)) } } } }
}

fn one(gathered: &Gathered) -> Markup {
    let finding = &gathered.finding;
    let runs = gathered.runs();
    html! {
        p {
            strong.severity { (severity(finding.severity)) } " "
            (name(&finding.consequence)) " "
            span.weak { "(" code { (finding.rule) }
                @if gathered.of > 1 { ", in " (runs) " of " (counted(gathered.of, "trial", "trials")) }
                @if !finding.jobs.is_empty() { ", " @if finding.jobs.len() == 1 { "job " } @else { "jobs " } (name(&finding.jobs.join(", "))) }
                ")" }
        }
        p { "Seen: " (name(&gathered.seen[0].1))
            @if gathered.of > 1 { span.weak { " (" (name(&gathered.seen[0].0)) ")" } } }
        p { "What to do: " (name(&finding.advice)) }
        @if gathered.differs() { (details("What the other trials saw", &evidence(gathered))) }
    }
}

fn evidence(gathered: &Gathered) -> Markup {
    let shown = gathered.seen.len().min(MOST_EVIDENCE);
    html! {
        ul {
            @for (run, evidence) in &gathered.seen[1..shown] { li { (name(run)) ": " (name(evidence)) } }
            @if gathered.seen.len() > shown { li { "and " (gathered.seen.len() - shown) " more" } }
        }
    }
}

impl Gathered {
    fn runs(&self) -> usize {
        let mut runs: Vec<&str> = self.seen.iter().map(|(run, _)| run.as_str()).collect();
        runs.sort_unstable();
        runs.dedup();
        runs.len()
    }

    /// Whether what runs saw is not one text.
    fn differs(&self) -> bool {
        self.seen.iter().any(|(_, evidence)| *evidence != self.seen[0].1)
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Invalid => "Invalid:",
        Severity::Warning => "Warning:",
        Severity::Note => "Note:",
    }
}

fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Invalid => "invalid",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// Texts that several runs say, each once, the most frequent first.
pub(crate) fn repeated<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut all: Vec<(&str, usize)> = Vec::new();
    for text in texts {
        match all.iter_mut().find(|entry| entry.0 == text) {
            Some(entry) => entry.1 += 1,
            None => all.push((text, 1)),
        }
    }
    all.sort_by_key(|entry| std::cmp::Reverse(entry.1));
    all
}
