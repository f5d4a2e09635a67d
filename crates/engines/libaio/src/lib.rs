//! The `libaio` engine: Linux asynchronous I/O (io_submit(2), io_getevents(2)) by raw system calls.
//!
//! Unsafe island: the kernel is given addresses of buffers.
//! The library after which fio names the engine is not used.
//! Not here: poll operations, event descriptors, priorities chosen by the engine.
#![allow(unsafe_code, reason = "island: operations with addresses for the kernel")]

mod lane;
#[cfg(test)]
mod tests;

use iolab_async_io::native_aio::Context;
use iolab_engine::{Capabilities, Engine, EngineDescription, EngineProbe, LaneRequest, Need, OpenError, Polling};
use iolab_options::{DefaultValue, OptionEntry};

pub use lane::LibaioLane;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Libaio;

impl Engine for Libaio {
    type Lane = LibaioLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "libaio",
        aliases: &[],
        summary: "Linux native asynchronous I/O: io_submit and io_getevents",
        details: "Reads and writes become IOCB_CMD_PREAD and PWRITE (PREADV and PWRITEV with libaio_vectored), fsync \
                  and fdatasync IOCB_CMD_FSYNC and FDSYNC, or plain calls where the kernel refuses those. A batch is \
                  submitted by one io_submit and awaited by at most one io_getevents. Only direct I/O is truly asynchronous: \
                  buffered operations are done inside io_submit. Trims (a punched hole in files, BLKDISCARD on \
                  block devices) and sync_file_range have no asynchronous form and are done in place.",
        options: &OPTIONS,
        capabilities: Capabilities {
            polling: Polling::WithOption(&["userspace_reap"]),
            needs: &[Need::AioRequests],
            ..Capabilities::FILES
        },
        trials: &[EngineProbe {
            topic: "libaio",
            words: &["--ioengine=libaio", "--direct=1", "--iodepth=4"],
            consequence: "no native AIO: use io_uring for queue depths above 1",
            mend: "sysctl fs.aio-max-nr=1048576",
        }],
    };

    fn open(request: &LaneRequest<'_>) -> Result<LibaioLane, OpenError> {
        let on = |name| request.options.flag(name).unwrap_or(false);
        let requested = lane::Requested {
            userspace_reap: request.options.flag("userspace_reap"),
            nowait: on("nowait"),
            vectored: on("libaio_vectored"),
            atomic: on("atomic"),
        };
        let context = Context::new(request.depth)
            .map_err(|errno| OpenError { message: explain(errno, request.depth), errno: Some(errno) })?;
        Ok(LibaioLane::new(context, request, requested))
    }
}

/// The meaning of a failed io_setup(2) for users.
fn explain(errno: i32, depth: usize) -> String {
    let why = match errno {
        libc::EAGAIN => "the system-wide limit is reached: raise sysctl fs.aio-max-nr, or lower iodepth or numjobs",
        libc::EINVAL => "the kernel rejects this depth: lower iodepth",
        libc::ENOMEM => "no memory for the context: lower iodepth or numjobs",
        libc::ENOSYS => "this kernel has no asynchronous I/O (or a seccomp filter hides it); use ioengine=psync",
        libc::EPERM => "a seccomp filter forbids asynchronous I/O; use ioengine=psync",
        _ => "the kernel rejected the context",
    };
    format!("io_setup for iodepth {depth} failed (errno {errno}): {why}")
}

/// The engine's own options, which are those of fio.
static OPTIONS: [OptionEntry; 9] = [
    OptionEntry {
        default: DefaultValue::Automatic,
        ..OptionEntry::switch(
            "userspace_reap",
            "Take completions from the kernel's ring in user memory, without a system call",
            "Automatic: on where the ring has the layout known here (magic 0xa10a10a1). A wait for more than the ring \
             holds still calls io_getevents. fio leaves it off unless asked.",
        )
    },
    OptionEntry::switch(
        "nowait",
        "Fail with EAGAIN rather than wait for resources",
        "RWF_NOWAIT on every read and write.",
    ),
    OptionEntry::switch(
        "libaio_vectored",
        "Use vectored reads and writes",
        "IOCB_CMD_PREADV and PWRITEV of one element.",
    ),
    OptionEntry::COMMAND_PRIORITIES[0],
    OptionEntry::COMMAND_PRIORITIES[1],
    OptionEntry::COMMAND_PRIORITIES[2],
    OptionEntry::COMMAND_PRIORITIES[3],
    OptionEntry::COMMAND_PRIORITIES[4],
    OptionEntry::ATOMIC,
];
