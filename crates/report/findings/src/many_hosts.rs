//! Findings of many hosts that say the same: a list of thousands would hide the others.

use std::collections::BTreeMap;

use iolab_recording::{Finding, Severity};

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
