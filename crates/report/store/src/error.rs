//! Errors of the database, and what to do about them.

use std::path::PathBuf;

/// A failure, with its file and advice.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// It is not a database, or is damaged.
    #[error("{}: damaged, or not an iolab database ({reason}). Your recordings are separate files and are safe: move this file away, then run `iolab db import FOLDER`", path.display())]
    Corrupt {
        /// Its file.
        path: PathBuf,
        /// SQLite's message.
        reason: String,
    },
    /// A later version of the program made it.
    #[error("{}: a later version of iolab wrote this database (format {found}; this version reads up to {known}): use that version, or another database (IOLAB_DB)", path.display())]
    Newer {
        /// Its file.
        path: PathBuf,
        /// The version of the database.
        found: u32,
        /// The latest version known here.
        known: u32,
    },
    /// It is the database of another program.
    #[error("{}: a database, but not iolab's: name another file with IOLAB_DB", path.display())]
    Foreign {
        /// Its file.
        path: PathBuf,
    },
    /// Another process holds it for too long.
    #[error("{}: in use by another process for more than {} s", path.display(), crate::BUSY_MS / 1000)]
    Busy {
        /// Its file.
        path: PathBuf,
    },
    /// There is no such entry.
    #[error("there is no entry {id} (`iolab db list` shows all)")]
    NoEntry {
        /// The number.
        id: i64,
    },
    /// Anything else.
    #[error("{}: {reason}", path.display())]
    Sqlite {
        /// Its file.
        path: PathBuf,
        /// SQLite's message.
        reason: String,
    },
}

impl DatabaseError {
    pub(crate) fn of(path: &std::path::Path, error: &rusqlite::Error) -> DatabaseError {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => DatabaseError::Corrupt { path, reason },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => DatabaseError::Busy { path },
            _ => DatabaseError::Sqlite { path, reason },
        }
    }
}

/// How long a writer waits for another, ms.
pub const BUSY_MS: u64 = 10_000;
