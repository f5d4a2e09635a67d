//! Where unsafe code is allowed, and that its reason is given. Clippy checks that each block has
//! its `SAFETY:`.

use super::headers::header;
use crate::finding::Finding;
use crate::layers;
use crate::repository::{Repository, TextFile};
use crate::rust_text::{line_of, word_positions};

/// Islands outside the shipped crates; those of crates are listed in their own Cargo.toml files.
const OTHER_ISLANDS: [&str; 2] = ["mpi/src/carrier.rs", "testkit/tests/no_allocation.rs"];

pub(super) fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    let mut islands: Vec<String> = OTHER_ISLANDS.map(str::to_owned).to_vec();
    for package in layers::packages(repository)? {
        islands.extend(package.islands.into_iter().map(|(place, _)| place));
    }
    let mut findings: Vec<Finding> =
        repository.rust_files().flat_map(|file| check_file(file, is_island(&islands, &file.path))).collect();
    let is_gone =
        |place: &&String| place.ends_with(".rs") && place.starts_with("crates/") && repository.text(place).is_none();
    findings.extend(
        islands.iter().filter(is_gone).map(|place| Finding::new(place, 0, "an unsafe island that is not there")),
    );
    Ok(findings)
}

fn is_island(islands: &[String], path: &str) -> bool {
    // A file also covers its submodules.
    let is_below = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    islands.iter().any(|island| path == island || is_below(island.trim_end_matches(".rs")))
}

fn check_file(file: &TextFile, is_island: bool) -> Vec<Finding> {
    let masked = file.masked();
    let mut findings = Vec::new();
    let uses = word_positions(masked, "unsafe");
    let opens_up = masked.find("unsafe_code").filter(|_| !masked.contains("forbid(unsafe_code)"));
    let Some(first) = uses.first().copied().or(opens_up) else { return findings };
    let line = line_of(masked, first);
    if !is_island {
        let what = "unsafe code outside the islands that the Cargo.toml files name";
        findings.push(Finding::new(&file.path, line, what));
    } else if !uses.is_empty() && !says_why(file) {
        let what = "the header must say what this file needs unsafe code for (with that word)";
        findings.push(Finding::new(&file.path, 1, what));
    }
    findings
}

/// The header names the matter, or the attribute does that allows it:
/// `#![allow(unsafe_code, reason = "island: why")]`.
fn says_why(file: &TextFile) -> bool {
    header(&file.text).to_lowercase().contains("unsafe") || file.text.contains("reason = \"island: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    const MEMORY: &str = "[package]\nname = \"iolab-memory\"\n[package.metadata.iolab]\n";

    fn findings(path: &str, text: &str) -> Vec<String> {
        let manifest = format!("{MEMORY}unsafe = \"map memory\"\n");
        let (_folder, tree) = repository(&[("crates/base/memory/Cargo.toml", &manifest), (path, text)]);
        check(&tree).unwrap().into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn canary_outside_an_island() {
        let code = "//! A file with a header.\nfn f() { unsafe { g() } }\n";
        assert!(findings("crates/report/report/src/lib.rs", code)[0].contains("outside the islands"));
        assert!(findings("crates/run/runner/src/hot_loop.rs", code)[0].contains("outside the islands"));
        assert!(findings("crates/base/memory_too/src/lib.rs", code)[0].contains("outside the islands"));
        assert!(findings("xtask/src/a.rs", code)[0].contains("outside the islands"));
        let allowed = "//! A header here.\n#![allow(unsafe_code, reason = \"island: says who\")]\n";
        assert_eq!(findings("crates/contract/plan/src/lib.rs", allowed).len(), 1);
    }

    #[test]
    fn an_island_that_is_gone_is_found() {
        let manifest = format!(
            "{MEMORY}unsafe-files = {{ \"src/gone.rs\" = \"why\" }}
"
        );
        let (_folder, tree) = repository(&[("crates/base/memory/Cargo.toml", &manifest)]);
        assert_eq!(check(&tree).unwrap()[0].path, "crates/base/memory/src/gone.rs");
    }

    #[test]
    fn canary_without_a_why() {
        let code = "fn f() { unsafe { g() } }\n";
        let silent = format!("//! Calls g for you.\n{code}");
        assert!(findings("crates/base/memory/src/a.rs", &silent)[0].contains("what this file needs unsafe code for"));
        let told = format!("//! Calls g. Unsafe because g is a C function.\n{code}");
        assert_eq!(findings("crates/base/memory/src/a.rs", &told), [] as [&str; 0]);
    }

    #[test]
    fn words_in_text_are_not_code() {
        let text = "//! Unsafe is a word.\n// unsafe\nconst A: &str = \"unsafe\";\n";
        assert_eq!(findings("crates/contract/plan/src/a.rs", text), [] as [&str; 0]);
    }
}
