//! The kernel's side of io_uring as types and numbers: `include/uapi/linux/io_uring.h`, explained
//! in io_uring_setup(2), io_uring_enter(2) and io_uring_register(2).
//!
//! Only what this engine uses. No logic.

/// Offsets of the submission ring's fields within its mapping.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub(crate) struct SubmissionOffsets {
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) ring_mask: u32,
    pub(crate) ring_entries: u32,
    pub(crate) flags: u32,
    pub(crate) dropped: u32,
    pub(crate) array: u32,
    pub(crate) reserved: u32,
    pub(crate) user_addr: u64,
}

/// Offsets of the completion ring's fields within its mapping.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub(crate) struct CompletionOffsets {
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) ring_mask: u32,
    pub(crate) ring_entries: u32,
    pub(crate) overflow: u32,
    pub(crate) cqes: u32,
    pub(crate) flags: u32,
    pub(crate) reserved: u32,
    pub(crate) user_addr: u64,
}

/// `struct io_uring_params`.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub(crate) struct Params {
    pub(crate) sq_entries: u32,
    pub(crate) cq_entries: u32,
    pub(crate) flags: u32,
    pub(crate) sq_thread_cpu: u32,
    pub(crate) sq_thread_idle: u32,
    pub(crate) features: u32,
    pub(crate) wq_fd: u32,
    pub(crate) reserved: [u32; 3],
    pub(crate) sq_off: SubmissionOffsets,
    pub(crate) cq_off: CompletionOffsets,
}

/// `struct io_uring_sqe`, one submission, in words of eight bytes so that each is one store.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Sqe {
    /// Opcode, flags, priority, file: see [`word`].
    pub(crate) word: u64,
    /// Offset in the file; for `URING_CMD` the command, see [`pair`].
    pub(crate) off: u64,
    /// Address of the buffer or iovec; length of the range for `FALLOCATE`; start for a discard
    /// command.
    pub(crate) addr: u64,
    /// A [`pair`]: length, number of iovecs or mode for `FALLOCATE`; `RWF_*`, fsync or
    /// sync_file_range flags.
    pub(crate) length_and_flags: u64,
    pub(crate) user_data: u64,
    /// A [`word`] of other fields: buffer index (see [`BUFFER_SHIFT`]), personality, splice
    /// descriptor.
    pub(crate) buffer: u64,
    /// Length for a discard command.
    pub(crate) addr3: u64,
    pub(crate) pad: u64,
}

/// Where in the first word of an entry the flags, the priority and the file are.
pub(crate) const FLAGS_SHIFT: u32 = if cfg!(target_endian = "little") { 8 } else { 48 };
pub(crate) const PRIORITY_SHIFT: u32 = if cfg!(target_endian = "little") { 16 } else { 32 };
pub(crate) const FILE_SHIFT: u32 = if cfg!(target_endian = "little") { 32 } else { 0 };
/// Where in its word the buffer index is.
pub(crate) const BUFFER_SHIFT: u32 = if cfg!(target_endian = "little") { 0 } else { 48 };

const OPCODE_SHIFT: u32 = if cfg!(target_endian = "little") { 0 } else { 56 };

/// The first word of an entry without priority and file.
pub(crate) const fn word(opcode: u8, flags: u8) -> u64 {
    (opcode as u64) << OPCODE_SHIFT | (flags as u64) << FLAGS_SHIFT
}

/// Two neighbouring fields of four bytes.
#[inline]
pub(crate) const fn pair(first: u32, second: u32) -> u64 {
    if cfg!(target_endian = "little") {
        first as u64 | (second as u64) << 32
    } else {
        (first as u64) << 32 | second as u64
    }
}

impl Sqe {
    /// The opcode.
    pub(crate) fn opcode(&self) -> u8 {
        (self.word >> OPCODE_SHIFT) as u8
    }
}

/// Where the command begins in a wide entry, bytes.
pub(crate) const COMMAND_AT: usize = 48;

/// The command in a wide entry; `struct nvme_uring_cmd` (`include/uapi/linux/nvme_ioctl.h`) is the
/// first nine words.
pub(crate) type Command = [u64; 10];

/// `struct io_uring_cqe`, one completion.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Cqe {
    pub(crate) user_data: u64,
    pub(crate) res: i32,
    pub(crate) flags: u32,
}

/// `struct __kernel_timespec`.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub(crate) struct Timespec {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

/// `struct io_uring_getevents_arg`.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub(crate) struct GetEventsArg {
    pub(crate) sigmask: u64,
    pub(crate) sigmask_size: u32,
    pub(crate) min_wait_usec: u32,
    /// Address of a [`Timespec`].
    pub(crate) ts: u64,
}

/// `struct io_uring_rsrc_update`, as registering the ring's own descriptor takes it.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub(crate) struct RingFdUpdate {
    pub(crate) offset: u32,
    pub(crate) reserved: u32,
    pub(crate) data: u64,
}

/// `struct io_uring_sync_cancel_reg`.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub(crate) struct SyncCancel {
    pub(crate) addr: u64,
    pub(crate) fd: i32,
    pub(crate) flags: u32,
    pub(crate) timeout: Timespec,
    pub(crate) opcode: u8,
    pub(crate) pad: [u8; 7],
    pub(crate) pad2: [u64; 3],
}

const _: () = assert!(size_of::<Params>() == 120 && size_of::<Sqe>() == 64 && size_of::<Cqe>() == 16);
const _: () = assert!(size_of::<GetEventsArg>() == 24 && size_of::<SyncCancel>() == 64);

/// Mapping offsets (`IORING_OFF_*`).
pub(crate) const OFF_SQ_RING: i64 = 0;
pub(crate) const OFF_CQ_RING: i64 = 0x800_0000;
pub(crate) const OFF_SQES: i64 = 0x1000_0000;

/// Most entries of a submission ring (`IORING_MAX_ENTRIES`).
pub(crate) const MAX_ENTRIES: usize = 32768;
/// Most buffers that can be registered (`IORING_MAX_REG_BUFFERS`).
pub(crate) const MAX_BUFFERS: usize = 1 << 14;

/// `IORING_SETUP_*`.
pub(crate) mod setup {
    pub(crate) const IOPOLL: u32 = 1 << 0;
    pub(crate) const SQPOLL: u32 = 1 << 1;
    pub(crate) const SQ_AFF: u32 = 1 << 2;
    pub(crate) const CQSIZE: u32 = 1 << 3;
    pub(crate) const SUBMIT_ALL: u32 = 1 << 7;
    pub(crate) const COOP_TASKRUN: u32 = 1 << 8;
    pub(crate) const TASKRUN_FLAG: u32 = 1 << 9;
    pub(crate) const SQE128: u32 = 1 << 10;
    pub(crate) const CQE32: u32 = 1 << 11;
    pub(crate) const SINGLE_ISSUER: u32 = 1 << 12;
    pub(crate) const DEFER_TASKRUN: u32 = 1 << 13;
}

/// `IORING_FEAT_*`.
pub(crate) mod feature {
    pub(crate) const SINGLE_MMAP: u32 = 1 << 0;
    pub(crate) const EXT_ARG: u32 = 1 << 8;
}

/// `IORING_ENTER_*`.
pub(crate) mod enter {
    pub(crate) const GETEVENTS: u32 = 1 << 0;
    pub(crate) const SQ_WAKEUP: u32 = 1 << 1;
    pub(crate) const EXT_ARG: u32 = 1 << 3;
    pub(crate) const REGISTERED_RING: u32 = 1 << 4;
}

/// `IORING_SQ_*`, in the submission ring's flags.
pub(crate) mod sq_flag {
    pub(crate) const NEED_WAKEUP: u32 = 1 << 0;
    pub(crate) const CQ_OVERFLOW: u32 = 1 << 1;
    pub(crate) const TASKRUN: u32 = 1 << 2;
}

/// `IOSQE_*`.
pub(crate) mod sqe_flag {
    pub(crate) const FIXED_FILE: u8 = 1 << 0;
    pub(crate) const ASYNC: u8 = 1 << 4;
}

/// `IORING_REGISTER_*`.
pub(crate) mod register {
    pub(crate) const BUFFERS: u32 = 0;
    pub(crate) const UNREGISTER_BUFFERS: u32 = 1;
    pub(crate) const FILES: u32 = 2;
    pub(crate) const RING_FDS: u32 = 20;
    pub(crate) const UNREGISTER_RING_FDS: u32 = 21;
    pub(crate) const SYNC_CANCEL: u32 = 24;
}

/// `IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY`.
pub(crate) const CANCEL_EVERYTHING: u32 = 1 << 0 | 1 << 2;

/// `IORING_OP_*`.
pub(crate) mod opcode {
    pub(crate) const READV: u8 = 1;
    pub(crate) const WRITEV: u8 = 2;
    pub(crate) const FSYNC: u8 = 3;
    pub(crate) const READ_FIXED: u8 = 4;
    pub(crate) const WRITE_FIXED: u8 = 5;
    pub(crate) const SYNC_FILE_RANGE: u8 = 8;
    pub(crate) const FALLOCATE: u8 = 17;
    pub(crate) const READ: u8 = 22;
    pub(crate) const WRITE: u8 = 23;
    pub(crate) const URING_CMD: u8 = 46;
}

/// `IORING_URING_CMD_FIXED`: the buffer of a command is a registered one (Linux 6.1).
pub(crate) const COMMAND_FIXED: u32 = 1;
/// `IORING_FSYNC_DATASYNC`.
pub(crate) const FSYNC_DATASYNC: u32 = 1;
/// `BLOCK_URING_CMD_DISCARD` (`include/uapi/linux/blkdev.h`): `_IO(0x12, 0)`.
pub(crate) const BLOCK_DISCARD: u32 = 0x1200;
/// `RWF_NOWAIT` (preadv2(2)).
pub(crate) const RWF_NOWAIT: u32 = 0x8;
/// `RWF_DONTCACHE` (preadv2(2), Linux 6.14).
pub(crate) const RWF_DONTCACHE: u32 = 0x80;
