//! The `io_uring` engine: operations through shared rings, entered at most once per batch.
//!
//! Unsafe island: it maps the kernel's rings, reads and writes them, and makes system calls that hand the
//! kernel addresses of buffers. It talks to the kernel itself, without a library between: the entry of each
//! slot is rewritten in place, and submitting and waiting are one system call.
//!
//! What the kernel offers is used without being asked for: one issuer with deferred task work, registered
//! ring, files and buffers; options turn each off. What could not be had is said by the lane's notes.
//! Not here: passthrough commands (`io_uring_cmd`), multi-shot operations, linked operations.
#![allow(unsafe_code)] // island: the rings are memory shared with the kernel, and io_uring_* are raw system calls

mod abi;
mod lane;
mod opening;
mod options;
mod ring;
#[cfg(test)]
mod tests;

use iolab_engine::{Capabilities, Engine, EngineDescription, FileEffect, FileUse, OpenError, OpenRequest};

pub use lane::UringLane;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Uring;

impl Engine for Uring {
    type Lane = UringLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "io_uring",
        aliases: &[],
        summary: "Linux io_uring: shared rings, one system call per batch",
        details: "Reads and writes become IORING_OP_READ_FIXED and WRITE_FIXED where buffers can be registered, \
                  else READ and WRITE (READV and WRITEV with nonvectored=0). fsync, fdatasync and sync_file_range \
                  become FSYNC and SYNC_FILE_RANGE, trims FALLOCATE (punching a hole) on files and the discard \
                  command on block devices (BLKDISCARD before Linux 6.12). A batch is submitted and awaited by one \
                  io_uring_enter; with sqthread_poll by none.",
        options: &options::OPTIONS,
        capabilities: Capabilities {
            synchronous: false,
            files: FileUse::Descriptors,
            moves_data: true,
            trims: true,
            syncs: true,
            direct: true,
            extends_files: true,
            effect: FileEffect::ByDirection,
        },
    };

    fn open(request: &OpenRequest<'_>) -> Result<UringLane, OpenError> {
        let wishes = options::Wishes::of(request.options);
        let opened = opening::open(request, &wishes)?;
        Ok(UringLane::new(opened, request, &wishes))
    }
}
