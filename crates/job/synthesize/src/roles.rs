//! The purpose of files: by the user's rules, by their paths, by the operations on them.
//!
//! ```toml
//! [[role]]
//! path = "*/redo/*"     # * stands for anything, slashes included
//! role = "log"          # log, table, temporary, program, other
//! ```

use iolab_trace::{File, Role};
use serde::Deserialize;

/// Syncs per hundred writes that make a file a log, if it is written sequentially.
const LOG_SYNCS_PERCENT: u64 = 20;

/// The user's rules for roles.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleRules {
    /// The first match counts.
    #[serde(default)]
    role: Vec<RoleRule>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleRule {
    path: String,
    role: Role,
}

/// Why a file of roles cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("not a file of roles: {0}")]
pub struct RolesError(String);

/// The operations on a file that indicate its role.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Deeds {
    pub(crate) reads: u64,
    /// Reads that begin where the last one ended, or within it; the first read of a file counts.
    pub(crate) reads_onward: u64,
    pub(crate) writes: u64,
    pub(crate) syncs: u64,
    /// Writes that begin where the last one ended, or within it.
    pub(crate) onward: u64,
    /// Whether it was ever emptied when it was opened.
    pub(crate) emptied: bool,
}

impl RoleRules {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// It is not a file of roles; the error says where and why.
    pub fn parse(text: &str) -> Result<RoleRules, RolesError> {
        iolab_deserialize::toml(text).map_err(|error| RolesError(error.to_string()))
    }

    /// The role of a file.
    pub(crate) fn of(&self, file: &File, deeds: &Deeds) -> Role {
        if let Some(rule) = self.role.iter().find(|rule| fits(&rule.path, &file.path)) {
            return rule.role;
        }
        match file.role {
            Role::Other => by_deeds(deeds),
            told => told,
        }
    }
}

fn by_deeds(deeds: &Deeds) -> Role {
    let Deeds { reads, reads_onward, writes, syncs, onward, emptied } = *deeds;
    match () {
        () if writes > 0 && syncs * 100 >= writes * LOG_SYNCS_PERCENT && onward * 10 >= writes * 7 => Role::Log,
        () if emptied && syncs == 0 && writes > 0 => Role::Temporary,
        () if (onward + reads_onward) * 2 < reads + writes => Role::Table,
        () => Role::Other,
    }
}

/// Whether a pattern with `*` matches a whole path.
fn fits(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, path, is_fit) in [
            ("*/redo/*", "/a/redo/1", true),
            ("*/redo/*", "/a/undo/1", false),
            ("/a/b", "/a/b", true),
            ("/a/b", "/a/bc", false),
            ("*.log", "/x.log", true),
            ("a*a", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, path), is_fit, "{pattern} {path}");
        }
    }

    #[test]
    fn the_user_comes_first_then_the_path_then_the_deeds() {
        let rules = RoleRules::parse("[[role]]\npath = \"*/redo/*\"\nrole = \"log\"\n").unwrap();
        let file = |path: &str| File { path: path.to_owned(), role: Role::of_path(path), ..File::default() };
        let log = Deeds { writes: 10, syncs: 10, onward: 9, ..Deeds::default() };
        let table = Deeds { reads: 50, writes: 10, onward: 1, ..Deeds::default() };
        assert_eq!(rules.of(&file("/d/redo/5.ibd"), &table), Role::Log);
        assert_eq!(rules.of(&file("/d/base/5/1"), &log), Role::Table);
        assert_eq!(rules.of(&file("/d/a"), &log), Role::Log);
        assert_eq!(rules.of(&file("/d/a"), &table), Role::Table);
        assert_eq!(rules.of(&file("/d/a"), &Deeds { writes: 5, onward: 5, emptied: true, ..log }), Role::Log);
        assert_eq!(
            rules.of(&file("/d/a"), &Deeds { writes: 5, onward: 5, emptied: true, ..Deeds::default() }),
            Role::Temporary
        );
        assert!(RoleRules::parse("[[role]]\npath = 5\n").is_err());
        assert!(RoleRules::parse("[[rule]]\n").is_err());
    }
}
