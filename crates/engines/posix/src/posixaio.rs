//! The engine `posixaio`: the C library's POSIX asynchronous I/O, `aio_read(3)` and its kin.
//!
//! The C library performs the operations on threads of its own (glibc: up to 20, started on
//! demand), with `pread64(2)` and `pwrite64(2)`; it keeps the operations of one descriptor in
//! order, one at a time, so depth helps only a job of several files. It allocates its request
//! records itself, beyond this crate's promise not to allocate.
//!
//! Trims and `sync_file_range` have no asynchronous call and are done at once, inside `submit`.
#![allow(unsafe_code, reason = "island: aio_read, aio_write, aio_fsync and their completion on slot buffers")]

mod control_blocks;
mod lane;

pub use lane::PosixAioLane;

use iolab_engine::{Capabilities, Engine, EngineDescription, EngineProbe, LaneRequest, OpenError};

/// The engine `posixaio`.
#[derive(Debug)]
pub struct PosixAio;

impl Engine for PosixAio {
    type Lane = PosixAioLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "posixaio",
        aliases: &[],
        summary: "POSIX asynchronous I/O of the C library: aio_read(3), aio_write(3)",
        details: "Operations are queued with aio_read(3), aio_write(3) and aio_fsync(3), awaited with \
                  aio_suspend(3) and collected with aio_error(3) and aio_return(3). glibc performs them by \
                  pread64(2), pwrite64(2), fsync(2) and fdatasync(2) on threads of its own, those of one file one \
                  after another. Trim (BLKDISCARD, or a punched hole in a file) and sync_file_range(2) are done \
                  at once by the submitting thread.",
        options: &[],
        capabilities: Capabilities::FILES,
        trials: &[EngineProbe {
            topic: "posixaio",
            words: &["--ioengine=posixaio", "--direct=1", "--iodepth=4"],
            consequence: "no POSIX AIO",
            mend: "",
        }],
    };

    fn open(request: &LaneRequest<'_>) -> Result<PosixAioLane, OpenError> {
        Ok(PosixAioLane::open(request))
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod conformance {
    use super::PosixAio;

    iolab_engine::conformance_suite!(posixaio, PosixAio);
    iolab_engine::conformance_suite!(direct, PosixAio, ConformanceSetup::default().direct());
}
