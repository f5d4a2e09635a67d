//! The parts of ARCHITECTURE.md and of the districts' README.md files that are generated from the
//! crates' own descriptions.
//!
//! A generated part is between `<!-- generated: NAME -->` and `<!-- end of NAME -->`; the rest of a
//! page is written by hand. `cargo xtask docs --write` writes the generated parts.

use std::fs;

use super::districts::{DISTRICTS, District};
use super::package::Package;
use crate::finding::Finding;
use crate::repository::Repository;

/// A page, the name of a part, and its text.
type Part = (String, &'static str, String);

pub(super) fn check(repository: &Repository, packages: &[Package]) -> Vec<Finding> {
    // A tree of a test has no pages.
    if !repository.has("ARCHITECTURE.md") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (page, name, part) in parts(packages) {
        let text = repository.text(&page).unwrap_or_default();
        match replaced(text, name, &part) {
            None => findings.push(Finding::new(&page, 0, format!("must have a part <!-- generated: {name} -->"))),
            Some(new) if new != text => {
                findings.push(Finding::new(&page, 0, format!("part {name}: out of date: `cargo xtask docs --write`")));
            }
            Some(_) => {}
        }
    }
    findings
}

/// Writes all parts.
pub(crate) fn write(repository: &Repository) -> Result<(), String> {
    let packages = super::packages(repository)?;
    for (page, name, part) in parts(&packages) {
        let path = repository.root.join(&page);
        let text = fs::read_to_string(&path).map_err(|error| format!("{page}: {error}"))?;
        let new = replaced(&text, name, &part).ok_or_else(|| format!("{page}: no part <!-- generated: {name} -->"))?;
        fs::write(&path, new).map_err(|error| format!("{page}: {error}"))?;
    }
    Ok(())
}

fn parts(packages: &[Package]) -> Vec<Part> {
    let architecture = || "ARCHITECTURE.md".to_owned();
    let mut parts = vec![
        (architecture(), "districts", districts(packages)),
        (architecture(), "crates", crates(packages)),
        (architecture(), "pure crates", pure(packages)),
        (architecture(), "unsafe islands", islands(packages)),
    ];
    for district in &DISTRICTS {
        let own: Vec<&Package> = packages.iter().filter(|package| package.district() == district.name).collect();
        if own.is_empty() {
            continue;
        }
        let mut text = String::from("| crate | what it is |\n| --- | --- |\n");
        for package in own {
            let short = package.short_name();
            text += &format!("| [{short}]({short}) | {} |\n", package.description);
        }
        let text = format!("It uses {}.\n\n{text}", uses(district));
        parts.push((format!("crates/{}/README.md", district.name), "crates", text));
    }
    parts
}

fn districts(packages: &[Package]) -> String {
    let mut text = String::from("| district | uses | and, for some crates |\n| --- | --- | --- |\n");
    for district in DISTRICTS.iter().rev() {
        let own = packages.iter().filter(|package| package.district() == district.name);
        let exceptions: Vec<String> = own
            .filter(|package| !package.also_uses.is_empty())
            .map(|package| format!("`{}`: {}", package.short_name(), package.also_uses.join(", ")))
            .collect();
        text += &format!("| {} | {} | {} |\n", district.name, uses(district), exceptions.join("; "));
    }
    text
}

/// What a district uses, in words.
fn uses(district: &District) -> String {
    match district.uses() {
        [] => "nothing of this project".to_owned(),
        uses if uses.len() + 1 == DISTRICTS.len() => "every other district".to_owned(),
        uses => uses.join(", "),
    }
}

fn crates(packages: &[Package]) -> String {
    let mut text = String::from("| district | crate | what it is |\n| --- | --- | --- |\n");
    for district in &DISTRICTS {
        for (nth, package) in packages.iter().filter(|package| package.district() == district.name).enumerate() {
            let name = if nth == 0 { format!("[{0}](crates/{0}/README.md)", district.name) } else { String::new() };
            text += &format!("| {name} | `{}` | {} |\n", package.short_name(), package.description);
        }
    }
    text
}

fn pure(packages: &[Package]) -> String {
    let names: Vec<String> =
        packages.iter().filter(|package| package.pure).map(|package| format!("`{}`", package.short_name())).collect();
    names.join(", ") + "\n"
}

fn islands(packages: &[Package]) -> String {
    let mut text = String::from("| where | what safe Rust cannot do there |\n| --- | --- |\n");
    for (place, why) in packages.iter().flat_map(|package| &package.islands) {
        text += &format!("| `{}` | {why} |\n", place.trim_start_matches("crates/"));
    }
    text
}

/// The page with this part replaced, if it has such a part.
fn replaced(page: &str, name: &str, part: &str) -> Option<String> {
    let (opening, closing) = (format!("<!-- generated: {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&opening)?;
    let (_, after) = rest.split_once(&closing)?;
    Some(format!("{before}{opening}\n{part}\n{closing}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    #[test]
    fn canary() {
        let manifest = "[package]\nname = \"iolab-clock\"\ndescription = \"the only reader of time\"\n\
                        [package.metadata.iolab]\npure = true\nunsafe = \"read the counter\"\n";
        let architecture = ["districts", "crates", "pure crates", "unsafe islands"]
            .map(|name| format!("<!-- generated: {name} -->\n<!-- end of {name} -->\n"))
            .concat();
        let (_folder, tree) = repository(&[
            ("ARCHITECTURE.md", &architecture),
            ("crates/base/README.md", "# base\n<!-- generated: crates -->\nold\n<!-- end of crates -->\nmore\n"),
            ("crates/base/clock/Cargo.toml", manifest),
        ]);
        let packages = super::super::packages(&tree).unwrap();
        assert_eq!(check(&tree, &packages).len(), 5);
        write(&tree).unwrap();
        let tree = Repository::read(&tree.root).unwrap();
        assert_eq!(check(&tree, &packages), []);
        let page = tree.text("crates/base/README.md").unwrap();
        assert!(page.starts_with("# base\n") && page.ends_with("\nmore\n") && !page.contains("old"), "{page}");
        assert!(page.contains("| [clock](clock) | the only reader of time |"), "{page}");
        assert!(tree.text("ARCHITECTURE.md").unwrap().contains("| `base/clock` | read the counter |"));
    }

    #[test]
    fn a_page_without_the_part_is_found() {
        let manifest = "[package]\nname = \"iolab-clock\"\ndescription = \"it\"\n";
        let (_folder, tree) =
            repository(&[("ARCHITECTURE.md", "nothing\n"), ("crates/base/clock/Cargo.toml", manifest)]);
        let packages = super::super::packages(&tree).unwrap();
        let found: Vec<String> = check(&tree, &packages).into_iter().map(|finding| finding.what).collect();
        assert_eq!(found.len(), 5, "{found:?}");
    }
}
