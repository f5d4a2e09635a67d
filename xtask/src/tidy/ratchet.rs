//! `xtask/ratchet.toml`: files that are too long, and tables that may be long.
//!
//! A ceiling may only be lowered and a line only be removed; reviews check changes of this file for
//! that.

use std::collections::BTreeMap;
use std::fs;

use super::sizes::FILE_QUESTIONED;
use crate::finding::Finding;
use crate::repository::Repository;

const PATH: &str = "xtask/ratchet.toml";

/// Ceilings by path, and the tables with why they are exempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ratchet {
    files: BTreeMap<String, usize>,
    tables: BTreeMap<String, String>,
}

impl Ratchet {
    pub(super) fn parse(text: &str) -> Result<Ratchet, String> {
        let document: toml::Table = text.parse().map_err(|error| format!("{PATH}: {error}"))?;
        let mut ratchet = Ratchet::default();
        for (section, entries) in &document {
            for (path, value) in entries.as_table().into_iter().flatten() {
                match (section.as_str(), value) {
                    ("files", toml::Value::Integer(lines)) => {
                        ratchet.files.insert(path.clone(), usize::try_from(*lines).unwrap_or(0));
                    }
                    ("tables", toml::Value::String(reason)) => {
                        ratchet.tables.insert(path.clone(), reason.clone());
                    }
                    _ => return Err(format!("{PATH}: `{section}.{path}` is neither a ceiling nor a table's reason")),
                }
            }
        }
        Ok(ratchet)
    }

    fn print(&self) -> String {
        let mut text = String::from(
            "# Files longer than the rule, by ceiling in lines. A ceiling may only shrink (`cargo xtask tidy --shrink`).\n[files]\n",
        );
        text.extend(self.files.iter().map(|(path, lines)| format!("\"{path}\" = {lines}\n")));
        text.push_str("\n# Tables of data, exempt from the rules on length, with the reason.\n[tables]\n");
        text.extend(self.tables.iter().map(|(path, reason)| format!("\"{path}\" = \"{reason}\"\n")));
        text
    }

    pub(super) fn ceiling(&self, path: &str) -> Option<usize> {
        self.files.get(path).copied()
    }

    pub(super) fn is_table(&self, path: &str) -> bool {
        self.tables.contains_key(path)
    }

    /// Lines that are no longer needed.
    pub(super) fn stale(&self, long_files: &[(String, usize)], repository: &Repository) -> Vec<Finding> {
        let is_long = |path: &String| long_files.iter().any(|(long, _)| long == path);
        let short = self.files.keys().filter(|path| !is_long(path));
        let mut findings: Vec<Finding> = short
            .map(|path| Finding::new(PATH, 0, format!("{path} has {FILE_QUESTIONED} lines or fewer: remove it here")))
            .collect();
        let gone = self.tables.keys().filter(|path| !repository.has(path));
        findings.extend(gone.map(|path| Finding::new(PATH, 0, format!("{path} does not exist: remove it here"))));
        findings
    }

    /// The list with every ceiling at most the current length.
    pub(super) fn shrunk(&self, long_files: &[(String, usize)]) -> Ratchet {
        let lower = |(path, lines): &(String, usize)| Some((path.clone(), self.ceiling(path)?.min(*lines)));
        Ratchet { files: long_files.iter().filter_map(lower).collect(), tables: self.tables.clone() }
    }
}

pub(super) fn read(repository: &Repository) -> Result<Ratchet, String> {
    Ratchet::parse(repository.text(PATH).unwrap_or_default())
}

pub(super) fn write(repository: &Repository, ratchet: &Ratchet) -> Result<(), String> {
    fs::write(repository.root.join(PATH), ratchet.print()).map_err(|error| format!("{PATH}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    #[test]
    fn a_ceiling_shrinks_and_never_grows() {
        let ratchet = Ratchet::parse("[files]\n\"a.rs\" = 500\n\"b.rs\" = 500\n\"c.rs\" = 500\n").unwrap();
        let now = [("a.rs".to_owned(), 450), ("b.rs".to_owned(), 600), ("d.rs".to_owned(), 700)];
        let shrunk = ratchet.shrunk(&now);
        assert_eq!((shrunk.ceiling("a.rs"), shrunk.ceiling("b.rs")), (Some(450), Some(500)));
        assert_eq!((shrunk.ceiling("c.rs"), shrunk.ceiling("d.rs")), (None, None));
        assert_eq!(Ratchet::parse(&shrunk.print()).unwrap(), shrunk);
    }

    #[test]
    fn canary_for_stale_lines() {
        let (_folder, tree) = repository(&[("a.rs", "//! A short file.\n")]);
        let ratchet = Ratchet::parse("[files]\n\"a.rs\" = 500\n[tables]\n\"gone.rs\" = \"was a table\"\n").unwrap();
        assert_eq!(ratchet.stale(&[], &tree).len(), 2);
    }

    #[test]
    fn canary_for_nonsense() {
        assert!(Ratchet::parse("[files]\n\"a.rs\" = \"long\"\n").is_err());
        assert!(Ratchet::parse("[functions]\nx = 1\n").is_err());
    }
}
