//! Links of the documentation lead somewhere: relative links to files and headings, and paths in
//! backticks. Each answer of ARCHITECTURE.md's "Where do I …" names a place.
//!
//! Links to other sites are not followed: the checks need no network.

use std::path::{Component, Path, PathBuf};

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};
use crate::rust_text::line_of;

/// A path in backticks that starts with one of these must exist.
const OWN_FOLDERS: [&str; 10] =
    ["crates/", "mpi/", "xtask/", "docs/", "fuzz/", "testkit/", "ci/", ".ci/", "jobs/", "benches/"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let pages = repository.files.iter().filter(|file| file.is_markdown());
    let mut findings: Vec<Finding> =
        pages.flat_map(|page| [check_links(repository, page), check_paths(repository, page)].concat()).collect();
    findings.extend(check_answers(repository));
    findings
}

/// The answer to where something is must name a file or a folder.
fn check_answers(repository: &Repository) -> Vec<Finding> {
    const PAGE: &str = "ARCHITECTURE.md";
    const HEADING: &str = "\n## Where do I …\n";
    let text = repository.text(PAGE).unwrap_or_default();
    let Some((before, rest)) = text.split_once(HEADING) else { return Vec::new() };
    let section = rest.split_once("\n## ").map_or(rest, |(section, _)| section);
    let mut findings = Vec::new();
    for (at, _) in section.match_indices("\n**") {
        let question = section[at + 1..].lines().next().unwrap_or_default();
        let answer = section[at + 1..].split("\n\n").next().unwrap_or_default();
        let names_path = answer.split('`').skip(1).step_by(2).any(|word| repository.has(word));
        if !names_path && !answer.contains("](") {
            let question = question.split("**").nth(1).unwrap_or_default();
            let what = format!("`Where do I {question}` names no file and no folder");
            let place = before.len() + HEADING.len() + at + 1;
            findings.push(Finding::new(PAGE, line_of(text, place), what));
        }
    }
    findings
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
            // A file that is named without its folders is the end of some path.
            let is_source = word.ends_with(".rs") && !is_ours;
            let missing = (is_ours && !repository.has(word)) || (is_source && !has_ending(repository, word));
            if missing && !is_pattern {
                findings.push(Finding::new(&page.path, number + 1, format!("`{word}` does not exist")));
            }
        }
    }
    findings
}

fn has_ending(repository: &Repository, word: &str) -> bool {
    let ending = format!("/{word}");
    repository.files.iter().any(|file| file.path.ends_with(&ending) || file.path == word)
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

    #[test]
    fn a_source_without_its_folders_is_the_end_of_a_path() {
        let (_folder, tree) = repository(&[
            ("crates/base/one/src/deep/a.rs", "//! a\n"),
            ("README.md", "`a.rs`, `deep/a.rs` and `b.rs`, `eep/a.rs`; not `*.rs`, nor a.rs\n"),
        ]);
        let findings: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(findings, ["README.md:1: `b.rs` does not exist", "README.md:1: `eep/a.rs` does not exist"]);
    }

    #[test]
    fn a_question_is_answered_with_a_place() {
        let page = "# A\n\n## Where do I …\n\n**add it?** In `docs/a.md`.\n\n**see it?** [there](docs/a.md)\n\n\
                    **find it?** Somewhere\nin `gone`.\n\n## More\n\n**Bold.** No question.\n";
        let (_folder, tree) = repository(&[("docs/a.md", "# a\n"), ("ARCHITECTURE.md", page)]);
        let findings: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(findings, ["ARCHITECTURE.md:9: `Where do I find it?` names no file and no folder"]);
    }
}
