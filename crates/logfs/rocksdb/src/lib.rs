//! logfs for programs that make blocking calls from many threads, and as a FileSystem of RocksDB.
//!
//! ```text
//!  RocksDB's threads ─▶ cpp/: class of rocksdb::FileSystem ─▶ abi: C functions ─▶ FileSystem, OpenFile
//!                                                                                       │ requests, answers
//!                                                                 the service's thread ─┴─ executor ─ Volume ─ Disk
//! ```
//!
//! logfs runs on one thread, which waits only for the disk and for requests. [`FileSystem`] owns
//! such a thread; every call from another thread becomes a task on it, and the caller sleeps until
//! the task has ended. Operations without a result avoid the call. Appended bytes gather in the
//! file, as they would in a page cache, until there are many, a sync comes, or
//! [`Location::commit_seconds`] have passed. A file that is read in order is read ahead. There is
//! no other read cache: a database has its own.
//!
//! A process that is killed loses what no sync has made durable, as in a power failure: no kernel
//! below keeps it. What is lost is the end of each file, never the middle (docs/logfs/rocksdb.md).
//!
//! Without the feature `shim`, nothing here needs RocksDB or C++.

mod abi;
mod committer;
#[cfg(feature = "shim")]
mod entry;
mod failure;
mod file_system;
mod location;
mod names;
mod open_file;
mod readahead;
mod requests;
mod service;

pub use failure::CallFailure;
pub use file_system::{FileSystem, How};
pub use location::{BadLocation, Location};
pub use names::Status;
pub use open_file::OpenFile;
