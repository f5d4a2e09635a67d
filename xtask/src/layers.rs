//! `cargo xtask layers`: the crates stand in layers, and a crate uses only crates of lower layers.
//!
//! The layers are the table in `layers/table.rs`; edges come from the crates' own Cargo.toml files. Edges for
//! tests only (dev-dependencies) may go sideways. Some crates have narrower rules: see [`table::NARROW`] and
//! the pure crates of `layers/purity.rs`.

mod purity;
mod table;

use std::fs;

use crate::finding::Finding;
use crate::repository::Repository;

/// One package of the workspace.
struct Package {
    name: String,
    manifest: String,
    /// Everything it depends on, outside packages too.
    uses: Vec<String>,
}

/// All rules.
pub(crate) fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    let packages = packages(repository)?;
    let mut findings = Vec::new();
    for package in &packages {
        findings.extend(check_package(package));
    }
    findings.extend(purity::check(repository));
    Ok(findings)
}

/// The packages of `crates/`, read from their manifests.
fn packages(repository: &Repository) -> Result<Vec<Package>, String> {
    let mut packages = Vec::new();
    let is_manifest = |path: &str| path.starts_with("crates/") && path.ends_with("/Cargo.toml");
    for file in repository.files.iter().filter(|file| is_manifest(&file.path)) {
        let manifest: toml::Table = file.text.parse().map_err(|error| format!("{}: {error}", file.path))?;
        let name = manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
        let name = name.ok_or_else(|| format!("{}: no package name", file.path))?;
        let mut uses = Vec::new();
        for section in ["dependencies", "build-dependencies"] {
            let table = manifest.get(section).and_then(toml::Value::as_table);
            uses.extend(table.into_iter().flat_map(toml::Table::keys).cloned());
        }
        packages.push(Package { name: name.to_owned(), manifest: file.path.clone(), uses });
    }
    if packages.is_empty() && fs::exists(repository.root.join("crates")).unwrap_or(false) {
        return Err("no manifest below crates/".to_owned());
    }
    Ok(packages)
}

fn check_package(package: &Package) -> Vec<Finding> {
    let finding = |what: String| Finding::new(&package.manifest, 0, what);
    let Some(own_layer) = table::layer(&package.name) else {
        return vec![finding(format!("{} has no layer: add it to xtask/src/layers/table.rs", package.name))];
    };
    let mut findings = Vec::new();
    for used in &package.uses {
        if let Some(reason) = table::outside_refusal(&package.name, used) {
            findings.push(finding(format!("{} must not use {used}: {reason}", package.name)));
        }
        if !used.starts_with("iolab-") && used != "iolab" {
            continue;
        }
        match table::layer(used) {
            None => findings.push(finding(format!("{used} is not for crates that ship"))),
            Some(layer) if layer >= own_layer => findings.push(finding(format!(
                "{} (layer {own_layer}) uses {used} (layer {layer}): edges go strictly downward",
                package.name
            ))),
            Some(_) => {}
        }
        if let Some(reason) = table::narrow_refusal(&package.name, used) {
            findings.push(finding(format!("{} must not use {used}: {reason}", package.name)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    fn findings(name: &str, dependencies: &[&str]) -> Vec<String> {
        let lines: String = dependencies.iter().map(|used| format!("{used}.workspace = true\n")).collect();
        let manifest = format!("[package]\nname = \"{name}\"\n[dependencies]\n{lines}");
        let (_folder, tree) = repository(&[("crates/x/Cargo.toml", &manifest)]);
        check(&tree).unwrap().into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_repository_keeps_its_layers() {
        let found = check(&Repository::here().unwrap()).unwrap();
        let list: Vec<String> = found.iter().map(Finding::to_string).collect();
        assert!(list.is_empty(), "\n{}", list.join("\n"));
    }

    #[test]
    fn canaries() {
        for (name, uses, expected) in [
            (
                "iolab-plan",
                "iolab-runner",
                "iolab-plan (layer 2) uses iolab-runner (layer 6): edges go strictly downward",
            ),
            (
                "iolab-engine",
                "iolab-plan",
                "iolab-engine (layer 2) uses iolab-plan (layer 2): edges go strictly downward",
            ),
            ("iolab-clock", "iolab", "iolab-clock (layer 0) uses iolab (layer 8): edges go strictly downward"),
            ("iolab-surprise", "libc", "iolab-surprise has no layer: add it to xtask/src/layers/table.rs"),
            ("iolab-runner", "iolab-testkit", "iolab-testkit is not for crates that ship"),
            (
                "iolab-engine-null",
                "iolab-plan",
                "iolab-engine-null must not use iolab-plan: an engine knows its contract only",
            ),
            (
                "iolab-report",
                "iolab-engine",
                "iolab-report must not use iolab-engine: a report is a function of the recording, and so are the columns of its block devices",
            ),
            ("iolab-runner", "anyhow", "iolab-runner must not use anyhow: libraries have typed errors"),
        ] {
            assert_eq!(findings(name, &[uses]), [expected], "{name} uses {uses}");
        }
        assert_eq!(findings("iolab-engine-uring", &["iolab-engine", "iolab-memory", "io-uring"]), [] as [&str; 0]);
    }

    #[test]
    fn edges_for_tests_are_free() {
        let manifest = "[package]\nname = \"iolab-plan\"\n[dev-dependencies]\niolab-runner.workspace = true\n";
        let (_folder, tree) = repository(&[("crates/plan/Cargo.toml", manifest)]);
        assert_eq!(check(&tree).unwrap(), []);
    }
}
