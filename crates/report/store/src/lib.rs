//! Runs and studies in an SQLite database: kept, searched, tagged, exported.
//!
//! The database is an index. Recordings, study folders and reports of fio stay the files they are;
//! an entry knows the path of its file, and what lists, filters and exports need: figures, options,
//! job text, host, findings, tags, a note. Losing the database loses tags and notes, never a
//! measurement.
//!
//! Several processes may use it at once: it is in WAL mode, and a writer waits for another
//! ([`BUSY_MS`]). Its version is `user_version`; an older one is brought up to date when it is
//! opened, a newer one is refused. What it cannot read it does not touch.
//!
//! It does not look for files, read recordings or decide where it lies: the program does.

mod entry;
mod error;
mod export;
mod listing;
mod reading;
mod schema;
mod store;

pub use entry::{DatabaseEntry, EntryFigure, EntryKind, NewEntry};
pub use error::{BUSY_MS, DatabaseError};
pub use export::{csv, json_lines};
pub use listing::Filter;
pub use schema::VERSION;
pub use store::Database;
