//! `cargo xtask layers`: every crate belongs to a district, and uses only what its district may
//! use.
//!
//! The districts are the table of `layers/districts.rs`; other facts about a crate come from its
//! own Cargo.toml. Dependencies for tests only (dev-dependencies) may go anywhere. The pages
//! generated from these facts are checked, too.

mod circles;
mod districts;
mod modules;
mod package;
mod pages;
mod purity;
mod tokens;

pub(crate) use package::packages;
pub(crate) use pages::write as write_pages;

use crate::finding::Finding;
use crate::repository::Repository;
use districts::{district, outside_refusal};
use package::Package;

/// All rules.
pub(crate) fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    let packages = packages(repository)?;
    let mut findings: Vec<Finding> = packages.iter().flat_map(|package| check_package(package, &packages)).collect();
    findings.extend(purity::check(repository, &packages));
    findings.extend(circles::check(repository, &packages)?);
    findings.extend(pages::check(repository, &packages));
    Ok(findings)
}

fn check_package(package: &Package, all: &[Package]) -> Vec<Finding> {
    let finding = |what: String| Finding::new(&package.manifest(), 0, what);
    let Some(own) = district(package.district()).filter(|_| package.folder.split('/').count() == 3) else {
        return vec![finding(format!("{} stands in no district: crates/DISTRICT/NAME", package.name))];
    };
    let mut findings = Vec::new();
    if package.description.is_empty() {
        findings.push(finding("`description` must say what the crate is, in one line".to_owned()));
    }
    if !is_named_by_folder(package) {
        findings.push(finding(format!("{} is not the name of this folder", package.name)));
    }
    for used in &package.uses {
        if let Some(reason) = outside_refusal(&package.name, used) {
            findings.push(finding(format!("{} must not use {used}: {reason}", package.name)));
        }
        if !used.starts_with("iolab-") && used != "iolab" {
            continue;
        }
        let Some(used) = all.iter().find(|other| other.name == *used) else {
            findings.push(finding(format!("{used} is not for crates that ship")));
            continue;
        };
        if let Some(reason) = own.refusal(used.district(), &package.also_uses) {
            let (name, from, to) = (&package.name, own.name, used.district());
            findings.push(finding(format!("{name} ({from}) must not use {} ({to}): {reason}", used.name)));
        }
    }
    findings
}

/// `crates/nvme/spec` is `iolab-nvme-spec`, or `iolab-spec` where that says enough; the program is
/// `iolab`.
fn is_named_by_folder(package: &Package) -> bool {
    let (district, short) = (package.district(), package.short_name().replace('_', "-"));
    // An engine is one of several engines.
    let singular = if district == "engines" { "engine" } else { district };
    [format!("iolab-{short}"), format!("iolab-{singular}-{short}"), "iolab".to_owned()].contains(&package.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    /// What is found in a tree of crates: folder, dependencies, further lines of the manifest.
    fn findings(crates: &[(&str, &[&str], &str)]) -> Vec<String> {
        let files: Vec<(String, String)> = crates
            .iter()
            .map(|(folder, uses, more)| {
                let lines: String = uses.iter().map(|used| format!("{used}.workspace = true\n")).collect();
                let name = folder.rsplit('/').next().unwrap();
                let name = if name == "iolab" { name.to_owned() } else { format!("iolab-{name}") };
                let head = format!("[package]\nname = \"{name}\"\ndescription = \"it\"\n{more}");
                (format!("crates/{folder}/Cargo.toml"), format!("{head}[dependencies]\n{lines}"))
            })
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let (_folder, tree) = repository(&files);
        let packages = packages(&tree).unwrap();
        let found = packages.iter().flat_map(|package| check_package(package, &packages));
        found.map(|finding| finding.what).collect()
    }

    #[test]
    fn the_repository_keeps_its_districts() {
        let found = check(&Repository::here().unwrap()).unwrap();
        let list: Vec<String> = found.iter().map(Finding::to_string).collect();
        assert!(list.is_empty(), "\n{}", list.join("\n"));
    }

    #[test]
    fn canaries() {
        let none: &[&str] = &[];
        let also = "[package.metadata.iolab]\nalso-uses = [\"nvme\"]\n";
        for (crates, expected) in [
            (
                [("base/clock", &["iolab-runner"][..], ""), ("run/runner", none, "")],
                vec!["iolab-clock (base) must not use iolab-runner (run): base stands on nothing of this project"],
            ),
            (
                [("engines/null", &["iolab-uring"], ""), ("engines/uring", none, "")],
                vec![
                    "iolab-null (engines) must not use iolab-uring (engines): an engine knows its contract, and no other engine",
                ],
            ),
            (
                [("nvme/driver", &["iolab-engine"], ""), ("contract/engine", none, "")],
                vec![
                    "iolab-driver (nvme) must not use iolab-engine (contract): NVMe stands on its own: no jobs, no engines",
                ],
            ),
            // What a crate's own Cargo.toml adds must still be lower.
            ([("engines/fast", &["iolab-driver"], also), ("nvme/driver", none, "")], vec![]),
            (
                [("contract/fast", &["iolab-driver"], also), ("nvme/driver", none, "")],
                vec![
                    "iolab-fast (contract) must not use iolab-driver (nvme): what all others share depends on none of them",
                ],
            ),
            ([("run/runner", &["iolab-plan"], ""), ("contract/plan", none, "")], vec![]),
            (
                [("run/runner", &["anyhow", "iolab-testkit"], ""), ("contract/plan", none, "")],
                vec![
                    "iolab-runner must not use anyhow: libraries have typed errors",
                    "iolab-testkit is not for crates that ship",
                ],
            ),
            (
                [("surprise", none, ""), ("elsewhere/plan", none, "")],
                vec![
                    "iolab-plan stands in no district: crates/DISTRICT/NAME",
                    "iolab-surprise stands in no district: crates/DISTRICT/NAME",
                ],
            ),
        ] {
            assert_eq!(findings(&crates), expected, "{crates:?}");
        }
    }

    #[test]
    fn a_manifest_says_what_the_crate_is() {
        let manifest = "[package]\nname = \"iolab-other\"\n";
        let (_folder, tree) = repository(&[("crates/base/clock/Cargo.toml", manifest)]);
        let packages = packages(&tree).unwrap();
        let found: Vec<String> = check_package(&packages[0], &packages).into_iter().map(|found| found.what).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        let (_folder, tree) = repository(&[(
            "crates/base/clock/Cargo.toml",
            "[package]\nname = \"iolab-clock\"\n[package.metadata.iolab]\nprue = true\n",
        )]);
        assert!(super::packages(&tree).unwrap_err().contains("no `prue`"));
    }

    #[test]
    fn edges_for_tests_are_free() {
        let manifest = "[package]\nname = \"iolab-plan\"\ndescription = \"it\"\n[dev-dependencies]\niolab-runner.workspace = true\n";
        let (_folder, tree) = repository(&[("crates/contract/plan/Cargo.toml", manifest)]);
        let packages = packages(&tree).unwrap();
        assert_eq!(check_package(&packages[0], &packages), []);
    }
}
