//! What `cargo test` starts for a package with a library: its own tests, the examples in its
//! documentation, and the tests of its programs.
//!
//! Starting rustdoc takes a tenth of a second even for a library without examples, and what has no
//! tests is compiled and linked a second time for nothing. Manifests say so, and say it no longer
//! when there are some, because nothing would run them.

use std::path::Path;

use toml::{Table, Value};

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
    let parsed: Table = manifest.text.parse().unwrap_or_default();
    let library = parsed.get("lib").and_then(Value::as_table);
    let mut findings = check_programs(repository, manifest, &parsed);
    let mut report = |what: &str| findings.push(Finding::new(&manifest.path, 0, what));
    match (library.is_some_and(|library| says_no(library, "doctest")), files().any(has_example)) {
        (true, true) => report("the documentation has an example that nothing runs: remove `doctest = false`"),
        (false, false) => report("the documentation has no example: say `doctest = false` in [lib]"),
        _ => {}
    }
    if library.is_some_and(|library| says_no(library, "test")) && files().any(has_tests) {
        report("the library has tests that nothing runs: remove `test = false`");
    }
    findings
}

/// Programs beside a library: their modules belong to it, so that each is one file.
fn check_programs(repository: &Repository, manifest: &TextFile, parsed: &Table) -> Vec<Finding> {
    let package = Path::new(&manifest.path).parent().unwrap_or(Path::new(""));
    let listed: Vec<&Table> =
        parsed.get("bin").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table).collect();
    let is_untested = |source: &Path| {
        let path_of = |program: &Table| program.get("path").and_then(Value::as_str).map(|path| package.join(path));
        listed.iter().any(|program| path_of(program).as_deref() == Some(source) && says_no(program, "test"))
    };
    let is_program = |file: &&TextFile| {
        let path = Path::new(&file.path);
        path == package.join("src/main.rs") || path.parent() == Some(&package.join("src/bin"))
    };
    let check = |file: &TextFile| match (has_tests(file), is_untested(Path::new(&file.path))) {
        (true, true) => Some("has tests that nothing runs: remove `test = false` from its [[bin]]"),
        (false, false) => Some("has no tests: name it in a [[bin]] with `path` and `test = false`"),
        _ => None,
    };
    let programs = repository.rust_files().filter(is_program);
    programs.filter_map(|file| check(file).map(|what| Finding::new(&file.path, 0, what))).collect()
}

fn says_no(target: &Table, key: &str) -> bool {
    target.get(key).and_then(Value::as_bool) == Some(false)
}

/// A macro may make tests, too, and then has the word in its name.
fn has_tests(file: &TextFile) -> bool {
    ["test", "tests"].iter().any(|word| !word_positions(file.masked(), word).is_empty())
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

    #[test]
    fn programs_without_tests_say_so() {
        let program = "[[bin]]\nname = \"a\"\npath = \"src/main.rs\"\n";
        let untested = &format!("{program}test = false\n");
        let (plain, tested) = ("fn main() {}\n", "fn main() {}\n#[test]\nfn a() {}\n");
        for (programs, source, expected) in
            [("", plain, 1), (program, plain, 1), (untested, plain, 0), (program, tested, 0), (untested, tested, 1)]
        {
            let (_folder, tree) = repository(&[
                ("crates/base/a/Cargo.toml", &format!("{programs}[lib]\ndoctest = false\n")),
                ("crates/base/a/src/lib.rs", "//! A library.\n"),
                ("crates/base/a/src/main.rs", source),
            ]);
            assert_eq!(check(&tree).len(), expected, "{programs}{source}");
        }
    }
}
