//! Crates, modules and folders are named after what they hold.

use crate::finding::Finding;
use crate::repository::Repository;

/// Names that say nothing about what is inside, so that everything ends up there.
const EMPTY_NAMES: [&str; 12] =
    ["utils", "util", "common", "core", "types", "manager", "imp", "helpers", "helper", "misc", "prelude", "base"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repository.rust_files() {
        // What a district is called, `layers` says.
        let skipped = if file.path.starts_with("crates/") { 2 } else { 0 };
        for part in file.path.split('/').skip(skipped) {
            let name = part.trim_end_matches(".rs");
            if EMPTY_NAMES.contains(&name) {
                findings.push(Finding::new(&file.path, 0, format!("`{name}` does not say what is inside")));
            }
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
        ]);
        assert_eq!(check(&tree).len(), 2);
    }
}
