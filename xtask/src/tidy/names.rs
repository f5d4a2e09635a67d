//! Crates, modules and folders are named after what they hold, and a module is `x.rs` with its
//! folder.

use crate::finding::Finding;
use crate::repository::Repository;

/// Names that do not describe the content, so that everything ends up there.
const EMPTY_NAMES: [&str; 12] =
    ["utils", "util", "common", "core", "types", "manager", "imp", "helpers", "helper", "misc", "prelude", "base"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repository.rust_files() {
        // `layers` checks the names of districts.
        let skipped = if file.path.starts_with("crates/") { 2 } else { 0 };
        for part in file.path.split('/').skip(skipped) {
            let name = part.trim_end_matches(".rs");
            if EMPTY_NAMES.contains(&name) {
                findings.push(Finding::new(&file.path, 0, format!("`{name}` does not say what is inside")));
            }
        }
        // There, a file beside the folder would be a separate program.
        let is_beside_programs = file.path.contains("/tests/") || file.path.contains("/examples/");
        if let Some(folder) = file.path.strip_suffix("/mod.rs").filter(|_| !is_beside_programs) {
            findings.push(Finding::new(
                &file.path,
                0,
                format!("call it {folder}.rs: a module is a file and its folder"),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    #[test]
    fn canary() {
        let header = "//! A file with a header.\n";
        let (_folder, tree) = repository(&[
            ("crates/a/common/src/lib.rs", header),
            ("crates/a/src/utils.rs", header),
            ("crates/a/src/commons.rs", header),
            ("crates/a/src/one/mod.rs", header),
            ("crates/a/tests/support/mod.rs", header),
        ]);
        let found: Vec<String> = check(&tree).into_iter().map(|finding| finding.to_string()).collect();
        assert_eq!(
            found,
            [
                "crates/a/common/src/lib.rs: `common` does not say what is inside",
                "crates/a/src/one/mod.rs: call it crates/a/src/one.rs: a module is a file and its folder",
                "crates/a/src/utils.rs: `utils` does not say what is inside",
            ]
        );
    }
}
