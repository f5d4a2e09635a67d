//! Opens a database that cannot be written: of another user, or on a read-only file system.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::{BUSY_MS, DatabaseError};
use crate::schema::{self, State, VERSION};

/// Opens it; `reason` says why it could not be opened for writing.
///
/// To read a database in WAL mode, SQLite must be able to create or write a file next to it. If it
/// cannot, no process can write the database either (its directory is read-only), and it is opened
/// as immutable.
pub(crate) fn open(path: &Path, reason: &str) -> Result<Connection, DatabaseError> {
    let plain = attempt(path, path.to_owned());
    if plain.is_ok() || !only_whole(path) {
        return plain.map_err(|error| told(path, error, reason));
    }
    attempt(path, unchanging(path)).map_err(|error| told(path, error, reason))
}

fn attempt(path: &Path, name: PathBuf) -> Result<Connection, DatabaseError> {
    let failed = |error: rusqlite::Error| DatabaseError::of(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(name, flags).map_err(failed)?;
    connection.busy_timeout(Duration::from_millis(BUSY_MS)).map_err(failed)?;
    let path = path.to_owned();
    match schema::state(&connection).map_err(failed)? {
        State::Version(VERSION) => Ok(connection),
        State::Version(found) if found > VERSION => Err(DatabaseError::Newer { path, found, known: VERSION }),
        State::Version(found) => {
            let reason = format!("of version {found}; it is brought up to version {VERSION} when it can be written");
            Err(DatabaseError::Sqlite { path, reason })
        }
        State::New => Err(DatabaseError::Sqlite { path, reason: "empty, and it cannot be written".to_owned() }),
        State::Foreign => Err(DatabaseError::Foreign { path }),
    }
}

/// Whether everything written is in the database file itself, not in a log next to it.
fn only_whole(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).map_or(true, |metadata| metadata.len() == 0)
}

/// The URI with which SQLite opens a file as immutable (sqlite.org/uri.html).
fn unchanging(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    PathBuf::from(format!("file://{escaped}?immutable=1"))
}

fn told(path: &Path, error: DatabaseError, reason: &str) -> DatabaseError {
    match error {
        DatabaseError::Sqlite { reason: now, .. } if now != reason => {
            DatabaseError::Sqlite { path: path.to_owned(), reason: format!("{now}; for writing: {reason}") }
        }
        error => error,
    }
}
