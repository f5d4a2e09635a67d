//! How long files and functions may be.
//!
//! A file above [`FILE_QUESTIONED`] lines needs a ceiling in the ratchet list, one above
//! [`FILE_REFUSED`] is refused unless it is a listed table; so is a function with more than
//! [`FUNCTION_REFUSED`] lines of code.

use super::ratchet::Ratchet;
use crate::finding::Finding;
use crate::repository::Repository;
use crate::rust_text::{Function, functions};

/// Lines above which a file must be listed.
pub(super) const FILE_QUESTIONED: usize = 400;
/// Lines above which a file must be split.
const FILE_REFUSED: usize = 800;
/// Lines of code above which a function is worth a second look.
const FUNCTION_QUESTIONED: usize = 40;
/// Lines of code above which a function must be split.
const FUNCTION_REFUSED: usize = 70;

pub(super) fn check(repository: &Repository, ratchet: &Ratchet) -> Vec<Finding> {
    let long_files = long_files(repository);
    let mut findings = ratchet.stale(&long_files, repository);
    for (path, lines) in &long_files {
        let what = match ratchet.ceiling(path) {
            _ if ratchet.is_table(path) => continue,
            _ if *lines > FILE_REFUSED => format!("{lines} lines: split it (more than {FILE_REFUSED} is refused)"),
            Some(ceiling) if *lines > ceiling => {
                format!("{lines} lines, {ceiling} when it was listed: it may only shrink")
            }
            Some(_) => continue,
            None => format!("{lines} lines: split it, or add `\"{path}\" = {lines}` to xtask/ratchet.toml"),
        };
        findings.push(Finding::new(path, 0, what));
    }
    for (path, function) in all_functions(repository) {
        if function.length > FUNCTION_REFUSED && !ratchet.is_table(&path) {
            let what = format!("`{}` has {} lines of code: split it", function.name, function.length);
            findings.push(Finding::new(&path, function.line, what));
        }
    }
    findings
}

/// Files that need a ceiling, with their lengths.
pub(super) fn long_files(repository: &Repository) -> Vec<(String, usize)> {
    let sizes = repository.rust_files().map(|file| (file.path.clone(), file.text.lines().count()));
    sizes.filter(|(_, lines)| *lines > FILE_QUESTIONED).collect()
}

pub(super) fn worth_a_look(repository: &Repository, ratchet: &Ratchet) -> Vec<String> {
    let files = long_files(repository).into_iter().filter(|(path, _)| !ratchet.is_table(path));
    let mut lines: Vec<String> = files.map(|(path, lines)| format!("{path}: {lines} lines")).collect();
    for (path, function) in all_functions(repository) {
        if function.length > FUNCTION_QUESTIONED && !ratchet.is_table(&path) {
            lines.push(format!("{path}:{}: `{}` {} lines", function.line, function.name, function.length));
        }
    }
    lines
}

fn all_functions(repository: &Repository) -> Vec<(String, Function)> {
    let of_file = |file: &crate::repository::TextFile| {
        let found = functions(file.masked()).into_iter();
        found.map(|function| (file.path.clone(), function)).collect::<Vec<_>>()
    };
    repository.rust_files().flat_map(of_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    fn lines(count: usize) -> String {
        "//! A long file of comments.\n".repeat(count)
    }

    #[test]
    fn canary_for_files() {
        let (_folder, tree) = repository(&[
            ("a.rs", &lines(400)),
            ("b.rs", &lines(401)),
            ("listed.rs", &lines(450)),
            ("grown.rs", &lines(450)),
            ("table.rs", &lines(2000)),
            ("huge.rs", &lines(900)),
        ]);
        let ratchet = Ratchet::parse(
            "[files]\n\"listed.rs\" = 450\n\"grown.rs\" = 449\n\"huge.rs\" = 900\n[tables]\n\"table.rs\" = \"a table\"\n",
        );
        let findings = check(&tree, &ratchet.unwrap());
        let paths: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["b.rs", "grown.rs", "huge.rs"], "{findings:?}");
    }

    #[test]
    fn canary_for_functions() {
        let long = format!("//! A file with a header.\nfn long() {{\n{}}}\n", "    call();\n".repeat(71));
        let (_folder, tree) = repository(&[("long.rs", &long)]);
        let findings = check(&tree, &Ratchet::default());
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].what.contains("`long` has 71 lines"), "{findings:?}");
        assert_eq!(worth_a_look(&tree, &Ratchet::default()).len(), 1);
    }
}
