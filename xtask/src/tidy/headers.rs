//! Every Rust file opens with `//!` and at least a sentence about what it is.

use crate::finding::Finding;
use crate::repository::Repository;

/// Fewer words than this are not informative.
const FEWEST_WORDS: usize = 3;

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    repository
        .rust_files()
        .filter(|file| header(&file.text).split_whitespace().count() < FEWEST_WORDS)
        .map(|file| Finding::new(&file.path, 1, "open the file with `//!`: what it is, guarantees, does not do"))
        .collect()
}

/// The text of the `//!` lines at the top.
pub(super) fn header(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    #[test]
    fn canary() {
        let (_folder, tree) = repository(&[
            ("crates/a/src/lib.rs", "use std::fmt;\n"),
            ("crates/a/src/short.rs", "//! Short.\n"),
            ("crates/a/src/good.rs", "//! What this file is.\n"),
        ]);
        let paths: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["crates/a/src/lib.rs", "crates/a/src/short.rs"]);
    }
}
