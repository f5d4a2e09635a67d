//! `cargo xtask sbom PACKAGE`: the bill of materials of a program, as CycloneDX 1.5 in JSON
//! (ECMA-424): every crate whose code may be in it, with its version, licence and checksum.
//!
//! What only tests use, and what only runs during a build and leaves no code (build scripts and
//! procedural macros), is not in it. The text follows from Cargo.lock alone, so that two builds of
//! a commit have the same one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::cargo::cargo;
use crate::repository::Repository;

/// A target whose dependencies are listed.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Prints the bill of materials of a package of this workspace.
pub(crate) fn print(repository: &Repository, package: &str) -> Result<(), String> {
    let mut command = cargo();
    command.args(["metadata", "--format-version=1", "--locked", "--filter-platform", TARGET]);
    let output = command.current_dir(&repository.root).output().map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let lock = repository.root.join("Cargo.lock");
    let lock = std::fs::read_to_string(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    let bill = bill(&metadata, &checksums(&lock)?, package)?;
    println!("{}", serde_json::to_string_pretty(&bill).map_err(|error| error.to_string())?);
    Ok(())
}

/// SHA-256 of what the registry serves, by name and version.
type Checksums = BTreeMap<(String, String), String>;

fn checksums(lock: &str) -> Result<Checksums, String> {
    let lock: toml::Table = lock.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).ok_or("Cargo.lock: no packages")?;
    let text = |package: &toml::Value, key: &str| package.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let of = |package| Some(((text(package, "name")?, text(package, "version")?), text(package, "checksum")?));
    Ok(packages.iter().filter_map(of).collect())
}

/// The document.
fn bill(metadata: &Value, checksums: &Checksums, package: &str) -> Result<Value, String> {
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).map(|package| (word(&package["id"]), package)).collect();
    let needs: BTreeMap<&str, Vec<&str>> =
        list(&metadata["resolve"]["nodes"]).map(|node| (word(&node["id"]), linked(node, &packages))).collect();
    let members: BTreeSet<&str> = list(&metadata["workspace_members"]).map(word).collect();
    let root = members.iter().copied().find(|id| packages.get(id).is_some_and(|found| found["name"] == package));
    let root = root.ok_or_else(|| format!("this workspace has no package `{package}`"))?;
    let mut reached = BTreeSet::new();
    let mut left = vec![root];
    while let Some(id) = left.pop() {
        if reached.insert(id) {
            left.extend(needs.get(id).into_iter().flatten());
        }
    }
    let reference = |id: &str| {
        let package = packages[id];
        format!("pkg:cargo/{}@{}", word(&package["name"]), word(&package["version"]))
    };
    let component = |id: &str, kind: &str| component(packages[id], checksums, kind, &reference(id));
    let others = reached.iter().filter(|id| **id != root).map(|id| component(id, "library"));
    let depends = reached.iter().map(|id| {
        let on: BTreeSet<String> = needs.get(id).into_iter().flatten().map(|id| reference(id)).collect();
        json!({ "ref": reference(id), "dependsOn": on })
    });
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component(root, "application") },
        "components": others.collect::<Vec<_>>(),
        "dependencies": depends.collect::<Vec<_>>(),
    }))
}

/// The dependencies of a node whose code is linked with its own.
fn linked<'m>(node: &'m Value, packages: &BTreeMap<&str, &Value>) -> Vec<&'m str> {
    let is_macro = |id: &str| {
        let targets = packages.get(id).map(|package| list(&package["targets"]));
        targets.is_some_and(|mut all| all.any(|target| list(&target["kind"]).any(|kind| kind == "proc-macro")))
    };
    let is_normal = |need: &&Value| list(&need["dep_kinds"]).any(|kind| kind["kind"].is_null());
    list(&node["deps"]).filter(is_normal).map(|need| word(&need["pkg"])).filter(|id| !is_macro(id)).collect()
}

fn component(package: &Value, checksums: &Checksums, kind: &str, reference: &str) -> Value {
    let (name, version) = (word(&package["name"]), word(&package["version"]));
    let mut component = json!({
        "type": kind,
        "bom-ref": reference,
        "name": name,
        "version": version,
        "purl": reference,
    });
    if let Some(description) = package["description"].as_str() {
        component["description"] = json!(description.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if let Some(licence) = package["license"].as_str() {
        // Cargo once allowed a slash between alternatives; SPDX does not.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    if let Some(checksum) = checksums.get(&(name.to_owned(), version.to_owned())) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

fn list(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, kind: &str) -> Value {
        json!({
            "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "description": "a\n b",
            "targets": [{ "kind": [kind] }],
        })
    }

    fn need(name: &str, kind: Value) -> Value {
        json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] })
    }

    #[test]
    fn what_is_linked_is_listed_and_nothing_else() {
        let metadata = json!({
            "packages": [
                package("program", "bin"), package("library", "lib"), package("below", "lib"),
                package("derive", "proc-macro"), package("builder", "lib"), package("tester", "lib"),
            ],
            "workspace_members": ["program"],
            "resolve": { "nodes": [
                { "id": "program", "deps": [
                    need("library", Value::Null), need("derive", Value::Null), need("builder", json!("build")),
                    need("tester", json!("dev")),
                ] },
                { "id": "library", "deps": [need("below", Value::Null)] },
                { "id": "below", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"below\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let bill = bill(&metadata, &checksums(lock).unwrap(), "program").unwrap();
        let names: Vec<&str> = list(&bill["components"]).map(|component| word(&component["name"])).collect();
        assert_eq!(names, ["below", "library"]);
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "ab");
        assert_eq!(bill["components"][1].get("hashes"), None, "not from a registry");
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["metadata"]["component"]["name"], "program");
        let depends = list(&bill["dependencies"]).find(|entry| entry["ref"] == "pkg:cargo/program@1.0.0").unwrap();
        assert_eq!(depends["dependsOn"], json!(["pkg:cargo/library@1.0.0"]));
    }

    #[test]
    fn a_package_that_is_not_there_is_named() {
        let error = bill(&json!({}), &Checksums::new(), "nosuch").unwrap_err();
        assert!(error.contains("`nosuch`"), "{error}");
    }
}
