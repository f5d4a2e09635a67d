//! The `io_uring` engine: operations through shared rings, entered at most once per batch.
//!
//! Unsafe island: it maps the kernel's rings, reads and writes them, and makes system calls that
//! pass addresses of buffers to the kernel. It uses the kernel's interface without a library: the
//! entry of each slot is rewritten in place, and submitting and waiting are one system call.
//!
//! The kernel's features are used by default: one issuer with deferred task work, registered ring,
//! files and buffers; options turn each off. The lane's notes report unavailable ones. NVMe
//! commands over the same rings are the engine `io_uring_cmd`, in `passthrough`. Not here:
//! multi-shot operations, linked operations.
#![allow(
    unsafe_code,
    reason = "island: the rings are memory shared with the kernel, and io_uring_* are raw system calls"
)]

mod abi;
mod lane;
mod opening;
mod options;
mod passthrough;
mod ring;
#[cfg(test)]
mod tests;

use iolab_engine::{Capabilities, Engine, EngineDescription, EngineProbe, LaneRequest, Need, OpenError, Polling};

pub use lane::UringLane;
pub use passthrough::{PassthroughLane, UringCmd};

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Uring;

/// Features that may not work on a machine.
const TRIALS: [EngineProbe; 5] = [
    EngineProbe {
        topic: "io_uring",
        words: &["--ioengine=io_uring", "--direct=1", "--iodepth=4"],
        consequence: "no io_uring: use libaio for queue depths above 1",
        mend: "sysctl kernel.io_uring_disabled=0",
    },
    EngineProbe {
        topic: "io_uring, fixed buffers",
        words: &["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--fixedbufs"],
        consequence: "each operation has to pin its pages",
        mend: "ulimit -l unlimited",
    },
    EngineProbe {
        topic: "io_uring, registered files",
        words: &["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--registerfiles"],
        consequence: "each operation has to look up its file",
        mend: "",
    },
    EngineProbe {
        topic: "io_uring, SQPOLL",
        words: &["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--sqthread_poll"],
        consequence: "submissions need system calls",
        mend: "run as root, or on Linux 5.11 or later",
    },
    EngineProbe {
        topic: "io_uring, IOPOLL",
        words: &["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--hipri"],
        consequence: "completions use interrupts: this disk has no poll queues",
        mend: "for NVMe: nvme.poll_queues=2 on the kernel's command line; or ioengine=nvme from user space",
    },
];

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
            polling: Polling::WithOption(&["hipri", "sqthread_poll"]),
            needs: &[Need::LockedMemory],
            ..Capabilities::FILES
        },
        trials: &TRIALS,
    };

    fn open(request: &LaneRequest<'_>) -> Result<UringLane, OpenError> {
        let requested = options::Requested::of(request.options);
        let opened = opening::open(request, &requested)?;
        Ok(UringLane::new(opened, request, &requested))
    }
}
