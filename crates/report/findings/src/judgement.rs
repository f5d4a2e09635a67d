//! The judgement of a recording: every rule applied to it, and what they find put in order.

use iolab_order::Arrange;
use iolab_recording::{Finding, Recording, Severity};

use crate::facts::Facts;
use crate::many_hosts::{BETWEEN_HOSTS, machine_words, one_of_many};
use crate::rules::RuleMatch;
use crate::table::{RULES, Rule};

/// What must be known about the figures of a recording, the most severe first; depends on the
/// recording alone. In a run of several hosts each machine is judged by itself, because processors
/// and page caches are not shared; its findings contain its name. Then hosts are compared.
pub fn find(recording: &Recording) -> Vec<Finding> {
    if !recording.has_several_hosts() {
        return find_on_one(recording);
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (hosts, part) in recording.machine_parts() {
        for mut finding in find_on_one(&part) {
            finding.evidence = format!("{}: {}", machine_words(&hosts, APART), finding.evidence);
            findings.push(finding);
        }
    }
    let mut findings = one_of_many(findings, APART);
    findings.extend(BETWEEN_HOSTS.iter().flat_map(|rule| rule.findings(recording)));
    findings.arrange_by_key(|finding| finding.severity);
    findings
}

fn find_on_one(recording: &Recording) -> Vec<Finding> {
    let facts = Facts::new(recording);
    let made = RULES.iter().flat_map(|rule| gathered((rule.find)(&facts)).into_iter().map(|seen| finding(rule, seen)));
    let mut findings: Vec<Finding> = made.collect();
    findings.arrange_by_key(|finding| finding.severity);
    findings
}

/// Most findings of one rule and severity that are listed separately; a run with many stages would
/// otherwise hide the others.
const APART: usize = 3;

/// Merges findings into one if there are more than [`APART`].
fn gathered(seen: Vec<RuleMatch>) -> Vec<RuleMatch> {
    let mut made = Vec::new();
    for severity in [Severity::Invalid, Severity::Warning, Severity::Note] {
        let alike: Vec<RuleMatch> = seen.iter().filter(|one| one.severity == severity).cloned().collect();
        if alike.len() <= APART {
            made.extend(alike);
            continue;
        }
        let mut evidence: Vec<String> = alike.iter().take(APART).map(|one| one.evidence.clone()).collect();
        evidence.push(format!("and {} more of this kind", alike.len() - APART));
        let consequence = alike.first().and_then(|seen| seen.consequence);
        let mut jobs: Vec<String> = alike.into_iter().flat_map(|one| one.jobs).collect();
        jobs.dedup();
        made.push(RuleMatch { severity, evidence: evidence.join("; "), jobs, consequence });
    }
    made
}

fn finding(rule: &Rule, seen: RuleMatch) -> Finding {
    Finding {
        rule: rule.name.to_owned(),
        severity: seen.severity,
        evidence: seen.evidence,
        consequence: seen.consequence.unwrap_or(rule.consequence).to_owned(),
        advice: rule.advice.to_owned(),
        jobs: seen.jobs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_often_is_told_once() {
        let seen = |number: usize| RuleMatch {
            severity: Severity::Invalid,
            evidence: format!("evidence {number}"),
            jobs: vec![format!("job {number}")],
            consequence: None,
        };
        let many = gathered((0..9).map(seen).collect());
        assert_eq!(many.len(), 1);
        assert_eq!(many[0].evidence, "evidence 0; evidence 1; evidence 2; and 6 more of this kind");
        assert_eq!(many[0].jobs.len(), 9);
        assert_eq!(gathered((0..3).map(seen).collect()).len(), 3);
    }
}
