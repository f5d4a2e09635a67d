//! The engines on paths: their descriptions.

use iolab_engine::{Capabilities, Engine, EngineDescription, FileEffect, FileUse, LaneRequest, OpenError, Polling};
use iolab_options::{PageCache, Reach};

use crate::fileops::{Create, MakeDirectory, PathLane, RemoveDirectory, STAT_OPTIONS, Stat, Unlink};

/// The capabilities of engines that remove.
const REMOVES: Capabilities = Capabilities { effect: FileEffect::Removes, ..COMMON.capabilities };

/// The common part of the descriptions; the rest differs by engine.
const COMMON: EngineDescription = EngineDescription {
    name: "",
    aliases: &[],
    summary: "",
    details: "",
    options: &[],
    capabilities: Capabilities {
        synchronous: true,
        files: FileUse::Paths,
        moves_data: false,
        trims: false,
        trims_ranges: false,
        syncs: false,
        direct: true,
        extends_files: true,
        effect: FileEffect::Makes,
        reach: Reach::Names,
        page_cache: PageCache::Never,
        polling: Polling::Never,
        reads_to_write: false,
        needs: &[],
    },
    trials: &[],
};

macro_rules! path_engines {
    ($($engine:ident, $call:ty, $description:expr;)*) => {
        $(#[doc = concat!("The engine `", stringify!($engine), "` (in lower case).")]
        #[derive(Debug)]
        pub struct $engine;

        impl Engine for $engine {
            type Lane = PathLane;

            const DESCRIPTION: EngineDescription = $description;

            fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError> {
                PathLane::open::<$call>(request)
            }
        })*
    };
}

path_engines! {
    FileCreate, Create, EngineDescription {
        name: "filecreate",
        summary: "Creates files: openat(2) with O_CREAT",
        details: "One operation creates one file of the job, empty, mode 0600; it is closed outside the operation. A \
            file that exists is opened, not emptied. Parent directories are created before the job. Give nrfiles and \
            filesize: each file counts as its size, although nothing is written.",
        ..COMMON
    };
    FileStat, Stat<false>, EngineDescription {
        name: "filestat",
        summary: "Looks files up: stat(2), lstat(2) or statx(2)",
        details: "One operation is one call of stat_type on one file of the job. Missing files are created before \
            the job, without blocks. Give nrfiles and filesize.",
        options: STAT_OPTIONS,
        ..COMMON
    };
    FileDelete, Unlink, EngineDescription {
        name: "filedelete",
        summary: "Deletes files: unlink(2)",
        details: "One operation unlinks one file of the job. Missing files are made before the job, without blocks; \
            a file deleted twice is ENOENT. Files that no job created are refused. Give nrfiles and filesize.",
        capabilities: REMOVES,
        ..COMMON
    };
    DirCreate, MakeDirectory, EngineDescription {
        name: "dircreate",
        summary: "Creates directories: mkdir(2)",
        details: "One operation creates one directory, named like a file of the job, mode 0700; one that exists is \
            EEXIST. Parent directories are created before the job. Give nrfiles and filesize.",
        ..COMMON
    };
    DirStat, Stat<true>, EngineDescription {
        name: "dirstat",
        summary: "Looks directories up: stat(2), lstat(2) or statx(2)",
        details: "One operation is one call of stat_type on one directory, named like a file of the job. Missing \
            directories are created before the job. Give nrfiles and filesize.",
        options: STAT_OPTIONS,
        ..COMMON
    };
    DirDelete, RemoveDirectory, EngineDescription {
        name: "dirdelete",
        summary: "Deletes directories: rmdir(2)",
        details: "One operation removes one directory, named like a file of the job. Missing directories are created \
            before the job; one removed twice is ENOENT. Files that no job created are refused. Give nrfiles and \
            filesize.",
        capabilities: REMOVES,
        ..COMMON
    };
}
