//! The database: opening, adding, reading, changing.

use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::error::BUSY_MS;
use crate::schema::{State, VERSION};
use crate::{DatabaseEntry, DatabaseError, EntryFigure, EntryKind, Filter, NewEntry, reading, schema};

/// An open database.
#[derive(Debug)]
pub struct Database {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
}

/// Creates an empty file for a database, accessible to its owner only, whatever the umask: it
/// contains command lines and job files.
fn make_private(path: &Path) -> std::io::Result<()> {
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => file.set_permissions(std::fs::Permissions::from_mode(0o600)),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        // SQLite reports what is wrong with the path.
        Err(_) => Ok(()),
    }
}

impl Database {
    /// Opens the database; creates it if there is none, and upgrades it if it is older.
    ///
    /// # Errors
    /// It is damaged, of another program, or of a later version, and is then left unchanged; or it
    /// cannot be created or written.
    pub fn open(path: &Path) -> Result<Database, DatabaseError> {
        make_private(path)
            .map_err(|error| DatabaseError::Sqlite { path: path.to_owned(), reason: error.to_string() })?;
        Database::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// As [`Database::open`], but returns `None` if there is none.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn open_existing(path: &Path) -> Result<Option<Database>, DatabaseError> {
        match path.exists() {
            true => Database::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map(Some),
            false => Ok(None),
        }
    }

    /// Opens a database for reading, even if it cannot be written, as on a read-only file system;
    /// returns `None` if there is none. It is upgraded if possible.
    ///
    /// # Errors
    /// As [`Database::open`]; also when it is of an older version and cannot be upgraded.
    pub fn open_to_read(path: &Path) -> Result<Option<Database>, DatabaseError> {
        match Database::open_existing(path) {
            Err(DatabaseError::Sqlite { reason, .. }) => {
                let connection = reading::open(path, &reason)?;
                Ok(Some(Database { path: path.to_owned(), connection }))
            }
            opened => opened,
        }
    }

    fn open_with(path: &Path, flags: OpenFlags) -> Result<Database, DatabaseError> {
        let failed = |error: rusqlite::Error| DatabaseError::of(path, &error);
        let mut connection =
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
        connection.busy_timeout(Duration::from_millis(BUSY_MS)).map_err(failed)?;
        let path = path.to_owned();
        let is_old = match schema::state(&connection).map_err(failed)? {
            State::Foreign => return Err(DatabaseError::Foreign { path }),
            State::Version(found) if found > VERSION => {
                return Err(DatabaseError::Newer { path, found, known: VERSION });
            }
            State::Version(found) => found < VERSION,
            State::New => true,
        };
        // Readers continue while another process writes. A crash of the machine may lose the last
        // entry, but never the database.
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")
            .map_err(failed)?;
        if is_old {
            schema::bring_up_to_date(&mut connection).map_err(failed)?;
        }
        Ok(Database { path, connection })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, error: &rusqlite::Error) -> DatabaseError {
        DatabaseError::of(&self.path, error)
    }

    /// Runs `work` in a transaction; waits for another writer first.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, DatabaseError> {
        let path = self.path.clone();
        let failed = |error: rusqlite::Error| DatabaseError::of(&path, &error);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let done = work(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(done)
    }

    /// Adds an entry; an existing one of the same file is updated and keeps its number, tags and
    /// note.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn add(&mut self, new: &NewEntry) -> Result<i64, DatabaseError> {
        self.write(|transaction| write(transaction, new))
    }

    /// The entries that match a filter, newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<DatabaseEntry>, DatabaseError> {
        let (query, values) = filter.query();
        let ids = || -> rusqlite::Result<Vec<i64>> {
            let mut statement = self.connection.prepare(&query)?;
            statement.query_map(rusqlite::params_from_iter(values), |row| row.get(0))?.collect()
        };
        let ids = ids().map_err(|error| self.failed(&error))?;
        ids.into_iter().map(|id| self.entry(id)).collect()
    }

    /// One entry.
    ///
    /// # Errors
    /// There is no such entry, or the database cannot be read.
    pub fn entry(&self, id: i64) -> Result<DatabaseEntry, DatabaseError> {
        let entry = read(&self.connection, id).optional().map_err(|error| self.failed(&error))?;
        entry.ok_or(DatabaseError::NoEntry { id })
    }

    /// Adds tags to an entry and removes others.
    ///
    /// # Errors
    /// There is no such entry, or the database cannot be written.
    pub fn tag(&mut self, id: i64, add: &[String], remove: &[String]) -> Result<(), DatabaseError> {
        self.entry(id)?;
        self.write(|transaction| {
            for name in add {
                transaction.execute("INSERT OR IGNORE INTO tag VALUES (?, ?)", params![id, name])?;
            }
            for name in remove {
                transaction.execute("DELETE FROM tag WHERE entry = ? AND name = ?", params![id, name])?;
            }
            Ok(())
        })
    }

    /// Sets the note of an entry.
    ///
    /// # Errors
    /// There is no such entry, or the database cannot be written.
    pub fn note(&mut self, id: i64, text: &str) -> Result<(), DatabaseError> {
        let changed = self.connection.execute("UPDATE entry SET note = ? WHERE id = ?", params![text, id]);
        self.changed(id, changed)
    }

    /// Removes an entry, and the trials of a study; files stay.
    ///
    /// # Errors
    /// There is no such entry, or the database cannot be written.
    pub fn remove(&mut self, id: i64) -> Result<(), DatabaseError> {
        let changed = self.connection.execute("DELETE FROM entry WHERE id = ?", params![id]);
        self.changed(id, changed)
    }

    /// Replaces the folder `from` by `to` in the paths of entries; returns how many it changed.
    ///
    /// # Errors
    /// An entry of one of the new paths exists, or the database cannot be written. Nothing is
    /// changed then.
    pub fn relocate(&mut self, from: &str, to: &str) -> Result<usize, DatabaseError> {
        let is_below = "path = ?1 OR substr(path, 1, length(?1) + 1) = ?1 || '/'";
        self.write(|transaction| {
            transaction.execute(
                &format!("UPDATE entry SET path = ?2 || substr(path, length(?1) + 1) WHERE {is_below}"),
                params![from, to],
            )
        })
    }

    fn changed(&self, id: i64, changed: rusqlite::Result<usize>) -> Result<(), DatabaseError> {
        match changed.map_err(|error| self.failed(&error))? {
            0 => Err(DatabaseError::NoEntry { id }),
            _ => Ok(()),
        }
    }

    /// Faults of the database itself; empty when there are none.
    ///
    /// # Errors
    /// It cannot be read at all.
    pub fn check(&self) -> Result<Vec<String>, DatabaseError> {
        let told = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare("PRAGMA integrity_check")?;
            let lines =
                statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
            let orphans: u32 =
                self.connection.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))?;
            let orphans =
                (orphans > 0).then(|| format!("{} without an entry", iolab_text::counted(orphans.into(), "row")));
            Ok(lines.into_iter().filter(|line| line != "ok").chain(orphans).collect())
        };
        told().map_err(|error| self.failed(&error))
    }
}

fn write(transaction: &Transaction<'_>, new: &NewEntry) -> rusqlite::Result<i64> {
    let NewEntry { kind, title, path, part, parent, block, points, job_text, analysis, summary } = new;
    let whole = |number: Option<u64>| number.and_then(|number| i64::try_from(number).ok());
    let points = serde_json::to_string(points).unwrap_or_default();
    let id: i64 = transaction.query_row(
        "INSERT INTO entry (kind, title, path, part, parent, block, points, started_unix_ns, elapsed_ns, tool, hostname, kernel,
                            cpu_model, job_text, flaw, analysis)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (path, part) DO UPDATE SET kind = excluded.kind, title = excluded.title, parent = coalesce(excluded.parent, parent),
            block = coalesce(excluded.block, block), points = CASE excluded.points WHEN '[]' THEN points ELSE excluded.points END,
            started_unix_ns = excluded.started_unix_ns, elapsed_ns = excluded.elapsed_ns, tool = excluded.tool,
            hostname = excluded.hostname, kernel = excluded.kernel, cpu_model = excluded.cpu_model,
            job_text = excluded.job_text, flaw = excluded.flaw, analysis = excluded.analysis
         RETURNING id",
        params![
            kind.word(), title, path, part, parent, block, points, whole(summary.started_unix_ns),
            whole(summary.elapsed_ns), summary.tool, summary.hostname, summary.kernel, summary.cpu_model, job_text,
            summary.flaw, analysis
        ],
        |row| row.get(0),
    )?;
    for table in ["option", "figure", "finding"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE entry = ?"), params![id])?;
    }
    for job in &summary.jobs {
        for (name, value) in &job.options {
            transaction.execute("INSERT INTO option VALUES (?, ?, ?, ?)", params![id, job.name, name, value])?;
        }
    }
    for EntryFigure { job, name, latency, unit, value } in new.figures() {
        let row = params![id, job, name, latency, unit, value];
        transaction.execute("INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?, ?, ?)", row)?;
    }
    for finding in &summary.findings {
        let severity = format!("{:?}", finding.severity).to_lowercase();
        let row = params![id, finding.rule, severity, finding.consequence];
        transaction.execute("INSERT OR REPLACE INTO finding VALUES (?, ?, ?, ?)", row)?;
    }
    Ok(id)
}

fn read(connection: &Connection, id: i64) -> rusqlite::Result<DatabaseEntry> {
    let unsigned = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
    let mut entry = connection.query_row(
        "SELECT id, kind, title, path, part, parent, block, points, started_unix_ns, elapsed_ns, tool, hostname, kernel, cpu_model,
                job_text, flaw, note, analysis FROM entry WHERE id = ?",
        params![id],
        |row| {
            Ok(DatabaseEntry {
                id: row.get(0)?,
                kind: EntryKind::from_word(&row.get::<_, String>(1)?),
                title: row.get(2)?,
                path: row.get(3)?,
                part: row.get(4)?,
                parent: row.get(5)?,
                block: row.get(6)?,
                points: iolab_deserialize::json(row.get::<_, String>(7)?.as_bytes()).unwrap_or_default(),
                started_unix_ns: unsigned(row.get(8)?),
                elapsed_ns: unsigned(row.get(9)?),
                tool: row.get(10)?,
                hostname: row.get(11)?,
                kernel: row.get(12)?,
                cpu_model: row.get(13)?,
                job_text: row.get(14)?,
                flaw: row.get(15)?,
                note: row.get(16)?,
                analysis: row.get(17)?,
                tags: Vec::new(),
                options: Default::default(),
                figures: Vec::new(),
                findings: Vec::new(),
            })
        },
    )?;
    let mut statement = connection.prepare("SELECT name FROM tag WHERE entry = ? ORDER BY name")?;
    entry.tags = statement.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut statement = connection.prepare("SELECT job, name, value FROM option WHERE entry = ?")?;
    for option in statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))? {
        let (job, name, value): (String, String, String) = option?;
        entry.options.entry(job).or_default().insert(name, value);
    }
    let query = "SELECT job, name, latency, unit, value FROM figure WHERE entry = ? ORDER BY job, name";
    let figure = |row: &rusqlite::Row<'_>| {
        let (job, name, latency) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(EntryFigure { job, name, latency, unit: row.get(3)?, value: row.get(4)? })
    };
    entry.figures = connection.prepare(query)?.query_map([id], figure)?.collect::<Result<_, _>>()?;
    let mut statement = connection.prepare("SELECT rule, consequence FROM finding WHERE entry = ? ORDER BY rule")?;
    entry.findings = statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    Ok(entry)
}
