//! Crates on the data's way that turn values into values: they do no I/O, read no clock and no environment.
//!
//! Found by words in the source, tests left out: what a type is called is not hidden by an alias in practice.

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};
use crate::rust_text::{is_word, line_of, mask, without_test_modules};

/// Folders below `crates/`.
const PURE: [&str; 17] = [
    "units",
    "options",
    "ssd_timing",
    "plan",
    "histogram",
    "statistics",
    "recording",
    "study",
    "jobfile",
    "workload",
    "resolve",
    "report",
    "page",
    "comparison",
    "findings",
    "block_columns",
    "figures",
];

/// What they must not name, and what to do instead.
const FORBIDDEN: [(&str, &str); 11] = [
    ("std::fs", "take text or facts from the caller"),
    ("std::net", "no network here"),
    ("std::process", "no processes here"),
    ("std::env", "take the value from the caller"),
    ("std::thread", "threads belong to the runner"),
    ("std::io::stdin", "take the text from the caller"),
    ("std::io::stdout", "return the text"),
    ("std::io::stderr", "return the text"),
    ("Instant", "take times from the caller"),
    ("SystemTime", "take times from the caller"),
    ("File::open", "take text or facts from the caller"),
];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let is_pure = |file: &&TextFile| {
        file.crate_folder().is_some_and(|folder| PURE.contains(&folder))
            && file.path.contains("/src/")
            && !file.path.ends_with("/tests.rs")
            && !file.path.contains("/tests/")
    };
    repository.rust_files().filter(is_pure).flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Finding> {
    let code = without_test_modules(&mask(&file.text));
    let bytes = code.as_bytes();
    let mut findings = Vec::new();
    for (word, advice) in FORBIDDEN {
        for (at, _) in code.match_indices(word) {
            let before = at.checked_sub(1).map(|at| bytes[at]);
            let after = bytes.get(at + word.len()).copied();
            if !before.is_some_and(is_word) && !after.is_some_and(is_word) {
                let what = format!("`{word}` in a crate that turns values into values: {advice}");
                findings.push(Finding::new(&file.path, line_of(&code, at), what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    fn count(path: &str, text: &str) -> usize {
        let (_folder, tree) = repository(&[(path, text)]);
        check(&tree).len()
    }

    #[test]
    fn canary() {
        for (path, text, expected) in [
            ("crates/plan/src/lib.rs", "use std::fs;\n", 1),
            ("crates/report/src/a/b.rs", "fn f() { std::time::Instant::now(); std::fs::read(p) }\n", 2),
            ("crates/resolve/src/lib.rs", "fn f() -> std::fmt::Result { std::env::var(x) }\n", 1),
            ("crates/runner/src/lib.rs", "use std::fs;\n", 0),
            ("crates/plan/src/lib.rs", "// std::fs\nuse std::fmt;\nstruct Instantly;\n", 0),
            ("crates/plan/src/lib.rs", "#[cfg(test)]\nmod tests {\n use std::fs;\n}\n", 0),
            ("crates/plan/tests/a.rs", "use std::fs;\n", 0),
        ] {
            assert_eq!(count(path, text), expected, "{path}: {text}");
        }
    }
}
