//! One public type name, one meaning: a name in two crates makes readers ask which one is meant.
//!
//! The sources of all crates are checked, without tests and private types.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::repository::Repository;
use crate::rust_text::{line_of, without_test_items};

/// Names that may stand in several crates, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("Age", "of a drive: what a configuration asks for, and what the flash model makes of it"),
    ("Completion", "the end of an operation: of a lane, and of an NVMe queue"),
    ("Completions", "a batch of ends of operations: of a lane, and of an NVMe queue"),
    ("Controller", "the NVMe controller: as the driver sees it, and as the device has it"),
    ("DataWindow", "the data of an NVMe command: the host's end and the device's end"),
    ("Direction", "read or write; db_bench also has an order of keys"),
    ("Distribution", "how offsets and how values are spread"),
    ("FileKind", "what a path is: on this machine, and in a trace"),
    ("Interval", "a range of estimates, and a stretch of a run: both are the term of their field"),
    ("Load", "what is run: on a store, and on a timing model"),
    ("Message", "one message of a protocol, each of its own"),
    ("Observer", "a function that is told what a server does"),
    ("Operation", "one operation: of a trace, and on a store"),
    ("Options", "how something is mounted or exported"),
    ("Pattern", "the pattern of accesses: planned, and found in a trace"),
    ("ReadError", "why a file cannot be read"),
    ("Refusal", "why something is refused: a path, and a controller"),
    ("Service", "what serves a protocol, each of its own"),
    ("Settings", "the settings of a run: of a job, and of db_bench"),
    ("Submission", "the beginning of an operation: of a lane, and of an NVMe queue"),
    ("Summary", "the totals at the end of a command"),
    ("ZoneLayout", "the zones of a namespace: as the driver reads them, and as the device has them"),
];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    check_with(repository, ALLOWED)
}

fn check_with(repository: &Repository, allowed: &[(&str, &str)]) -> Vec<Finding> {
    let mut places: BTreeMap<String, BTreeMap<String, (String, usize)>> = BTreeMap::new();
    for file in repository.rust_files() {
        let Some(home) = home(&file.path) else { continue };
        for (name, at) in public_types(&without_test_items(file.masked())) {
            let line = line_of(&file.text, at);
            places.entry(name).or_default().entry(home.clone()).or_insert_with(|| (file.path.clone(), line));
        }
    }
    places.retain(|_, crates| crates.len() > 1);
    let stale: BTreeSet<&str> =
        allowed.iter().map(|(name, _)| *name).filter(|name| !places.contains_key(*name)).collect();
    let mut findings: Vec<Finding> = stale
        .into_iter()
        .map(|name| Finding::new("xtask/src/tidy/type_names.rs", 0, format!("{name} stands in one crate: remove it")))
        .collect();
    for (name, crates) in places.iter().filter(|(name, _)| !allowed.iter().any(|(known, _)| known == name)) {
        let all: Vec<&str> = crates.keys().map(String::as_str).collect();
        let what = format!("{name} is a public type of {}: give each a name of its own", all.join(" and "));
        findings.extend(crates.values().next_back().map(|(path, line)| Finding::new(path, *line, what)));
    }
    findings
}

/// The crate of a source, such as `crates/base/text`; `None` for tests and files outside the
/// crates.
fn home(path: &str) -> Option<String> {
    let (home, source) = path.split_once("/src/")?;
    let is_test = source.starts_with("tests") || source.contains("/tests");
    (home.starts_with("crates/") && !is_test).then(|| home.to_owned())
}

/// Names of public types, with their places.
fn public_types(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for keyword in ["struct", "enum", "trait", "union", "type"] {
        let pattern = format!("pub {keyword} ");
        for (at, _) in code.match_indices(&pattern) {
            let rest = &code[at + pattern.len()..];
            let name: String = rest.chars().take_while(|letter| letter.is_alphanumeric()).collect();
            // A macro's `$name` is none.
            if !name.is_empty() {
                found.push((name, at));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    fn names(files: &[(&str, &str)], allowed: &[(&str, &str)]) -> Vec<String> {
        let (_folder, tree) = repository(files);
        check_with(&tree, allowed).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn canary() {
        let one = ("crates/base/one/src/lib.rs", "pub struct Kind;\npub struct Own;\n");
        let shared = ["Kind is a public type of crates/base/one and crates/base/two: give each a name of its own"];
        for text in ["pub enum Kind {}", "pub trait Kind {}", "pub type Kind = u8;", "pub struct Kind<T>(T);"] {
            assert_eq!(names(&[one, ("crates/base/two/src/deep/a.rs", text)], &[]), shared, "{text}");
        }
        let two = ("crates/base/two/src/lib.rs", "pub enum Kind {}\n");
        assert_eq!(names(&[one, two], &[("Kind", "a reason")]), [""; 0]);
        assert_eq!(names(&[one], &[("Kind", "a reason")]), ["Kind stands in one crate: remove it"]);
    }

    #[test]
    fn what_is_no_second_meaning() {
        let one = ("crates/base/one/src/lib.rs", "pub struct Kind;\n");
        for two in [
            ("crates/base/one/src/other.rs", "pub struct Kind;"),
            ("crates/base/two/src/lib.rs", "pub(crate) struct Kind;\nstruct Kinds;"),
            ("crates/base/two/src/lib.rs", "// pub struct Kind;\npub use iolab_one::Kind;"),
            ("crates/base/two/src/lib.rs", "#[cfg(test)]\nmod tests { pub struct Kind; }"),
            ("crates/base/two/tests/a.rs", "pub struct Kind;"),
            ("testkit/src/lib.rs", "pub struct Kind;"),
        ] {
            assert_eq!(names(&[one, two], &[]), [""; 0], "{two:?}");
        }
    }
}
