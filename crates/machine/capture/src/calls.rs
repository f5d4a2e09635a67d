//! The calls that are stopped, and the meaning of each for a trace. Numbers are those of this
//! architecture; calls named twice here exist on x86-64 only.

use std::sync::LazyLock;

use iolab_trace::{Call, Flags};
use libc::c_long;

/// What the arguments of a call mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `(fd, buffer, length)`, at the position of the descriptor.
    Plain(Call),
    /// `(fd, buffer, length, offset)`.
    Positioned(Call),
    /// `(fd, vector, count)`, at the position of the descriptor.
    Vector(Call),
    /// `(fd, vector, count, offset)`, and flags of `preadv2` behind the upper half of the offset.
    PositionedVector(Call),
    /// `(fd)`.
    Sync(Call),
    /// `sync()`.
    SyncAll,
    /// `(fd, offset, length, flags)`.
    SyncRange,
    /// `msync(address, length, flags)`.
    MemorySync,
    /// `open(path, flags)`.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only older architectures have this call"))]
    Open,
    /// `openat(folder, path, flags)`.
    OpenAt,
    /// `openat2(folder, path, how)`.
    OpenAt2,
    /// `creat(path)`.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only older architectures have this call"))]
    Create,
    /// `close(fd)`.
    Close,
    /// `close_range(first, last, flags)`.
    CloseRange,
    /// `dup(fd)`: the result is the new descriptor.
    Dup,
    /// `dup2(fd, to)`, `dup3(fd, to)`.
    DupTo,
    /// `fcntl(fd, F_SETFL)`, or `F_DUPFD`.
    Control,
    /// `lseek(fd, offset, whence)`.
    Seek,
    /// `fallocate(fd, mode, offset, length)`.
    Allocate,
    /// `ftruncate(fd, length)`.
    Resize,
    /// `truncate(path, length)`.
    ResizePath,
    /// `mmap(address, length, protection, flags, fd, offset)`.
    Map,
    /// `(fd in, offset in *, fd out, offset out *, length)`.
    Move(Call, Call),
    /// `sendfile(fd out, fd in, offset *, length)`.
    Sendfile,
    /// `io_submit(context, number, control blocks)`.
    AioSubmit,
    /// `io_getevents(context, …)`, `io_destroy(context)`.
    AioCollect,
    /// `io_uring_setup(entries, parameters)`.
    RingSetup,
    /// `io_uring_enter(ring, number, …, flags)`.
    RingEnter,
    /// `io_uring_register(ring, what, argument, number)`.
    RingRegister,
    /// `execve`, `execveat`.
    Exec,
    /// `sched_getaffinity`, `sched_setaffinity`: no storage, but a program must not see where
    /// tracing keeps it ([`crate::one_cpu`]).
    Affinity,
}

/// `io_pgetevents` and `sync_file_range`, whose numbers the C library's crate does not know
/// everywhere.
#[cfg(target_arch = "x86_64")]
const UNNAMED: [c_long; 2] = [333, 277];
#[cfg(target_arch = "aarch64")]
const UNNAMED: [c_long; 2] = [292, 84];

/// The calls that both kinds of machine have.
const SHARED: [(c_long, Shape); 42] = [
    (libc::SYS_read, Shape::Plain(Call::Read)),
    (libc::SYS_write, Shape::Plain(Call::Write)),
    (libc::SYS_pread64, Shape::Positioned(Call::Pread)),
    (libc::SYS_pwrite64, Shape::Positioned(Call::Pwrite)),
    (libc::SYS_readv, Shape::Vector(Call::Readv)),
    (libc::SYS_writev, Shape::Vector(Call::Writev)),
    (libc::SYS_preadv, Shape::PositionedVector(Call::Preadv)),
    (libc::SYS_pwritev, Shape::PositionedVector(Call::Pwritev)),
    (libc::SYS_preadv2, Shape::PositionedVector(Call::Preadv2)),
    (libc::SYS_pwritev2, Shape::PositionedVector(Call::Pwritev2)),
    (libc::SYS_fsync, Shape::Sync(Call::Fsync)),
    (libc::SYS_fdatasync, Shape::Sync(Call::Fdatasync)),
    (libc::SYS_syncfs, Shape::Sync(Call::Syncfs)),
    (libc::SYS_sync, Shape::SyncAll),
    (UNNAMED[1], Shape::SyncRange),
    (libc::SYS_msync, Shape::MemorySync),
    (libc::SYS_openat, Shape::OpenAt),
    (libc::SYS_openat2, Shape::OpenAt2),
    (libc::SYS_close, Shape::Close),
    (libc::SYS_close_range, Shape::CloseRange),
    (libc::SYS_dup, Shape::Dup),
    (libc::SYS_dup3, Shape::DupTo),
    (libc::SYS_fcntl, Shape::Control),
    (libc::SYS_lseek, Shape::Seek),
    (libc::SYS_fallocate, Shape::Allocate),
    (libc::SYS_ftruncate, Shape::Resize),
    (libc::SYS_truncate, Shape::ResizePath),
    (libc::SYS_mmap, Shape::Map),
    (libc::SYS_copy_file_range, Shape::Move(Call::CopyRead, Call::CopyWrite)),
    (libc::SYS_splice, Shape::Move(Call::SpliceRead, Call::SpliceWrite)),
    (libc::SYS_sendfile, Shape::Sendfile),
    (libc::SYS_io_submit, Shape::AioSubmit),
    (libc::SYS_io_getevents, Shape::AioCollect),
    (UNNAMED[0], Shape::AioCollect),
    (libc::SYS_io_destroy, Shape::AioCollect),
    (libc::SYS_io_uring_setup, Shape::RingSetup),
    (libc::SYS_io_uring_enter, Shape::RingEnter),
    (libc::SYS_io_uring_register, Shape::RingRegister),
    (libc::SYS_execve, Shape::Exec),
    (libc::SYS_execveat, Shape::Exec),
    (libc::SYS_sched_getaffinity, Shape::Affinity),
    (libc::SYS_sched_setaffinity, Shape::Affinity),
];

#[cfg(target_arch = "x86_64")]
const OLD: [(c_long, Shape); 3] =
    [(libc::SYS_open, Shape::Open), (libc::SYS_creat, Shape::Create), (libc::SYS_dup2, Shape::DupTo)];
#[cfg(target_arch = "aarch64")]
const OLD: [(c_long, Shape); 0] = [];

/// Every call that is stopped.
pub(crate) fn all() -> impl Iterator<Item = (c_long, Shape)> {
    SHARED.into_iter().chain(OLD)
}

/// The shape of a call, by its number. It is needed for every stop, so it is a table lookup.
pub(crate) fn shape_of(number: u64) -> Option<Shape> {
    static SHAPES: LazyLock<Vec<Option<Shape>>> = LazyLock::new(|| {
        let count = all().map(|(number, _)| number as usize + 1).max().unwrap_or(0);
        let mut shapes = vec![None; count];
        all().for_each(|(number, shape)| shapes[number as usize] = Some(shape));
        shapes
    });
    SHAPES.get(usize::try_from(number).ok()?).copied().flatten()
}

/// Flags of one transfer (`RWF_*`, preadv2(2)).
pub(crate) fn flags_of_transfer(flags: u64) -> Flags {
    Flags::default()
        .and_if(flags & 2 != 0, Flags::DATA_SYNC)
        .and_if(flags & 4 != 0, Flags::FILE_SYNC)
        .and_if(flags & 8 != 0, Flags::NO_WAIT)
        .and_if(flags & 16 != 0, Flags::APPEND)
}
