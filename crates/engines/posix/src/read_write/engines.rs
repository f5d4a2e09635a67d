//! The engines of this module: their descriptions, and which lane each opens.

use iolab_engine::{Capabilities, Engine, EngineDescription, EngineProbe, LaneRequest, OpenError, Polling};

use crate::read_write::{PVSYNC2_OPTIONS, PosixLane, Pread, Preadv, Preadv2, Seeking, Spliced, VsyncLane};

const CAPABILITIES: Capabilities = Capabilities { synchronous: true, ..Capabilities::FILES };

/// The common part of the descriptions; the rest differs by engine.
const COMMON: EngineDescription = EngineDescription {
    name: "",
    aliases: &[],
    summary: "",
    details: "",
    options: &[],
    capabilities: CAPABILITIES,
    trials: &[],
};

/// The engine `sync`.
#[derive(Debug)]
pub struct Sync;

impl Engine for Sync {
    type Lane = PosixLane<Seeking>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "sync",
        summary: "read(2) and write(2), with lseek(2) where the file is not at the offset",
        details: "A read is read(2), a write is write(2); lseek(2) comes first unless the previous operation left \
                  the file at the offset, so sequential jobs never seek. Trim is BLKDISCARD on a block device and \
                  a punched hole (fallocate) in a file; syncs are fsync(2), fdatasync(2), sync_file_range(2).",
        ..COMMON
    };

    fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError> {
        PosixLane::open(request)
    }
}

/// The engine `psync`, fio's default.
#[derive(Debug)]
pub struct Psync;

impl Engine for Psync {
    type Lane = PosixLane<Pread>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "psync",
        summary: "pread(2) and pwrite(2); the default engine",
        details: "One system call per operation: pread64(2) or pwrite64(2). Trim is BLKDISCARD on a block device \
                  and a punched hole (fallocate) in a file; syncs are fsync(2), fdatasync(2), sync_file_range(2).",
        trials: &[EngineProbe {
            topic: "psync, direct",
            words: &["--ioengine=psync", "--direct=1"],
            consequence: "direct I/O fails here: results would show the page cache",
            mend: "use a folder on a disk (TMPDIR sets the folder that was tried)",
        }],
        ..COMMON
    };

    fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError> {
        PosixLane::open(request)
    }
}

/// The engine `vsync`.
#[derive(Debug)]
pub struct Vsync;

impl Engine for Vsync {
    type Lane = VsyncLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "vsync",
        summary: "readv(2) and writev(2) of runs of adjacent operations",
        details: "Operations that follow one another in the same file and direction are collected, up to the \
                  iodepth or iodepth_batch, and go in one readv(2) or writev(2), after lseek(2) where the file is \
                  not at the offset. An operation that does not continue the run sends the run first. Trims and \
                  syncs as in psync.",
        capabilities: Capabilities { synchronous: false, ..CAPABILITIES },
        ..COMMON
    };

    fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError> {
        VsyncLane::open(request)
    }
}

/// The engine `pvsync`.
#[derive(Debug)]
pub struct Pvsync;

impl Engine for Pvsync {
    type Lane = PosixLane<Preadv>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "pvsync",
        summary: "preadv(2) and pwritev(2)",
        details: "One system call per operation: preadv(2) or pwritev(2) with one buffer. Trims and syncs as in \
                  psync.",
        ..COMMON
    };

    fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError> {
        PosixLane::open(request)
    }
}

/// The engine `pvsync2`.
#[derive(Debug)]
pub struct Pvsync2;

impl Engine for Pvsync2 {
    type Lane = PosixLane<Preadv2>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "pvsync2",
        summary: "preadv2(2) and pwritev2(2), with per-call flags",
        details: "One system call per operation: preadv2(2) or pwritev2(2) with one buffer and the flags that the \
            options ask for: RWF_HIPRI (hipri, hipri_percentage), RWF_DONTCACHE (uncached), RWF_NOWAIT (nowait), and \
            RWF_ATOMIC on writes for a job with atomic=1. If the file does not support a flag, each operation fails \
            with EOPNOTSUPP. Trims and syncs as in psync.",
        options: PVSYNC2_OPTIONS,
        capabilities: Capabilities { polling: Polling::WithOption(&["hipri"]), ..CAPABILITIES },
        ..COMMON
    };

    fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError> {
        PosixLane::open(request)
    }
}

/// The engine `splice`.
#[derive(Debug)]
pub struct Splice;

impl Engine for Splice {
    type Lane = PosixLane<Spliced>;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "splice",
        summary: "splice(2) and vmsplice(2) through a pipe",
        details: "A write maps the buffer into a pipe (vmsplice) and moves the pipe to the file (splice); a read \
                  moves the file to the pipe and the pipe to the buffer. The pipe has 1 MiB where the kernel allows \
                  it, and larger operations take several turns. Trims and syncs as in psync.",
        ..COMMON
    };

    fn open(request: &LaneRequest<'_>) -> Result<Self::Lane, OpenError> {
        PosixLane::open(request)
    }
}
