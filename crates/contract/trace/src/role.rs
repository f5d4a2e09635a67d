//! The role of a file in a program, judged by its path.
//!
//! The patterns are those of common databases and programs. The operations on a file may show its
//! role better.

use serde::{Deserialize, Serialize};

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A log that makes changes durable: appended to, or rewritten in rounds, with syncs.
    Log,
    /// Tables, indexes, sorted runs: what a program keeps.
    Table,
    /// Data that the program discards.
    Temporary,
    /// Programs, libraries, settings, locales.
    Program,
    /// Its path does not show it.
    #[default]
    Other,
}

/// A pattern, where it is looked for, and what it says. The first that fits counts.
const PATTERNS: [(&str, Place, Role); 32] = [
    ("/pg_wal/", Place::Inside, Role::Log),
    ("/pg_xlog/", Place::Inside, Role::Log),
    ("ib_logfile", Place::Name, Role::Log),
    ("#ib_redo", Place::Name, Role::Log),
    ("aria_log", Place::Name, Role::Log),
    ("binlog.", Place::Name, Role::Log),
    ("-wal", Place::End, Role::Log),
    ("-journal", Place::End, Role::Log),
    (".wal", Place::End, Role::Log),
    ("/journal/", Place::Inside, Role::Log),
    ("commitlog", Place::Inside, Role::Log),
    ("/pgsql_tmp/", Place::Inside, Role::Temporary),
    ("pgsql_tmp", Place::Name, Role::Temporary),
    ("ibtmp", Place::Name, Role::Temporary),
    ("#sql", Place::Name, Role::Temporary),
    (".tmp", Place::End, Role::Temporary),
    ("/base/", Place::Inside, Role::Table),
    ("/global/", Place::Inside, Role::Table),
    ("/pg_xact/", Place::Inside, Role::Table),
    (".ibd", Place::End, Role::Table),
    ("ibdata", Place::Name, Role::Table),
    ("undo0", Place::Name, Role::Table),
    (".MAD", Place::End, Role::Table),
    (".MAI", Place::End, Role::Table),
    (".sst", Place::End, Role::Table),
    (".ldb", Place::End, Role::Table),
    (".db", Place::End, Role::Table),
    (".sqlite", Place::End, Role::Table),
    ("/usr/", Place::Start, Role::Program),
    ("/lib", Place::Start, Role::Program),
    ("/etc/", Place::Start, Role::Program),
    ("/bin/", Place::Start, Role::Program),
];

#[derive(Debug, Clone, Copy)]
enum Place {
    Inside,
    Name,
    End,
    Start,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 5] = [Role::Log, Role::Table, Role::Temporary, Role::Program, Role::Other];

    /// What the path of a file says.
    pub fn of_path(path: &str) -> Role {
        let name = path.rsplit('/').next().unwrap_or(path);
        let fits = |pattern: &str, place: Place| match place {
            Place::Inside => path.contains(pattern),
            Place::Name => name.starts_with(pattern),
            Place::End => path.ends_with(pattern),
            Place::Start => path.starts_with(pattern),
        };
        // RocksDB and LevelDB call their logs 000012.log.
        if name
            .strip_suffix(".log")
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
        {
            return Role::Log;
        }
        let found = PATTERNS.iter().find(|(pattern, place, _)| fits(pattern, *place));
        found.map_or(Role::Other, |(_, _, role)| *role)
    }

    /// In texts and as the name of a section.
    pub fn name(self) -> &'static str {
        match self {
            Role::Log => "log",
            Role::Table => "table",
            Role::Temporary => "temporary",
            Role::Program => "program",
            Role::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_common_programs() {
        for (path, role) in [
            ("/var/lib/postgresql/15/main/pg_wal/000000010000000000000001", Role::Log),
            ("/var/lib/postgresql/15/main/base/5/16384", Role::Table),
            ("/var/lib/postgresql/15/main/base/pgsql_tmp/pgsql_tmp33.0", Role::Temporary),
            ("/var/lib/mysql/ib_logfile0", Role::Log),
            ("/var/lib/mysql/test/t.ibd", Role::Table),
            ("/db/000012.log", Role::Log),
            ("/var/log/messages.log", Role::Other),
            ("/x/app.db-wal", Role::Log),
            ("/x/app.db-journal", Role::Log),
            ("/x/app.db", Role::Table),
            ("/usr/share/locale/x", Role::Program),
            ("/tmp/tmp.abc/data/base/5/1", Role::Table),
            ("/data/file", Role::Other),
            ("", Role::Other),
        ] {
            assert_eq!(Role::of_path(path), role, "{path}");
        }
    }
}
