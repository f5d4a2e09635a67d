//! `cargo xtask docs`: the pages that are generated from the program's own tables are up to date.
//!
//! The program prints a page with its hidden subcommand `internal-docs PAGE`; this file only compares or writes.
//! It does not know what is in a page.

use std::fs;
use std::process::Command;

use crate::finding::Finding;
use crate::repository::Repository;

/// Page name for `internal-docs`, and where it is kept.
const PAGES: [(&str, &str); 1] = [("options", "docs/reference/options.md")];

/// Findings for pages that differ from what the program prints.
pub(crate) fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    if !can_generate(repository) {
        println!("docs: SKIP: the binary has no subcommand internal-docs yet");
        return Ok(Vec::new());
    }
    let mut findings = Vec::new();
    for (page, path) in PAGES {
        findings.extend(compare(path, repository.text(path), &generate(repository, page)?));
    }
    Ok(findings)
}

/// Writes all pages.
pub(crate) fn write(repository: &Repository) -> Result<(), String> {
    for (page, path) in PAGES {
        let text = generate(repository, page)?;
        let path = repository.root.join(path);
        let folder = path.parent().unwrap_or(&repository.root);
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn can_generate(repository: &Repository) -> bool {
    let mut sources = repository.rust_files().filter(|file| file.path.starts_with("crates/iolab/src/"));
    sources.any(|file| file.text.contains("internal-docs") || file.text.contains("InternalDocs"))
}

fn generate(repository: &Repository, page: &str) -> Result<String, String> {
    let arguments = ["run", "--quiet", "--package", "iolab", "--", "internal-docs", page];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(&repository.root).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("page {page}: {error}"))
}

/// Names the first line that differs.
fn compare(path: &str, kept: Option<&str>, generated: &str) -> Option<Finding> {
    let Some(kept) = kept else {
        return Some(Finding::new(path, 0, "missing: run `cargo xtask docs --write`"));
    };
    if kept == generated {
        return None;
    }
    let same = kept.lines().zip(generated.lines()).take_while(|(a, b)| a == b).count();
    Some(Finding::new(path, same + 1, "out of date: run `cargo xtask docs --write`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canary() {
        assert_eq!(compare("a.md", Some("x\ny\n"), "x\ny\n"), None);
        assert_eq!(compare("a.md", Some("x\ny\n"), "x\nz\n").unwrap().line, 2);
        assert!(compare("a.md", None, "x").unwrap().what.starts_with("missing"));
    }
}
