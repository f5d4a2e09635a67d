//! `cargo xtask tidy`: rules about files that the compiler and clippy do not know.
//!
//! Each rule is a file of this folder with a canary test: a small tree that breaks it must be
//! reported.

mod comment_width;
mod debug_text;
mod engine_names;
mod headers;
mod islands;
mod links;
mod names;
mod orphans;
mod ratchet;
mod reading;
mod sizes;
mod suite_builds;
mod test_targets;
mod type_names;
mod words;

use crate::finding::Finding;
use crate::repository::Repository;

/// All rules.
pub(crate) fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    let mut findings = headers::check(repository);
    findings.extend(names::check(repository));
    findings.extend(engine_names::check(repository));
    findings.extend(comment_width::check(repository));
    findings.extend(debug_text::check(repository));
    findings.extend(orphans::check(repository));
    findings.extend(reading::check(repository));
    findings.extend(suite_builds::check(repository));
    findings.extend(test_targets::check(repository));
    findings.extend(type_names::check(repository));
    findings.extend(words::check(repository));
    findings.extend(islands::check(repository)?);
    findings.extend(links::check(repository));
    findings.extend(sizes::check(repository, &ratchet::read(repository)?));
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(findings)
}

/// Lowers the ceilings to the current lengths. It never raises one and never adds one.
pub(crate) fn shrink(repository: &Repository) -> Result<(), String> {
    let shrunk = ratchet::read(repository)?.shrunk(&sizes::long_files(repository));
    ratchet::write(repository, &shrunk)
}

/// One line for each file and function that is allowed but long.
pub(crate) fn worth_a_look(repository: &Repository) -> Result<Vec<String>, String> {
    Ok(sizes::worth_a_look(repository, &ratchet::read(repository)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let findings = check(&Repository::here().unwrap()).unwrap();
        let list: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert!(list.is_empty(), "\n{}", list.join("\n"));
    }
}
