//! The FUSE protocol as bytes: numbers, messages in, messages out (`include/uapi/linux/fuse.h`, version 7).
//!
//! ```text
//!  request:  | header, 40 bytes | arguments of the opcode | data or name |
//!  reply:    | header, 16 bytes | answer of the opcode or data           |
//! ```
//!
//! Fields are in the byte order of the machine. Messages are read field by field, so that a short or strange one is an
//! answer of `None` and never a wrong access. Knows nothing of files.

/// Requests that are understood (`enum fuse_opcode`).
pub(crate) mod opcode {
    pub(crate) const LOOKUP: u32 = 1;
    pub(crate) const FORGET: u32 = 2;
    pub(crate) const GETATTR: u32 = 3;
    pub(crate) const SETATTR: u32 = 4;
    pub(crate) const SYMLINK: u32 = 6;
    pub(crate) const MKNOD: u32 = 8;
    pub(crate) const MKDIR: u32 = 9;
    pub(crate) const UNLINK: u32 = 10;
    pub(crate) const RMDIR: u32 = 11;
    pub(crate) const RENAME: u32 = 12;
    pub(crate) const LINK: u32 = 13;
    pub(crate) const OPEN: u32 = 14;
    pub(crate) const READ: u32 = 15;
    pub(crate) const WRITE: u32 = 16;
    pub(crate) const STATFS: u32 = 17;
    pub(crate) const RELEASE: u32 = 18;
    pub(crate) const FSYNC: u32 = 20;
    pub(crate) const FLUSH: u32 = 25;
    pub(crate) const INIT: u32 = 26;
    pub(crate) const OPENDIR: u32 = 27;
    pub(crate) const READDIR: u32 = 28;
    pub(crate) const RELEASEDIR: u32 = 29;
    pub(crate) const FSYNCDIR: u32 = 30;
    pub(crate) const ACCESS: u32 = 34;
    pub(crate) const CREATE: u32 = 35;
    pub(crate) const INTERRUPT: u32 = 36;
    pub(crate) const DESTROY: u32 = 38;
    pub(crate) const BATCH_FORGET: u32 = 42;
    pub(crate) const FALLOCATE: u32 = 43;
    pub(crate) const READDIRPLUS: u32 = 44;
    pub(crate) const RENAME2: u32 = 45;
    pub(crate) const LSEEK: u32 = 46;
    pub(crate) const TMPFILE: u32 = 51;
}

/// Flags of INIT; those above bit 31 travel in `flags2` (`FUSE_INIT_EXT`).
pub(crate) mod init_flag {
    pub(crate) const ASYNC_READ: u64 = 1 << 0;
    pub(crate) const BIG_WRITES: u64 = 1 << 5;
    pub(crate) const DO_READDIRPLUS: u64 = 1 << 13;
    pub(crate) const ASYNC_DIO: u64 = 1 << 15;
    pub(crate) const PARALLEL_DIROPS: u64 = 1 << 18;
    pub(crate) const MAX_PAGES: u64 = 1 << 22;
    pub(crate) const INIT_EXT: u64 = 1 << 30;
    pub(crate) const DIRECT_IO_ALLOW_MMAP: u64 = 1 << 36;
    pub(crate) const OVER_IO_URING: u64 = 1 << 41;
}

/// Flags in the answer to OPEN.
pub(crate) mod open_flag {
    pub(crate) const DIRECT_IO: u32 = 1 << 0;
    pub(crate) const CACHE_DIR: u32 = 1 << 3;
    pub(crate) const NOFLUSH: u32 = 1 << 5;
    pub(crate) const PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
}

/// What SETATTR wants to set (`FATTR_*`).
pub(crate) mod set {
    pub(crate) const MODE: u32 = 1 << 0;
    pub(crate) const UID: u32 = 1 << 1;
    pub(crate) const GID: u32 = 1 << 2;
    pub(crate) const SIZE: u32 = 1 << 3;
    pub(crate) const ATIME: u32 = 1 << 4;
    pub(crate) const MTIME: u32 = 1 << 5;
    pub(crate) const ATIME_NOW: u32 = 1 << 7;
    pub(crate) const MTIME_NOW: u32 = 1 << 8;
}

/// The version of the protocol that is spoken here; a kernel that knows a later one steps down to it.
pub(crate) const MAJOR: u32 = 7;
pub(crate) const MINOR: u32 = 42;

pub(crate) const IN_HEADER_BYTES: usize = 40;
pub(crate) const OUT_HEADER_BYTES: usize = 16;
/// `struct fuse_read_in` and `struct fuse_write_in`.
pub(crate) const TRANSFER_ARGS_BYTES: usize = 40;
/// A read of the device must offer at least this much (`FUSE_MIN_READ_BUFFER`).
pub(crate) const LEAST_BUFFER_BYTES: usize = 8192;
/// The node of the mount point itself.
pub(crate) const ROOT: u64 = 1;

/// `struct fuse_in_header`, what is used of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InHeader {
    pub(crate) length: u32,
    pub(crate) opcode: u32,
    pub(crate) unique: u64,
    pub(crate) node: u64,
}

impl InHeader {
    #[inline]
    pub(crate) fn parse(bytes: &[u8]) -> Option<InHeader> {
        Some(InHeader {
            length: u32_at(bytes, 0)?,
            opcode: u32_at(bytes, 4)?,
            unique: u64_at(bytes, 8)?,
            node: u64_at(bytes, 16)?,
        })
    }
}

/// `struct fuse_out_header`; `error` is 0 or a negative errno.
#[inline]
pub(crate) fn out_header(unique: u64, error: i32, body_bytes: usize) -> [u8; OUT_HEADER_BYTES] {
    let mut bytes = [0; OUT_HEADER_BYTES];
    bytes[0..4].copy_from_slice(&((OUT_HEADER_BYTES + body_bytes) as u32).to_ne_bytes());
    bytes[4..8].copy_from_slice(&error.to_ne_bytes());
    bytes[8..16].copy_from_slice(&unique.to_ne_bytes());
    bytes
}

/// Where and how much: the part that `struct fuse_read_in` and `struct fuse_write_in` have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransferArgs {
    pub(crate) offset: u64,
    pub(crate) size: u32,
}

impl TransferArgs {
    #[inline]
    pub(crate) fn parse(args: &[u8]) -> Option<TransferArgs> {
        Some(TransferArgs { offset: u64_at(args, 8)?, size: u32_at(args, 16)? })
    }
}

#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Writes an answer's fields one after the other into a payload; what does not fit is not written, and told.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl<'a> Body<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Body<'a> {
        Body { bytes, used: 0 }
    }

    pub(crate) fn raw(mut self, field: &[u8]) -> Body<'a> {
        if let Some(place) = self.bytes.get_mut(self.used..self.used + field.len()) {
            place.copy_from_slice(field);
        }
        self.used += field.len();
        self
    }

    pub(crate) fn u16(self, value: u16) -> Body<'a> {
        self.raw(&value.to_ne_bytes())
    }

    pub(crate) fn u32(self, value: u32) -> Body<'a> {
        self.raw(&value.to_ne_bytes())
    }

    pub(crate) fn u64(self, value: u64) -> Body<'a> {
        self.raw(&value.to_ne_bytes())
    }

    pub(crate) fn zeroes(self, count: usize) -> Body<'a> {
        (0..count).fold(self, |body, _| body.raw(&[0]))
    }

    /// How many bytes were written, or `None` if they did not all fit.
    pub(crate) fn length(&self) -> Option<usize> {
        (self.used <= self.bytes.len()).then_some(self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The literal bytes below are those of little-endian machines, which all of iolab's are.

    #[test]
    fn a_request_header_is_read() {
        let mut bytes = [0u8; IN_HEADER_BYTES];
        bytes[..24].copy_from_slice(&[
            0x38, 0, 0, 0, 15, 0, 0, 0, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 2, 0, 0, 0, 0, 0, 0, 0,
        ]);
        let header = InHeader::parse(&bytes).unwrap();
        assert_eq!(header, InHeader { length: 56, opcode: 15, unique: 0xfedc_ba98_7654_3210, node: 2 });
        assert_eq!(InHeader::parse(&bytes[..23]), None);
    }

    #[test]
    fn a_reply_header_is_written() {
        let header = out_header(0x0102_0304_0506_0708, -libc::ENOENT, 0);
        assert_eq!(header, [16, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(out_header(1, 0, 4096)[..4], [16, 16, 0, 0]);
    }

    #[test]
    fn transfers_are_read() {
        let mut args = [0u8; TRANSFER_ARGS_BYTES];
        args[8..20].copy_from_slice(&[0, 0x10, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0]);
        assert_eq!(TransferArgs::parse(&args), Some(TransferArgs { offset: 0x100_0000_1000, size: 512 }));
        assert_eq!(TransferArgs::parse(&args[..19]), None);
    }

    #[test]
    fn a_body_that_does_not_fit_is_told() {
        let mut room = [0u8; 8];
        assert_eq!(Body::new(&mut room).u32(1).u16(2).raw(&[3]).zeroes(1).length(), Some(8));
        assert_eq!(room, [1, 0, 0, 0, 2, 0, 3, 0]);
        assert_eq!(Body::new(&mut room).u64(1).u32(1).length(), None);
    }
}
