//! Words that must not be committed: unfinished work, disabled tests, paths that exist only on one
//! machine.

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};
use crate::rust_text::line_of;

/// In code, wherever it is (not in comments and literals).
const IN_CODE: [(&str, &str); 4] = [
    ("todo!", "finish it"),
    ("unimplemented!", "finish it"),
    ("dbg!", "take the trace out"),
    ("#[ignore", "a test runs or is removed; what needs more than a plain machine is a suite of ci/suites"),
];

/// In any text. Written apart here so that this list does not find itself.
const IN_TEXT: [(&str, &str); 6] = [
    (concat!("TO", "DO"), "open an issue or do it"),
    (concat!("FIX", "ME"), "fix it"),
    (concat!("XX", "X:"), "say what is wrong"),
    (concat!("DESIGN", ".md"), "the project stands alone: say it in ARCHITECTURE.md"),
    (concat!("language", " model"), "not about the project"),
    (concat!("AI", "-generated"), "not about the project"),
];

/// Folders that start paths of one machine.
const MACHINE_FOLDERS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    repository.files.iter().flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |text: &str, at: usize, word: &str, advice: &str| {
        findings.push(Finding::new(&file.path, line_of(text, at), format!("`{word}`: {advice}")));
    };
    if file.is_rust() {
        let masked = file.masked();
        for (word, advice) in IN_CODE {
            masked.match_indices(word).for_each(|(at, _)| report(masked, at, word, advice));
        }
    }
    for (word, advice) in IN_TEXT {
        file.text.match_indices(word).for_each(|(at, _)| report(&file.text, at, word, advice));
    }
    for folder in MACHINE_FOLDERS {
        let starts_a_path = |at: &usize| !file.text[..*at].ends_with(|before: char| is_path_character(before));
        for at in file.text.match_indices(folder).map(|(at, _)| at).filter(starts_a_path) {
            report(&file.text, at, folder, "a path of one machine");
        }
    }
    findings
}

fn is_path_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '/' | '.' | '-' | '_' | '~' | '}' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    #[test]
    fn canary() {
        for (path, text, expected) in [
            ("a.rs", "fn f() { todo!() }", 1),
            ("a.rs", "fn f() { dbg!(1); unimplemented!() }", 2),
            ("a.rs", "#[ignore = \"slow\"]", 1),
            ("a.rs", "// never todo! here\nconst A: &str = \"dbg!\";", 0),
            ("a.md", concat!("TO", "DO later"), 1),
            ("a.md", concat!("see /ho", "me/me/x and /wo", "rk/y"), 2),
            ("a.md", "the sys/work/ folder and https://example.org/home/ stay", 0),
        ] {
            let (_folder, tree) = repository(&[(path, text)]);
            assert_eq!(check(&tree).len(), expected, "{text}");
        }
    }
}
