//! Findings about several runs that are compared: problems that no single run shows.

use std::collections::BTreeSet;

use iolab_aggregate::ReachedStorage;
use iolab_recording::{Finding, Severity};

/// All rules about several runs.
pub const BETWEEN_RUNS: &[Words] = &[DIFFERENT_TARGETS];

const DIFFERENT_TARGETS: Words = Words {
    name: "different-targets",
    looks_at: "The storage that each engine accessed, and the block devices under the files.",
    consequence: "The runs used different storage, so a difference may come from the storage and not from what you \
        changed.",
    advice: "Use the same disk for all of them. If a kernel device and an address are two names of one disk, nothing \
        is wrong. To compare storage, change nothing else.",
};

/// The storage that the runs of one configuration used: one list for each run.
pub type Reached = BTreeSet<Vec<ReachedStorage>>;

/// Groups configurations that used the same storage: lists of their numbers, in order.
/// Configurations whose storage is not known are left out.
pub fn by_target(reached: &[Reached]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Vec<usize>, Reached)> = Vec::new();
    for (number, own) in reached.iter().enumerate() {
        let known: Reached = own.iter().filter(|targets| !targets.is_empty()).cloned().collect();
        if known.is_empty() {
            continue;
        }
        // Files that are created for each trial have a new name in each.
        match groups.iter_mut().find(|(_, theirs)| !theirs.is_disjoint(&known)) {
            Some((numbers, theirs)) => {
                numbers.push(number);
                theirs.extend(known);
            }
            None => groups.push((vec![number], known)),
        }
    }
    groups.into_iter().map(|(numbers, _)| numbers).collect()
}

/// The finding about named groups, each with the storage of its runs; `changes_more` when more than
/// the storage differs between them.
pub fn different_targets(groups: &[(String, &Reached)], changes_more: bool) -> Finding {
    let evidence: Vec<String> = groups.iter().map(|(name, reached)| format!("{name}: {}", told(reached))).collect();
    Finding {
        rule: DIFFERENT_TARGETS.name.to_owned(),
        severity: if changes_more { Severity::Invalid } else { Severity::Note },
        evidence: evidence.join("; "),
        consequence: DIFFERENT_TARGETS.consequence.to_owned(),
        advice: DIFFERENT_TARGETS.advice.to_owned(),
        jobs: Vec::new(),
    }
}

/// Most targets of a run that are named; further ones are counted.
const MOST_NAMED: usize = 3;

fn names(targets: &[ReachedStorage]) -> String {
    let mut named: Vec<String> = targets.iter().take(MOST_NAMED).map(ReachedStorage::to_string).collect();
    if targets.len() > MOST_NAMED {
        named.truncate(1);
        named.push(format!("{} others", targets.len() - 1));
    }
    named.join(" and ")
}

/// The targets of the first run, and the number of the others.
fn told(reached: &Reached) -> String {
    let mut lists = reached.iter().filter(|targets| !targets.is_empty());
    let first = lists.next().map(|targets| names(targets));
    let more = lists.count();
    let more = if more > 0 {
        format!(" (and {} in other runs)", iolab_text::counted(more as u64, "other target"))
    } else {
        String::new()
    };
    first.unwrap_or_else(|| "not known".to_owned()) + &more
}

/// The fixed texts of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// Its name, as findings carry it.
    pub name: &'static str,
    /// What it checks, in a sentence.
    pub looks_at: &'static str,
    /// The consequence for the figures.
    pub consequence: &'static str,
    /// What to change.
    pub advice: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(runs: &[&[&str]]) -> Reached {
        let target = |name: &&str| ReachedStorage::BlockDevice((*name).to_owned());
        runs.iter().map(|run| run.iter().map(target).collect()).collect()
    }

    #[test]
    fn configurations_with_a_target_in_common_belong_together() {
        let cases: [(&[Reached], &[&[usize]]); 5] = [
            (&[reached(&[&["sda"]]), reached(&[&["sda"]])], &[&[0, 1]]),
            (&[reached(&[&["sda"]]), reached(&[&["sdb"]])], &[&[0], &[1]]),
            // A new loop device for each trial.
            (&[reached(&[&["loop0"], &["loop1"]]), reached(&[&["loop1"], &["loop2"]])], &[&[0, 1]]),
            // Two disks together are not the same as one of them.
            (&[reached(&[&["sda", "sdb"]]), reached(&[&["sda"]])], &[&[0], &[1]]),
            (&[reached(&[&["sda"]]), reached(&[&[]]), Reached::new()], &[&[0]]),
        ];
        for (number, (given, expected)) in cases.iter().enumerate() {
            assert_eq!(by_target(given), *expected, "case {number}");
        }
    }

    #[test]
    fn the_finding_names_both_and_is_grave_where_more_was_changed() {
        let (disk, memory) = (reached(&[&["sda"]]), Reached::from([vec![ReachedStorage::Nothing]]));
        let groups = [("engine=a".to_owned(), &disk), ("engine=b".to_owned(), &memory)];
        let finding = different_targets(&groups, true);
        assert_eq!(finding.evidence, "engine=a: block device sda; engine=b: no storage");
        assert_eq!((finding.severity, finding.rule.as_str()), (Severity::Invalid, "different-targets"));
        assert_eq!(different_targets(&groups, false).severity, Severity::Note);
    }
}
