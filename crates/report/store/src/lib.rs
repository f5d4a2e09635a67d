//! Runs and studies in an SQLite database: adding, searching, tagging, exporting.
//!
//! The database is an index. Recordings, study folders and reports of fio remain files; an entry
//! has the path of its file, and what lists, filters and exports need: figures, options, job text,
//! host, findings, tags, a note. If the database is lost, tags and notes are lost, but no
//! measurement.
//!
//! Several processes may use it at once: it is in WAL mode, and a writer waits for another
//! ([`BUSY_MS`]). Its version is `user_version`; an older database is upgraded when it is opened, a
//! newer one is refused. A database that cannot be read is not changed.
//!
//! It does not search for files, read recordings or choose the location of the database: the
//! program does.

mod entry;
mod error;
mod export;
mod listing;
mod reading;
mod schema;
mod store;

pub use entry::{DatabaseEntry, EntryFigure, EntryKind, NewEntry};
pub use error::{BUSY_MS, DatabaseError};
pub use export::{History, csv, csv_line, history, json_lines};
pub use listing::Filter;
pub use schema::VERSION;
pub use store::Database;
