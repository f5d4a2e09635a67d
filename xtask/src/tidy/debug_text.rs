//! Text for people is made with `Display`: `{:?}` prints names of Rust types and fields, which mean
//! nothing to users.
//!
//! Literals with `:?}` outside tests are reported. Text that only developers read is exempt:
//! assertions, panics, `impl Debug`.

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};
use crate::rust_text::{line_of, without_test_modules};

/// Macros whose text is about a bug in iolab.
const ABOUT_BUGS: [&str; 8] =
    ["assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "debug_assert_ne", "panic", "unreachable"];

/// Files that use `{:?}` for text that no user reads, or where `Display` does not suffice; each
/// with its reason.
const ALLOWED: [(&str, &str); 7] = [
    ("crates/contract/engine/src/conformance.rs", "its text is that of failed tests"),
    ("crates/contract/plan/src/describe/amounts.rs", "digits of a number, with a point in whole ones"),
    ("crates/report/store/src/store.rs", "names of severities, in small letters"),
    ("crates/lab/kv_bench/src/json.rs", "names of directions, in small letters"),
    ("crates/lab/kv_bench/src/lines.rs", "names of directions, in small letters"),
    ("crates/kv/fjall/src/error.rs", "an error of a library that has no other text"),
    ("crates/logfs/logfs/src/dump/table.rs", "names of record kinds, in small letters"),
];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    repository.rust_files().filter(|file| is_for_users(&file.path)).flat_map(check_file).collect()
}

/// Crates and their sources; no tests, examples, benchmarks and tools.
fn is_for_users(path: &str) -> bool {
    let folders: Vec<&str> = path.split('/').collect();
    let is_test =
        path.ends_with("/tests.rs") || folders.iter().any(|one| matches!(*one, "tests" | "benches" | "examples"));
    folders.first() == Some(&"crates") && !is_test && !ALLOWED.iter().any(|(allowed, _)| *allowed == path)
}

fn check_file(file: &TextFile) -> Vec<Finding> {
    let masked = file.masked();
    let code = without_test_modules(masked);
    let found = file.text.match_indices(":?}").map(|(at, _)| at).filter(|at| {
        // Blank in the masked text, but not a comment: the line's code continues after it.
        let is_hidden = masked.as_bytes()[*at] == b' ';
        let is_tested = code
            .as_bytes()
            .get(line_start(&code, *at)..*at)
            .is_none_or(|before| before.iter().all(|byte| *byte == b' '))
            && !masked[line_start(masked, *at)..*at].trim().is_empty();
        is_hidden && !is_tested && is_in_literal(&file.text, *at) && !is_about_bugs(masked, *at)
    });
    let advice = "`{:?}` prints Rust's own text: use `{}`, `{}` in backquotes for a word, or give the type a Display";
    found.map(|at| Finding::new(&file.path, line_of(&file.text, at), advice)).collect()
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Not in a comment.
fn is_in_literal(text: &str, at: usize) -> bool {
    !text[line_start(text, at)..at].trim_start().starts_with("//")
}

/// Whether the text at `at` is an argument of one of [`ABOUT_BUGS`], or within `impl Debug`.
fn is_about_bugs(masked: &str, at: usize) -> bool {
    let before = &masked[..at];
    let mut open = 0_i32;
    for (place, byte) in before.bytes().enumerate().rev() {
        match byte {
            b')' | b']' => open += 1,
            b'(' | b'[' if open > 0 => open -= 1,
            b'(' | b'[' => {
                let name = before[..place].trim_end_matches('!');
                let start =
                    name.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_').map_or(0, |end| end + 1);
                if ABOUT_BUGS.contains(&&name[start..]) {
                    return true;
                }
            }
            b';' if open == 0 => break,
            _ => {}
        }
    }
    let block = before.rfind("\nimpl").map_or("", |start| before[start + 1..].lines().next().unwrap_or_default());
    block.contains("Debug for")
        || before.rfind("fn fmt(").is_some_and(|start| before[..start].trim_end().ends_with("Debug"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    #[test]
    fn canary() {
        for (path, text, expected) in [
            ("crates/a/src/lib.rs", "fn f() { fail(format!(\"it was {error:?}\")); }", 1),
            ("crates/a/src/lib.rs", "#[error(\"{0:?} is odd\")]\nstruct E(Kind);", 1),
            ("crates/a/src/lib.rs", "fn f() {\n    Err(format!(\n        \"worker {}: {:?}\", 1, 2))\n}", 1),
            ("crates/a/src/lib.rs", "fn f() { assert_eq!(a, b, \"{a:?}\"); panic!(\"{b:?}\"); }", 0),
            ("crates/a/src/lib.rs", "fn f() { x.unwrap_or_else(|error| panic!(\"{error:?}\")); }", 0),
            (
                "crates/a/src/lib.rs",
                "\nimpl fmt::Debug for A {\n    fn fmt(&self) { write!(f, \"A({:?})\", self.0) }\n}",
                0,
            ),
            ("crates/a/src/lib.rs", "// prints {error:?}\nfn f() {}", 0),
            ("crates/a/src/lib.rs", "#[cfg(test)]\nmod tests {\n    fn f() { format!(\"{a:?}\"); }\n}", 0),
            ("crates/a/tests/lib.rs", "fn f() { format!(\"{a:?}\"); }", 0),
        ] {
            let (_folder, tree) = repository(&[(path, text)]);
            assert_eq!(check(&tree).len(), expected, "{text}");
        }
    }
}
