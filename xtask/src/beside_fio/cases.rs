//! The compared jobs: every asynchronous and synchronous interface, every direction, and the
//! options that change the load.
//!
//! A case consists only of fio's own command-line options, so that both programs get the same job.

/// One job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// What the tables call it.
    pub(super) name: String,
    /// Its options, without target, size and time.
    pub(super) options: Vec<String>,
    /// Directions with operations: fio's JSON names.
    pub(super) directions: &'static [&'static str],
}

const READ: &[&str] = &["read"];
const WRITE: &[&str] = &["write"];
const BOTH: &[&str] = &["read", "write"];

const ENGINES: [(&str, u32); 5] = [("psync", 1), ("libaio", 1), ("libaio", 32), ("io_uring", 1), ("io_uring", 32)];
const PATTERNS: [(&str, &[&str]); 5] =
    [("randread", READ), ("randwrite", WRITE), ("read", READ), ("write", WRITE), ("randrw", BOTH)];
const BATCHES: &str = "--rw=randread --bs=4k --iodepth_batch=16 --iodepth_batch_complete_min=16";
/// Name, engine, depth, what else.
const OTHERS: [(&str, &str, u32, &str, &[&str]); 9] = [
    ("one by one", "libaio", 32, "--rw=randread --bs=4k --iodepth_batch_complete_max=1", READ),
    ("one by one", "io_uring", 32, "--rw=randread --bs=4k --iodepth_batch_complete_max=1", READ),
    ("in batches", "libaio", 32, BATCHES, READ),
    ("in batches", "io_uring", 32, BATCHES, READ),
    ("bssplit", "libaio", 16, "--rw=randread --bssplit=4k/50:16k/30:64k/20", READ),
    ("zipf", "libaio", 16, "--rw=randread --bs=4k --random_distribution=zipf:1.1", READ),
    ("rate_iops=2000", "libaio", 16, "--rw=randread --bs=4k --rate_iops=2000", READ),
    ("rate_iops=1000", "psync", 1, "--rw=randwrite --bs=4k --rate_iops=1000", WRITE),
    ("fsync=8", "psync", 1, "--rw=randwrite --bs=4k --fsync=8", WRITE),
];

/// All cases, or a few that show that the tool works.
pub(super) fn all(small: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (engine, depth) in ENGINES {
        for (pattern, directions) in PATTERNS {
            let options = format!("--rw={pattern} --bs=4k");
            cases.push(case(&format!("{engine} depth {depth} {pattern}"), engine, depth, &options, directions));
        }
    }
    for (what, engine, depth, options, directions) in OTHERS {
        let pattern = options.split(['=', ' ']).nth(1).unwrap_or_default();
        let name = format!("{engine} depth {depth} {pattern} {what}");
        cases.push(case(&name, engine, depth, options, directions));
    }
    if small {
        cases.retain(|case| ["psync depth 1 randread", "libaio depth 32 randrw"].contains(&case.name.as_str()));
    }
    cases
}

fn case(name: &str, engine: &str, depth: u32, options: &str, directions: &'static [&'static str]) -> Case {
    let mut words = vec![format!("--ioengine={engine}"), format!("--iodepth={depth}"), "--direct=1".to_owned()];
    if depth > 1 && !options.contains("--iodepth_batch=") {
        // fio's default, given explicitly because iolab's differs: batches would be another load.
        words.push("--iodepth_batch=1".to_owned());
    }
    words.extend(options.split(' ').map(str::to_owned));
    Case { name: name.to_owned(), options: words, directions }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_small_ones_are_there() {
        let mut names: Vec<String> = all(false).into_iter().map(|case| case.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all(false).len());
        assert_eq!(all(true).len(), 2);
    }
}
