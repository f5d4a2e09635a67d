//! Pure crates, which turn values into values: they do no I/O, and read no clock and no
//! environment.
//!
//! Their Cargo.toml files declare them pure. Violations are found by words in the source, tests
//! left out: in practice, no alias hides the name of a type.

use super::package::Package;
use crate::finding::Finding;
use crate::repository::{Repository, TextFile};
use crate::rust_text::{is_word, line_of, without_test_modules};

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

pub(super) fn check(repository: &Repository, packages: &[Package]) -> Vec<Finding> {
    let sources: Vec<String> =
        packages.iter().filter(|package| package.pure).map(|package| format!("{}/src/", package.folder)).collect();
    let is_pure = |file: &&TextFile| {
        sources.iter().any(|source| file.path.starts_with(source))
            && !file.path.ends_with("/tests.rs")
            && !file.path.contains("/tests/")
    };
    repository.rust_files().filter(is_pure).flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Finding> {
    let code = without_test_modules(file.masked());
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
        let pure = |name: &str, pure: bool| {
            format!("[package]\nname = \"iolab-{name}\"\n[package.metadata.iolab]\npure = {pure}\n")
        };
        let (plan, runner) = (pure("plan", true), pure("runner", false));
        let manifests = [("crates/contract/plan/Cargo.toml", &*plan), ("crates/run/runner/Cargo.toml", &*runner)];
        let (_folder, tree) = repository(&[manifests[0], manifests[1], (path, text)]);
        check(&tree, &super::super::packages(&tree).unwrap()).len()
    }

    #[test]
    fn canary() {
        for (path, text, expected) in [
            ("crates/contract/plan/src/lib.rs", "use std::fs;\n", 1),
            ("crates/contract/plan/src/a/b.rs", "fn f() { std::time::Instant::now(); std::fs::read(p) }\n", 2),
            ("crates/contract/plan/src/lib.rs", "fn f() -> std::fmt::Result { std::env::var(x) }\n", 1),
            ("crates/run/runner/src/lib.rs", "use std::fs;\n", 0),
            ("crates/contract/plan/src/lib.rs", "// std::fs\nuse std::fmt;\nstruct Instantly;\n", 0),
            ("crates/contract/plan/src/lib.rs", "#[cfg(test)]\nmod tests {\n use std::fs;\n}\n", 0),
            ("crates/contract/plan/tests/a.rs", "use std::fs;\n", 0),
        ] {
            assert_eq!(count(path, text), expected, "{path}: {text}");
        }
    }
}
