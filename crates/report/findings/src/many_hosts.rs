//! Findings of many hosts that say the same: a list of thousands would hide the others. And the
//! rules about hosts beside one another.

use std::collections::BTreeMap;

use iolab_recording::{Finding, Recording, Severity};

use crate::between::Words;
use crate::rules::{RuleMatch, hosts};

/// The names of the hosts of one machine.
pub(crate) fn machine_words(hosts: &[&str], most: usize) -> String {
    let shown = hosts.iter().take(most).copied().collect::<Vec<_>>().join(", ");
    if hosts.len() > most { format!("{shown} and {} more of its machine", hosts.len() - most) } else { shown }
}

/// A rule about the hosts of a run beside one another.
pub(crate) struct HostsRule {
    pub(crate) words: Words,
    find: fn(&Recording) -> Vec<RuleMatch>,
}

impl HostsRule {
    /// What it finds.
    pub(crate) fn findings(&self, recording: &Recording) -> Vec<Finding> {
        let Words { name, consequence, advice, .. } = self.words;
        let finding = |seen: RuleMatch| Finding {
            rule: name.to_owned(),
            severity: seen.severity,
            evidence: seen.evidence,
            consequence: seen.consequence.unwrap_or(consequence).to_owned(),
            advice: advice.to_owned(),
            jobs: seen.jobs,
        };
        (self.find)(recording).into_iter().map(finding).collect()
    }
}

/// The rules about the hosts of a run.
pub(crate) const BETWEEN_HOSTS: &[HostsRule] = &[HostsRule {
    words: Words {
        name: "slow-host",
        looks_at: "The rate of each host in each job, compared with the median of the hosts that run it.",
        consequence: "One host was much slower than most others, so the sum says less of the storage than of that host.",
        advice: "Run the job on that host alone, and on another. Compare their networks, processors and mount options.",
    },
    find: hosts::slow_host,
}];

/// Makes one finding of those of more than `apart` hosts that differ in their evidence only.
pub(crate) fn one_of_many(findings: Vec<Finding>, apart: usize) -> Vec<Finding> {
    let mut made: Vec<(Finding, usize)> = Vec::new();
    let mut places: BTreeMap<(String, Severity, String), Vec<usize>> = BTreeMap::new();
    for finding in findings {
        let alike = places.entry((finding.rule.clone(), finding.severity, finding.consequence.clone())).or_default();
        match alike.as_slice() {
            [.., last] if alike.len() == apart => {
                let (known, others) = &mut made[*last];
                *others += 1;
                let new = finding.jobs.into_iter().filter(|job| !known.jobs.contains(job));
                known.jobs.extend(new.collect::<Vec<_>>());
            }
            _ => {
                alike.push(made.len());
                made.push((finding, 0));
            }
        }
    }
    let told = |(mut finding, others): (Finding, usize)| {
        if others > 0 {
            finding.evidence += &format!("; and {others} more of this kind");
        }
        finding
    };
    made.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str, host: &str, job: &str) -> Finding {
        Finding {
            rule: rule.to_owned(),
            severity: Severity::Note,
            evidence: format!("{host}: seen"),
            consequence: String::new(),
            advice: String::new(),
            jobs: vec![job.to_owned()],
        }
    }

    #[test]
    fn the_first_hosts_are_listed_and_the_others_counted() {
        let hosts =
            ["a", "b", "c", "d", "e"].map(|host| finding("busy", host, if host == "e" { "second" } else { "first" }));
        let found = one_of_many([finding("short", "a", "first")].into_iter().chain(hosts).collect(), 3);
        let told: Vec<_> = found.iter().map(|finding| finding.evidence.as_str()).collect();
        assert_eq!(told, ["a: seen", "a: seen", "b: seen", "c: seen; and 2 more of this kind"]);
        assert_eq!(found[3].jobs, ["first", "second"]);
        let few = vec![finding("busy", "a", "x"), finding("busy", "b", "x")];
        assert_eq!(one_of_many(few.clone(), 3), few);
    }
}
