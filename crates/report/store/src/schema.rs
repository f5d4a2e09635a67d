//! The tables, and the migration from each version to the next.
//!
//! ```text
//! entry ─┬─ option   job, name, value: what the user set
//!   ▲    ├─ figure   job, name, value: what was measured
//!   │    ├─ finding  rule, severity, consequence: what is wrong with it
//!   │    └─ tag      name
//!   └─ parent: the study of a trial
//! ```

use rusqlite::{Connection, TransactionBehavior};

/// "iola" in ASCII: the `application_id` of iolab's databases.
pub(crate) const APPLICATION_ID: u32 = 0x696f_6c61;

/// Step n migrates version n to n + 1. A step is never changed once databases of its version may
/// exist.
pub(crate) const STEPS: [&str; 2] = [
    "CREATE TABLE entry (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        path TEXT NOT NULL,
        part INTEGER NOT NULL DEFAULT 0,
        parent INTEGER REFERENCES entry(id) ON DELETE CASCADE,
        block INTEGER,
        points TEXT NOT NULL DEFAULT '[]',
        started_unix_ns INTEGER,
        elapsed_ns INTEGER,
        tool TEXT NOT NULL,
        hostname TEXT,
        kernel TEXT,
        cpu_model TEXT,
        job_text TEXT NOT NULL DEFAULT '',
        flaw TEXT,
        UNIQUE (path, part)
    ) STRICT;
    CREATE INDEX entry_by_start ON entry(started_unix_ns);
    CREATE INDEX entry_by_parent ON entry(parent);
    CREATE TABLE option (
        entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE,
        job TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (entry, job, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX option_by_value ON option(name, value);
    CREATE TABLE figure (
        entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE,
        job TEXT NOT NULL, name TEXT NOT NULL, latency TEXT, unit TEXT NOT NULL, value REAL NOT NULL,
        PRIMARY KEY (entry, job, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE tag (
        entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        PRIMARY KEY (entry, name)
    ) STRICT, WITHOUT ROWID;",
    "ALTER TABLE entry ADD COLUMN note TEXT NOT NULL DEFAULT '';
    ALTER TABLE entry ADD COLUMN analysis TEXT;
    CREATE TABLE finding (
        entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE,
        rule TEXT NOT NULL, severity TEXT NOT NULL, consequence TEXT NOT NULL,
        PRIMARY KEY (entry, rule)
    ) STRICT, WITHOUT ROWID;",
];

/// The version that this program writes.
pub const VERSION: u32 = STEPS.len() as u32;

/// The state of a database when it is opened.
pub(crate) enum State {
    /// Empty.
    New,
    /// A database of iolab in this version.
    Version(u32),
    /// A database of another program.
    Foreign,
}

pub(crate) fn state(connection: &Connection) -> rusqlite::Result<State> {
    let number = |pragma: &str| connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, u32>(0));
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (number("application_id")?, number("user_version")?) {
        (APPLICATION_ID, version) => State::Version(version),
        (0, 0) if tables == 0 => State::New,
        _ => State::Foreign,
    })
}

/// Runs the missing steps, all or none; another process may have run them meanwhile.
pub(crate) fn bring_up_to_date(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for step in STEPS.iter().skip(version as usize) {
        transaction.execute_batch(step)?;
    }
    transaction
        .execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"))?;
    transaction.commit()
}
