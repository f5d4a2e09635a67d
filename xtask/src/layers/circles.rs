//! Circles of files: two files of a crate that use items of each other, or more files in a ring.
//!
//! To understand one file of a circle, one must read the others, too. `xtask/circles.toml` lists
//! the intended ones, each with its reason.
//!
//! Not counted are: tests; a parent that declares its children and re-exports their items, which is
//! not a use; and a circle inside one module, which is a file and the files of its folder (`a.rs`
//! and `a/b.rs`). The root of a crate does not count as such a module: it would contain everything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::modules::{Modules, Use};
use super::package::Package;
use crate::finding::Finding;
use crate::repository::Repository;

const PATH: &str = "xtask/circles.toml";

/// Uses that lead from a file back to it, each from the file that the one before leads to.
type Circle = Vec<Use>;

/// All circles that the list does not allow, and entries of the list that are no longer true.
pub(super) fn check(repository: &Repository, packages: &[Package]) -> Result<Vec<Finding>, String> {
    let mut folders: Vec<String> = packages.iter().map(|package| format!("{}/src", package.folder)).collect();
    folders.extend(["xtask/src", "testkit/src"].map(str::to_owned));
    let found = folders.iter().flat_map(|folder| circles(&Modules::read(repository, folder).uses()));
    Ok(compare(found, allowed(repository.text(PATH).unwrap_or_default())?))
}

/// The list: the files of each circle, and why it may be there.
fn allowed(text: &str) -> Result<BTreeMap<String, String>, String> {
    let document: toml::Table = text.parse().map_err(|error| format!("{PATH}: {error}"))?;
    let mut allowed = BTreeMap::new();
    for (circle, reason) in document.get("circles").and_then(toml::Value::as_table).into_iter().flatten() {
        let reason = reason.as_str().filter(|reason| !reason.is_empty());
        let reason = reason.ok_or_else(|| format!("{PATH}: `{circle}` has no reason"))?;
        allowed.insert(circle.clone(), reason.to_owned());
    }
    Ok(allowed)
}

fn compare(found: impl Iterator<Item = Circle>, allowed: BTreeMap<String, String>) -> Vec<Finding> {
    let mut stale: BTreeSet<String> = allowed.keys().cloned().collect();
    let mut findings = Vec::new();
    for circle in found {
        let name = name(&circle);
        if !stale.remove(&name) {
            let uses: Vec<String> =
                circle.iter().map(|edge| format!("{}:{} uses {}", edge.from, edge.line, edge.to)).collect();
            let what = format!(
                "a circle of files: {}; move what both need to the lower file, or list `\"{name}\"` in {PATH} with a reason",
                uses.join(", ")
            );
            findings.push(Finding::new(&circle[0].from, circle[0].line, what));
        }
    }
    let gone =
        stale.into_iter().map(|name| Finding::new(PATH, 0, format!("`{name}` is no circle any more: remove it")));
    findings.extend(gone);
    findings
}

/// The files of a circle as the list names them.
fn name(circle: &Circle) -> String {
    let files: Vec<&str> = circle.iter().map(|edge| edge.from.as_str()).collect();
    files.join(" <-> ")
}

/// Every pair of files that use each other, and the shortest rings of the uses in no such pair; of
/// rings that share a use, one.
fn circles(uses: &[Use]) -> Vec<Circle> {
    let is_back = |edge: &Use, other: &Use| other.from == edge.to && other.to == edge.from;
    let mut found: Vec<Circle> = Vec::new();
    for edge in uses.iter().filter(|edge| edge.from < edge.to) {
        found.extend(uses.iter().find(|other| is_back(edge, other)).map(|back| vec![edge.clone(), back.clone()]));
    }
    found.retain(|circle| !is_one_module(circle));
    // A pair is one circle, not part of several rings.
    let is_in_pair = |edge: &Use| found.iter().any(|pair| pair.contains(edge));
    let others: Vec<&Use> = uses.iter().filter(|edge| !is_in_pair(edge)).collect();
    for edge in &others {
        if found.iter().any(|ring| ring.contains(edge)) {
            continue;
        }
        let Some(ring) = way(&others, &edge.to, &edge.from) else { continue };
        let mut ring: Circle = std::iter::once((*edge).clone()).chain(ring).collect();
        let first = (0..ring.len()).min_by_key(|at| ring[*at].from.clone()).unwrap_or(0);
        ring.rotate_left(first);
        let is_known = ring.iter().any(|edge| found.iter().any(|other| other.contains(edge)));
        if !is_known && !is_one_module(&ring) {
            found.push(ring);
        }
    }
    found
}

/// Whether one file of a circle is the others' parent.
fn is_one_module(circle: &Circle) -> bool {
    circle.iter().any(|parent| {
        let folder = parent.from.strip_suffix("/mod.rs").or_else(|| parent.from.strip_suffix(".rs"));
        let is_below = |path: &str| folder.is_some_and(|folder| path.starts_with(&format!("{folder}/")));
        circle.iter().all(|edge| edge.from == parent.from || is_below(&edge.from))
    })
}

/// The shortest way from a file to another.
fn way(uses: &[&Use], from: &str, to: &str) -> Option<Vec<Use>> {
    let mut reached: BTreeMap<&str, &Use> = BTreeMap::new();
    let mut waiting = VecDeque::from([from]);
    while let Some(here) = waiting.pop_front() {
        if here == to {
            let mut way = Vec::new();
            let mut file = to;
            while let Some(edge) = reached.get(file).filter(|_| file != from) {
                way.push((*edge).clone());
                file = &edge.from;
            }
            way.reverse();
            return Some(way);
        }
        for edge in uses.iter().filter(|edge| edge.from == here) {
            if edge.to != from && !reached.contains_key(edge.to.as_str()) {
                reached.insert(&edge.to, edge);
                waiting.push_back(&edge.to);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    /// The names of the circles in a crate of these files.
    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/base/a/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_folder, tree) = repository(&files);
        let found = circles(&Modules::read(&tree, "crates/base/a/src").uses());
        found.iter().map(|circle| name(circle).replace("crates/base/a/src/", "")).collect()
    }

    #[test]
    fn circles_are_found() {
        let root = ("lib.rs", "mod one;\nmod two;\nmod three;\n");
        let empty = ("three.rs", "");
        for (case, one, two) in [
            ("by use", "use crate::two::g;\npub fn f() { g() }", "use super::one;\npub fn g() { one::f() }"),
            ("by paths", "pub fn f() { crate::two::g() }", "pub fn g() { super::one::f() }"),
            ("by a glob", "use super::two::*;\npub fn f() { g() }", "pub fn g() { crate::one::f() }"),
            (
                "by a trait's methods",
                "use super::two::T;\npub struct F;",
                "pub trait T { fn f(&self, f: crate::one::F); }",
            ),
            ("by a macro", "pub fn f() { crate::two::g!() }", "macro_rules! g { () => { crate::one::f() } }"),
            ("by a type's constant", "pub struct F([u8; crate::two::G::N]);", "pub struct G(super::one::F);"),
        ] {
            assert_eq!(names(&[root, ("one.rs", one), ("two.rs", two), empty]), ["one.rs <-> two.rs"], "{case}");
        }
        let through = [("lib.rs", "mod one;\nmod two;\nuse two::G;\npub use one::F;\n")];
        let pair = [("one.rs", "pub struct F(crate::G);"), ("two.rs", "pub struct G(crate::F);")];
        assert_eq!(names(&[&through[..], &pair].concat()), ["one.rs <-> two.rs"]);
        let ring = [
            ("one.rs", "pub struct A(super::two::B);"),
            ("two.rs", "pub struct B(super::three::C);"),
            ("three.rs", "pub struct C(super::one::A);"),
        ];
        assert_eq!(names(&[&[root][..], &ring].concat()), ["one.rs <-> two.rs <-> three.rs"]);
    }

    #[test]
    fn a_root_that_uses_its_child_is_one() {
        let child = ("one.rs", "pub fn f(g: super::G) {}");
        assert_eq!(names(&[("lib.rs", "mod one;\npub struct G;\nfn g() { one::f(G) }"), child]), ["lib.rs <-> one.rs"]);
        assert_eq!(
            names(&[("lib.rs", "mod one;\npub struct G;\nuse one::f;\nfn g() { f(G) }"), child]),
            ["lib.rs <-> one.rs"]
        );
        assert_eq!(
            names(&[("lib.rs", "mod one;\npub struct G;\npub use one::f;\nfn g() { f(G) }"), child]),
            ["lib.rs <-> one.rs"]
        );
    }

    #[test]
    fn a_file_and_its_folder_are_one_module() {
        let root = ("lib.rs", "mod one;\nmod two;");
        let inside = [
            root,
            ("one.rs", "mod deep;\npub struct G;\nfn f() { deep::f(G) }"),
            ("one/deep.rs", "pub fn f(g: super::G) {}"),
            ("two.rs", ""),
        ];
        assert_eq!(names(&inside), [""; 0]);
        let across = [
            root,
            ("one.rs", "pub mod deep;\npub struct G(super::two::H);"),
            ("one/deep.rs", "pub fn f(g: super::G) {}"),
            ("two.rs", "use crate::one::deep;\npub struct H;\nfn f() { deep::f() }"),
        ];
        assert_eq!(names(&across), ["one.rs <-> two.rs <-> one/deep.rs"]);
        let siblings = [
            root,
            ("one.rs", "mod deep;\nmod low;"),
            ("one/deep.rs", "pub fn f() { super::low::f() }"),
            ("one/low.rs", "pub fn f() { super::deep::f() }"),
            ("two.rs", ""),
        ];
        assert_eq!(names(&siblings), ["one/deep.rs <-> one/low.rs"]);
    }

    #[test]
    fn what_is_no_circle() {
        let child = ("one.rs", "pub fn f(g: super::G) {}\npub fn h() {}");
        for (case, root) in [
            ("a declaration", "pub mod one;\npub struct G;"),
            ("a re-export", "mod one;\npub use one::f;\npub struct G;"),
            ("a name for the children", "mod one;\nuse one::f;\npub struct G;"),
            ("a method of the same name", "mod one;\npub use one::f;\npub struct G;\nfn g(x: X) { x.f() }"),
            ("a test", "mod one;\npub struct G;\n#[cfg(test)]\nmod tests { fn g() { super::one::f(super::G) } }"),
            ("a comment and a literal", "mod one;\npub struct G;\n// one::f()\nconst A: &str = \"one::f()\";"),
            ("a crate of this name", "mod one;\npub struct G;\nuse two::one::f;\nfn g() { f() }"),
        ] {
            assert_eq!(names(&[("lib.rs", root), child]), [""; 0], "{case}");
        }
    }

    #[test]
    fn the_list_is_held_to_what_is_there() {
        let edge = |from: &str, to: &str| Use { from: from.to_owned(), to: to.to_owned(), line: 3 };
        let uses = [edge("a.rs", "b.rs"), edge("b.rs", "a.rs")];
        let list = |text: &str| allowed(text).unwrap();
        let reported = compare(circles(&uses).into_iter(), list(""));
        assert_eq!(reported.len(), 1);
        assert!(reported[0].what.contains("a.rs:3 uses b.rs, b.rs:3 uses a.rs"), "{reported:?}");
        let listed = "[circles]\n\"a.rs <-> b.rs\" = \"a tree and its nodes\"\n";
        assert_eq!(compare(circles(&uses).into_iter(), list(listed)), []);
        assert_eq!(compare(std::iter::empty(), list(listed)).len(), 1);
        assert!(allowed("[circles]\n\"a.rs <-> b.rs\" = \"\"\n").is_err());
    }
}
