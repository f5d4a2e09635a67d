//! The engines whose operations are file-system calls: create, stat and delete of files and
//! directories, and `fallocate(2)` and `ftruncate(2)` of open files.
//!
//! | engine | one operation |
//! | --- | --- |
//! | [`FileCreate`] | `openat(2)` with `O_CREAT` (closed outside the operation) |
//! | [`FileStat`] | `stat(2)`, `lstat(2)` or `statx(2)` of a file |
//! | [`FileDelete`] | `unlink(2)` |
//! | [`DirCreate`], [`DirStat`], [`DirDelete`] | `mkdir(2)`, stat, `rmdir(2)` |
//! | [`Falloc`] | `fallocate(2)` of the operation's range |
//! | [`Ftruncate`] | `ftruncate(2)` to the operation's offset |
//!
//! In the first six, an operation names a file of the job by its index. Offsets have no meaning,
//! nor does the direction. The files or folders that an operation needs are created when the lane
//! opens, if missing: `filestat` and `filedelete` need files, `dirstat` and `dirdelete`
//! directories, `filecreate` and `dircreate` the directories above. Preparation never changes or
//! removes anything that exists.
//!
//! A success counts the operation's bytes, although none move: so a job of these engines ends by
//! its size, as in fio. Errors are the call's own: creating a directory that exists is `EEXIST`,
//! deleting twice is `ENOENT`.
#![allow(unsafe_code, reason = "island: path and range calls that take C strings and raw descriptors")]

mod path_calls;
mod path_engines;
mod path_lane;
mod prepare;
mod range_engines;
mod range_lane;

pub use path_calls::{AnyPathCall, Create, MakeDirectory, PathCall, RemoveDirectory, STAT_OPTIONS, Stat, Unlink};
pub use path_engines::{DirCreate, DirDelete, DirStat, FileCreate, FileDelete, FileStat};
pub use path_lane::PathLane;
pub use prepare::Precondition;
pub use range_engines::{Falloc, Ftruncate};
pub use range_lane::{Allocate, RangeCall, RangeLane, Truncate};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod conformance {
    use super::{DirCreate, DirDelete, DirStat, Falloc, FileCreate, FileDelete, FileStat, Ftruncate};

    iolab_engine::conformance_suite!(filecreate, FileCreate);
    iolab_engine::conformance_suite!(filestat, FileStat);
    iolab_engine::conformance_suite!(filestat_by_statx, FileStat, stat_type("statx"));
    iolab_engine::conformance_suite!(filedelete, FileDelete);
    iolab_engine::conformance_suite!(dircreate, DirCreate);
    iolab_engine::conformance_suite!(dirstat, DirStat);
    iolab_engine::conformance_suite!(dirdelete, DirDelete);
    iolab_engine::conformance_suite!(falloc, Falloc);
    iolab_engine::conformance_suite!(
        ftruncate,
        Ftruncate,
        ConformanceSetup::default().probe(iolab_engine::OpKind::Write)
    );

    fn stat_type(word: &str) -> iolab_engine::conformance::ConformanceSetup {
        use iolab_engine::conformance::{ConformanceSetup, Value};
        ConformanceSetup::default().option("stat_type", Value::Choice(word.to_owned()))
    }
}
