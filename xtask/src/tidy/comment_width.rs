//! Comments are wrapped at 100 columns, so that they can be read beside code and in a narrow
//! window.
//!
//! Only lines that begin with a comment are checked. Tables and text between code fences (drawings,
//! layouts, examples) are exempt, and a line of a single word (an address) cannot be wrapped.

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};

/// Columns of a line with its indentation.
const WIDEST: usize = 100;

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    repository.rust_files().flat_map(wide_lines).collect()
}

fn wide_lines(file: &TextFile) -> Vec<Finding> {
    let mut is_fenced = false;
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_fenced = false;
            continue;
        };
        let text = comment.trim_start_matches(['/', '!']).trim();
        if text.starts_with("```") {
            is_fenced = !is_fenced;
        }
        let columns = line.chars().count();
        if columns > WIDEST && !is_fenced && !text.starts_with('|') && text.contains(' ') {
            let what = format!("the comment has {columns} columns: wrap it at {WIDEST}");
            findings.push(Finding::new(&file.path, number, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    fn lines(text: &str) -> Vec<usize> {
        let (_folder, tree) = repository(&[("crates/a/src/lib.rs", text)]);
        check(&tree).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn canary() {
        let words = "word ".repeat(20);
        for marker in ["//", "///", "//!", "    //"] {
            assert_eq!(lines(&format!("//! A file.\n{marker} {words}end\n")), [2], "{marker}");
        }
        // What follows a fence is text again, and so is the next comment after an open one.
        assert_eq!(lines(&format!("//! ```\n//! ```\n//! {words}end\n")), [3]);
        assert_eq!(lines(&format!("//! ```\nfn code() {{}}\n// {words}end\n")), [3]);
    }

    #[test]
    fn what_may_be_wide() {
        let words = "word ".repeat(20);
        let exactly = format!("// {}", "é".repeat(97));
        for text in [
            format!("//! ```text\n//! {words}end\n//! ```\n"),
            format!("/// | a | {words}|\n"),
            format!("// https://example.org/{}\n", "a".repeat(100)),
            format!("let a = \"{words}\"; // code\n"),
            exactly,
        ] {
            assert_eq!(lines(&text), [0; 0], "{text}");
        }
    }
}
