//! logfs for programs that make blocking calls from many threads, and as a FileSystem of RocksDB.
//!
//! ```text
//!  RocksDB's threads ─▶ cpp/: class of rocksdb::FileSystem ─▶ abi: C functions ─▶ FileSystem, OpenFile
//!                                                                                       │ requests, answers
//!                                                                 the service's thread ─┴─ executor ─ Volume ─ Disk
//! ```
//!
//! logfs belongs to one thread, which never waits for anything but the world. [`FileSystem`] keeps
//! such a thread; every call from elsewhere becomes a task on it, and the caller sleeps until it
//! has ended. What costs no answer costs no call: appended bytes gather in the file, as they would
//! in a page cache, until there are many, somebody syncs, or [`Location::commit_seconds`] have
//! passed; a file that is read in order is read ahead. There is no cache of what was read
//! otherwise: a database has its own.
//!
//! A process that is killed loses what no sync has made durable, as if the power had failed: there
//! is no kernel beneath that keeps it. What is lost is the end of each file, never the middle
//! (docs/logfs/rocksdb.md).
//!
//! Without the feature `shim` nothing of RocksDB is here, and no C++.

mod abi;
mod committer;
mod doorway;
#[cfg(feature = "shim")]
mod entry;
mod failure;
mod file_system;
mod location;
mod names;
mod open_file;
mod readahead;
mod service;

pub use failure::CallFailure;
pub use file_system::{FileSystem, How};
pub use location::{BadLocation, Location};
pub use names::Status;
pub use open_file::OpenFile;
