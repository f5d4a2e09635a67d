//! Links of the documentation lead somewhere: relative links to files and headings, and paths in
//! backticks.
//!
//! Links to other sites are not followed: the checks need no network.

use std::path::{Component, Path, PathBuf};

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};
use crate::rust_text::line_of;

/// A path in backticks that starts with one of these must exist.
const OWN_FOLDERS: [&str; 9] = ["crates/", "xtask/", "docs/", "fuzz/", "testkit/", "ci/", ".ci/", "jobs/", "benches/"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let pages = repository.files.iter().filter(|file| file.is_markdown());
    pages.flat_map(|page| [check_links(repository, page), check_paths(repository, page)].concat()).collect()
}

fn check_links(repository: &Repository, page: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, _) in page.text.match_indices("](") {
        let Some(target) = page.text[at + 2..].split_once(')').map(|(target, _)| target) else { continue };
        if target.contains("://") || target.starts_with("mailto:") || target.contains(char::is_whitespace) {
            continue;
        }
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        let path = if file.is_empty() { page.path.clone() } else { beside(&page.path, file) };
        let problem = if !repository.has(&path) {
            Some(format!("link to {target}, which does not exist"))
        } else if !heading.is_empty() && !has_heading(repository.text(&path).unwrap_or_default(), heading) {
            Some(format!("link to {target}: {path} has no such heading"))
        } else {
            None
        };
        findings.extend(problem.map(|what| Finding::new(&page.path, line_of(&page.text, at), what)));
    }
    findings
}

fn check_paths(repository: &Repository, page: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in page.text.lines().enumerate() {
        for word in line.split('`').skip(1).step_by(2) {
            let is_pattern =
                word.contains(|character: char| "*<{ …".contains(character) || character.is_ascii_uppercase());
            let is_ours = OWN_FOLDERS.iter().any(|folder| word.starts_with(folder));
            if is_ours && !is_pattern && !repository.has(word) {
                findings.push(Finding::new(&page.path, number + 1, format!("`{word}` does not exist")));
            }
        }
    }
    findings
}

/// `target` as seen from the folder of `page`.
fn beside(page: &str, target: &str) -> String {
    let mut path = PathBuf::new();
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    for component in folder.join(target).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path.to_string_lossy().into_owned()
}

/// Whether a page has the heading that `anchor` names, in the spelling that forges use.
fn has_heading(text: &str, anchor: &str) -> bool {
    let slug = |line: &str| -> String {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    #[test]
    fn canary() {
        let (_folder, tree) = repository(&[
            (
                "docs/a.md",
                "[up](../README.md) [self](#my-own-part) [gone](gone.md) [part](../README.md#no)\n# My own part\n",
            ),
            (
                "README.md",
                "[a](docs/a.md#my-own-part) [web](https://example.org/x)\nIn `crates/gone/src` and `docs/a.md`.\n",
            ),
        ]);
        let findings: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(
            findings,
            [
                "README.md:2: `crates/gone/src` does not exist",
                "docs/a.md:1: link to gone.md, which does not exist",
                "docs/a.md:1: link to ../README.md#no: README.md has no such heading",
            ]
        );
    }
}
