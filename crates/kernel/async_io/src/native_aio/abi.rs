//! The kernel's side of Linux AIO as types and numbers: `include/uapi/linux/aio_abi.h`, and the
//! layout of the completion ring in `fs/aio.c`.
//!
//! Only what is used here is declared. There is no logic.

/// `struct iocb`, one operation.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub struct Iocb {
    /// Returned with the completion.
    pub data: u64,
    /// Used by the kernel itself.
    #[cfg(target_endian = "little")]
    pub key: u32,
    /// `RWF_*`.
    pub rw_flags: u32,
    /// Used by the kernel itself.
    #[cfg(target_endian = "big")]
    pub key: u32,
    /// One of [`command`].
    pub opcode: u16,
    /// With [`FLAG_IOPRIO`]: the class and level (ioprio_set(2)).
    pub priority: i16,
    /// The descriptor of the file.
    pub fd: u32,
    /// Address of the buffer or of the iovecs.
    pub buffer: u64,
    /// Length, or number of iovecs.
    pub bytes: u64,
    /// Offset in the file, bytes.
    pub offset: i64,
    /// Always 0.
    pub reserved: u64,
    /// `IOCB_FLAG_*`.
    pub flags: u32,
    /// The descriptor of an eventfd, with a flag that is not used here.
    pub result_fd: u32,
}

/// `struct io_event`, one completion.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub struct IoEvent {
    /// The data of the operation.
    pub data: u64,
    /// Address of its [`Iocb`].
    pub object: u64,
    /// The number of bytes, or a negative errno.
    pub result: i64,
    /// Always 0.
    pub result2: i64,
}

/// `struct aio_ring`: the header of the completion ring. A context identifier is its address.
#[derive(Debug)]
#[repr(C)]
pub struct RingHeader {
    /// The kernel's number of the ring.
    pub id: u32,
    /// The number of events that the ring holds.
    pub entries: u32,
    /// The next event to take; moved by this process.
    pub head: u32,
    /// The next place to fill; moved by the kernel.
    pub tail: u32,
    /// [`RING_MAGIC`].
    pub magic: u32,
    /// Features that do not matter to readers.
    pub compatible_features: u32,
    /// 0 if the layout is the one known here.
    pub incompatible_features: u32,
    /// Bytes before the first event.
    pub header_bytes: u32,
}

const _: () = assert!(size_of::<Iocb>() == 64 && size_of::<IoEvent>() == 32 && size_of::<RingHeader>() == 32);

/// `AIO_RING_MAGIC`.
pub const RING_MAGIC: u32 = 0xa10a_10a1;

/// `IOCB_CMD_*`.
pub mod command {
    /// pread(2)
    pub const PREAD: u16 = 0;
    /// pwrite(2)
    pub const PWRITE: u16 = 1;
    /// fsync(2)
    pub const FSYNC: u16 = 2;
    /// fdatasync(2)
    pub const FDSYNC: u16 = 3;
    /// preadv(2)
    pub const PREADV: u16 = 7;
    /// pwritev(2)
    pub const PWRITEV: u16 = 8;
}

/// `IOCB_FLAG_IOPRIO`: `priority` is used.
pub const FLAG_IOPRIO: u32 = 1 << 1;
/// `RWF_NOWAIT` (preadv2(2)).
pub const RWF_NOWAIT: u32 = 0x8;
