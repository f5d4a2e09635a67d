//! What `cargo test` starts for a library: its own tests, and the examples in its documentation.
//!
//! Starting rustdoc takes a tenth of a second even for a library without examples, and a library
//! without tests is compiled a second time for nothing. Such libraries say so in their manifests,
//! and say it no longer when they have some, because nothing would run them.

use std::path::Path;

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};
use crate::rust_text::word_positions;

/// Where the workspace has its libraries.
const FOLDERS: [&str; 2] = ["crates/", "testkit/"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let manifests = repository.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let manifests = manifests.filter(|file| FOLDERS.iter().any(|folder| file.path.starts_with(folder)));
    manifests.flat_map(|manifest| check_library(repository, manifest)).collect()
}

fn check_library(repository: &Repository, manifest: &TextFile) -> Vec<Finding> {
    let sources = Path::new(&manifest.path).with_file_name("src");
    let files = || repository.rust_files().filter(|file| Path::new(&file.path).starts_with(&sources));
    if !files().any(|file| Path::new(&file.path) == sources.join("lib.rs")) {
        return Vec::new();
    }
    let says = |line: &str| manifest.text.lines().any(|found| found == line);
    let mut findings = Vec::new();
    let mut report = |what: &str| findings.push(Finding::new(&manifest.path, 0, what));
    match (says("doctest = false"), files().any(has_example)) {
        (true, true) => report("the documentation has an example that nothing runs: remove `doctest = false`"),
        (false, false) => report("the documentation has no example: say `doctest = false` in [lib]"),
        _ => {}
    }
    // A macro may make tests, too, and then has the word in its name.
    let has_tests =
        |file: &TextFile| ["test", "tests"].iter().any(|word| !word_positions(file.masked(), word).is_empty());
    if says("test = false") && files().any(has_tests) {
        report("the library has tests that nothing runs: remove `test = false`");
    }
    findings
}

/// A block in a comment for documentation that rustdoc would compile, or a page that may have some.
fn has_example(file: &TextFile) -> bool {
    let fences = file.text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?.trim_start().strip_prefix("```")
    });
    let is_compiled = |kind: &str| kind.is_empty() || kind.split(',').any(|word| COMPILED.contains(&word));
    fences.step_by(2).any(is_compiled) || file.text.contains("#[doc = include_str!")
}

/// What rustdoc compiles, besides blocks that say nothing (rustdoc book, documentation tests).
const COMPILED: [&str; 4] = ["rust", "no_run", "should_panic", "compile_fail"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    fn findings(manifest: &str, source: &str) -> usize {
        let (_folder, tree) = repository(&[
            ("crates/base/a/Cargo.toml", manifest),
            ("crates/base/a/src/lib.rs", "//! A library.\n"),
            ("crates/base/a/src/part.rs", source),
            ("crates/base/ab/src/lib.rs", "/// ```\n/// of_another();\n/// ```\n#[test]\nfn a() {}\n"),
        ]);
        check(&tree).len()
    }

    #[test]
    fn canary() {
        let (both, examples, neither) = ("[lib]\n", "[lib]\ntest = false\n", "[lib]\ntest = false\ndoctest = false\n");
        let example = "/// A function:\n/// ```\n/// f();\n/// ```\npub fn f() {}\n";
        let diagram = "//! ```text\n//! a -> b\n//! ```\n";
        let tests = "#[test]\nfn a() {}\n";
        for (manifest, source, expected) in [
            (both, example, 0),
            (both, diagram, 1),
            (both, "#[doc = include_str!(\"a.md\")]\nmod a {}\n", 0),
            (examples, example, 0),
            (neither, example, 1),
            (neither, diagram, 0),
            (neither, tests, 1),
            (neither, "kind::tests!(a);\n", 1),
            (neither, "const A: &str = \"test\";\n", 0),
            (neither, &format!("{example}{tests}"), 2),
        ] {
            assert_eq!(findings(manifest, source), expected, "{manifest}{source}");
        }
    }
}
