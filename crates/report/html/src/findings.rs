//! Findings of one or more runs: each once, the most severe first, with the number of trials that
//! share it.

use iolab_order::Arrange;
use iolab_recording::{Finding, Severity};
use maud::{Markup, html};

use crate::digest::Digest;
use crate::frame::{counted, details, name};

/// One finding with the runs that have it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gathered {
    pub(crate) finding: Finding,
    /// The name and the evidence of each run that has the finding.
    pub(crate) seen: Vec<(String, String)>,
    /// Number of all runs.
    pub(crate) of: usize,
    /// What a run is called, in singular and plural.
    pub(crate) unit: [&'static str; 2],
}

/// Merges findings of the same rule and severity in several runs: the text is that of the first,
/// the evidence is listed for each.
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
                None => {
                    all.push(Gathered { finding: finding.clone(), seen: vec![seen], of, unit: ["trial", "trials"] })
                }
            }
        }
    }
    all.arrange_by(|one, other| {
        (one.finding.severity, other.seen.len()).cmp(&(other.finding.severity, one.seen.len()))
    });
    all
}

/// Findings about all runs together; they come before those of single runs.
pub(crate) fn of_all(findings: &[Finding]) -> Vec<Gathered> {
    let alone = |finding: &Finding| Gathered {
        finding: finding.clone(),
        seen: vec![("all trials".to_owned(), finding.evidence.clone())],
        of: 1,
        unit: ["trial", "trials"],
    };
    findings.iter().map(alone).collect()
}

/// Most pieces of evidence printed.
const MOST_EVIDENCE: usize = 50;

/// All findings, folded behind one line with their number and the most severe of them. `others` are
/// warnings that do not come from rules.
pub(crate) fn markup(findings: &[Gathered], others: &[&str]) -> Markup {
    let of = |severity: Severity| findings.iter().filter(|one| one.finding.severity == severity).count();
    let counts: Vec<String> = [
        (of(Severity::Invalid), "reason to doubt the figures", "reasons to doubt the figures"),
        (of(Severity::Warning) + others.len(), "warning", "warnings"),
        (of(Severity::Note), "note", "notes"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, one, many)| counted(count, one, many))
    .collect();
    let gravest = findings.first().map_or(Severity::Warning, |one| one.finding.severity);
    let gravest = if others.is_empty() { gravest } else { gravest.min(Severity::Warning) };
    let (notes, grave): (Vec<&Gathered>, Vec<&Gathered>) =
        findings.iter().partition(|gathered| gathered.finding.severity == Severity::Note);
    html! {
        @if !counts.is_empty() {
            details class={ "warnings " (gravest.name()) } {
                summary {
                    strong.severity { (counts.join(", ")) } ": "
                    @for (place, one) in findings.iter().enumerate().take(MOST_NAMED) {
                        @if place > 0 { "; " }
                        (name(one.finding.consequence.trim_end_matches('.')))
                        @if one.of > 1 { " (" (one.runs()) " of " (counted(one.of, one.unit[0], one.unit[1])) ")" }
                    }
                    @if findings.is_empty() { @if let Some(first) = others.first() { (name(first)) } }
                }
                @if !grave.is_empty() { (list(&grave)) }
                @if !others.is_empty() { ul.findings { @for text in others { li.warning { p { (name(text)) } } } } }
                @if !notes.is_empty() { (list(&notes)) }
            }
        }
    }
}

/// Findings of the trials of a study as lines of text, the most severe first: what each means, and
/// how many trials share it.
pub fn warning_lines(digests: &[Digest]) -> Vec<String> {
    let gathered = gather(digests.iter().map(|digest| (String::new(), digest.findings.as_slice())));
    // A trial may have the same finding for several jobs.
    let trials = |one: &Gathered| {
        let has = |digest: &&Digest| digest.findings.iter().any(|other| other.rule == one.finding.rule);
        digests.iter().filter(has).count()
    };
    let line = |one: &Gathered| {
        format!(
            "{} {} ({} of {}; {})",
            severity(one.finding.severity).to_lowercase(),
            one.finding.consequence,
            trials(one),
            counted(one.of, one.unit[0], one.unit[1]),
            one.finding.rule
        )
    };
    gathered.iter().filter(|one| one.finding.severity != Severity::Note).map(line).collect()
}

/// Most findings named in the line.
const MOST_NAMED: usize = 3;

fn list(findings: &[&Gathered]) -> Markup {
    html! { ul.findings { @for gathered in findings { li class=(gathered.finding.severity.name()) { (one(gathered)) } } } }
}

fn one(gathered: &Gathered) -> Markup {
    let finding = &gathered.finding;
    let runs = gathered.runs();
    html! {
        p {
            strong.severity { (severity(finding.severity)) } " "
            (name(&finding.consequence)) " "
            span.weak { "(" code { (finding.rule) }
                @if gathered.of > 1 { ", in " (runs) " of " (counted(gathered.of, gathered.unit[0], gathered.unit[1])) }
                @if !finding.jobs.is_empty() { ", " @if finding.jobs.len() == 1 { "job " } @else { "jobs " } (name(&finding.jobs.join(", "))) }
                ")" }
        }
        p { "Seen: " (name(&gathered.seen[0].1))
            @if gathered.of > 1 { span.weak { " (" (name(&gathered.seen[0].0)) ")" } } }
        p { "What to do: " (name(&finding.advice)) }
        @if gathered.differs() { (details("Findings of other trials", &evidence(gathered))) }
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
        runs.arrange();
        runs.dedup();
        runs.len()
    }

    /// Whether the evidence differs between runs.
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

/// Texts of several runs, without duplicates, the most frequent first.
pub(crate) fn repeated<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut all: Vec<(&str, usize)> = Vec::new();
    for text in texts {
        match all.iter_mut().find(|entry| entry.0 == text) {
            Some(entry) => entry.1 += 1,
            None => all.push((text, 1)),
        }
    }
    all.arrange_by_key(|entry| std::cmp::Reverse(entry.1));
    all
}
