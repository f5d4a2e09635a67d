//! JSON and TOML are read by `iolab_deserialize`. The functions of `serde_json` and `toml` compile
//! every type that is read once more, or with code for structs that are written as lists.
//!
//! Tests, examples and build scripts may use them.

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};
use crate::rust_text::{line_of, without_test_modules};

const INSTEAD: [(&str, &str); 4] = [
    ("serde_json::from_slice", "json"),
    ("serde_json::from_str", "json"),
    ("serde_json::from_reader", "json"),
    ("toml::from_str", "toml"),
];

/// The crate that has them.
const HOME: &str = "crates/base/deserialize/";

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    repository.rust_files().filter(|file| is_in_the_program(&file.path)).flat_map(check_file).collect()
}

fn is_in_the_program(path: &str) -> bool {
    let is_source = path.starts_with("crates/") && path.contains("/src/") && !path.starts_with(HOME);
    is_source && !path.ends_with("/tests.rs") && !path.contains("/tests/")
}

fn check_file(file: &TextFile) -> Vec<Finding> {
    let code = without_test_modules(file.masked());
    let mut findings = Vec::new();
    for (name, instead) in INSTEAD {
        findings.extend(code.match_indices(name).map(|(at, _)| {
            let advice =
                format!("use `iolab_deserialize::{instead}`: `{name}` compiles code that the program need not have");
            Finding::new(&file.path, line_of(&code, at), advice)
        }));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    #[test]
    fn canary() {
        for (path, text, expected) in [
            ("crates/a/src/lib.rs", "fn f() { serde_json::from_str(text) }", 1),
            ("crates/a/src/lib.rs", "fn f() {\n    toml::from_str(text);\n    serde_json::from_slice(bytes)\n}", 2),
            ("crates/a/src/lib.rs", "// serde_json::from_str reads text\nfn f() {}", 0),
            ("crates/a/src/lib.rs", "#[cfg(test)]\nmod tests {\n    fn f() { serde_json::from_str(text) }\n}", 0),
            ("crates/a/tests/lib.rs", "fn f() { serde_json::from_str(text) }", 0),
            ("crates/base/deserialize/src/lib.rs", "fn f() { toml::from_str(text) }", 0),
        ] {
            let (_folder, tree) = repository(&[(path, text)]);
            assert_eq!(check(&tree).len(), expected, "{text}");
        }
    }
}
