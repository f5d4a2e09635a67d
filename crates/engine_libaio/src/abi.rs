//! The kernel's side of Linux AIO as types and numbers: `include/uapi/linux/aio_abi.h`, and the layout of the
//! completion ring in `fs/aio.c`.
//!
//! Only what this engine uses. No logic.

/// `struct iocb`, one operation.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub(crate) struct Iocb {
    pub(crate) data: u64,
    #[cfg(target_endian = "little")]
    pub(crate) key: u32,
    /// `RWF_*`.
    pub(crate) rw_flags: u32,
    #[cfg(target_endian = "big")]
    pub(crate) key: u32,
    pub(crate) opcode: u16,
    pub(crate) priority: i16,
    pub(crate) fd: u32,
    /// Address of the buffer or of the iovecs.
    pub(crate) buffer: u64,
    /// Length, or number of iovecs.
    pub(crate) bytes: u64,
    pub(crate) offset: i64,
    pub(crate) reserved: u64,
    pub(crate) flags: u32,
    pub(crate) result_fd: u32,
}

/// `struct io_event`, one completion.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub(crate) struct IoEvent {
    pub(crate) data: u64,
    pub(crate) object: u64,
    pub(crate) result: i64,
    pub(crate) result2: i64,
}

/// `struct aio_ring`: the head of the completion ring that a context identifier points to.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct RingHeader {
    pub(crate) id: u32,
    /// Events the ring holds.
    pub(crate) entries: u32,
    /// Next to take; ours to move.
    pub(crate) head: u32,
    /// Next to fill; the kernel's to move.
    pub(crate) tail: u32,
    pub(crate) magic: u32,
    pub(crate) compatible_features: u32,
    pub(crate) incompatible_features: u32,
    /// Bytes before the first event.
    pub(crate) header_bytes: u32,
}

const _: () = assert!(size_of::<Iocb>() == 64 && size_of::<IoEvent>() == 32 && size_of::<RingHeader>() == 32);

/// `AIO_RING_MAGIC`.
pub(crate) const RING_MAGIC: u32 = 0xa10a_10a1;

/// `IOCB_CMD_*`.
pub(crate) mod command {
    pub(crate) const PREAD: u16 = 0;
    pub(crate) const PWRITE: u16 = 1;
    pub(crate) const FSYNC: u16 = 2;
    pub(crate) const FDSYNC: u16 = 3;
    pub(crate) const PREADV: u16 = 7;
    pub(crate) const PWRITEV: u16 = 8;
}

/// `IOCB_FLAG_IOPRIO`: `priority` is used.
pub(crate) const FLAG_IOPRIO: u32 = 1 << 1;
/// `RWF_NOWAIT` (preadv2(2)).
pub(crate) const RWF_NOWAIT: u32 = 0x8;
