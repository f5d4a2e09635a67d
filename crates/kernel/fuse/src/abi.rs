//! The FUSE protocol as bytes: numbers, incoming messages, outgoing messages
//! (`include/uapi/linux/fuse.h`, version 7).
//!
//! ```text
//!  request:  | header, 40 bytes | arguments of the opcode | data or name |
//!  reply:    | header, 16 bytes | answer of the opcode or data           |
//! ```
//!
//! Fields are in the byte order of the machine. Messages are read field by field, so that a short
//! or invalid one gives `None` and never a wrong access. This file does not interpret them.

/// Requests (`enum fuse_opcode`).
pub mod opcode {
    /// `FUSE_LOOKUP`
    pub const LOOKUP: u32 = 1;
    /// `FUSE_FORGET`
    pub const FORGET: u32 = 2;
    /// `FUSE_GETATTR`
    pub const GETATTR: u32 = 3;
    /// `FUSE_SETATTR`
    pub const SETATTR: u32 = 4;
    /// `FUSE_READLINK`
    pub const READLINK: u32 = 5;
    /// `FUSE_SYMLINK`
    pub const SYMLINK: u32 = 6;
    /// `FUSE_MKNOD`
    pub const MKNOD: u32 = 8;
    /// `FUSE_MKDIR`
    pub const MKDIR: u32 = 9;
    /// `FUSE_UNLINK`
    pub const UNLINK: u32 = 10;
    /// `FUSE_RMDIR`
    pub const RMDIR: u32 = 11;
    /// `FUSE_RENAME`
    pub const RENAME: u32 = 12;
    /// `FUSE_LINK`
    pub const LINK: u32 = 13;
    /// `FUSE_OPEN`
    pub const OPEN: u32 = 14;
    /// `FUSE_READ`
    pub const READ: u32 = 15;
    /// `FUSE_WRITE`
    pub const WRITE: u32 = 16;
    /// `FUSE_STATFS`
    pub const STATFS: u32 = 17;
    /// `FUSE_RELEASE`
    pub const RELEASE: u32 = 18;
    /// `FUSE_FSYNC`
    pub const FSYNC: u32 = 20;
    /// `FUSE_SETXATTR`
    pub const SETXATTR: u32 = 21;
    /// `FUSE_GETXATTR`
    pub const GETXATTR: u32 = 22;
    /// `FUSE_LISTXATTR`
    pub const LISTXATTR: u32 = 23;
    /// `FUSE_REMOVEXATTR`
    pub const REMOVEXATTR: u32 = 24;
    /// `FUSE_FLUSH`
    pub const FLUSH: u32 = 25;
    /// `FUSE_INIT`
    pub const INIT: u32 = 26;
    /// `FUSE_OPENDIR`
    pub const OPENDIR: u32 = 27;
    /// `FUSE_READDIR`
    pub const READDIR: u32 = 28;
    /// `FUSE_RELEASEDIR`
    pub const RELEASEDIR: u32 = 29;
    /// `FUSE_FSYNCDIR`
    pub const FSYNCDIR: u32 = 30;
    /// `FUSE_ACCESS`
    pub const ACCESS: u32 = 34;
    /// `FUSE_CREATE`
    pub const CREATE: u32 = 35;
    /// `FUSE_INTERRUPT`
    pub const INTERRUPT: u32 = 36;
    /// `FUSE_DESTROY`
    pub const DESTROY: u32 = 38;
    /// `FUSE_BATCH_FORGET`
    pub const BATCH_FORGET: u32 = 42;
    /// `FUSE_FALLOCATE`
    pub const FALLOCATE: u32 = 43;
    /// `FUSE_READDIRPLUS`
    pub const READDIRPLUS: u32 = 44;
    /// `FUSE_RENAME2`
    pub const RENAME2: u32 = 45;
    /// `FUSE_LSEEK`
    pub const LSEEK: u32 = 46;
    /// `FUSE_COPY_FILE_RANGE`
    pub const COPY_FILE_RANGE: u32 = 47;
    /// `FUSE_SYNCFS`
    pub const SYNCFS: u32 = 50;
    /// `FUSE_TMPFILE`
    pub const TMPFILE: u32 = 51;
    /// `FUSE_STATX`
    pub const STATX: u32 = 52;
}

/// Flags of INIT; those above bit 31 are in `flags2` (`FUSE_INIT_EXT`).
pub mod init_flag {
    /// `FUSE_ASYNC_READ`
    pub const ASYNC_READ: u64 = 1 << 0;
    /// `FUSE_EXPORT_SUPPORT`
    pub const EXPORT_SUPPORT: u64 = 1 << 4;
    /// `FUSE_BIG_WRITES`
    pub const BIG_WRITES: u64 = 1 << 5;
    /// `FUSE_DONT_MASK`
    pub const DONT_MASK: u64 = 1 << 6;
    /// `FUSE_DO_READDIRPLUS`
    pub const DO_READDIRPLUS: u64 = 1 << 13;
    /// `FUSE_READDIRPLUS_AUTO`
    pub const READDIRPLUS_AUTO: u64 = 1 << 14;
    /// `FUSE_ASYNC_DIO`
    pub const ASYNC_DIO: u64 = 1 << 15;
    /// `FUSE_WRITEBACK_CACHE`
    pub const WRITEBACK_CACHE: u64 = 1 << 16;
    /// `FUSE_PARALLEL_DIROPS`
    pub const PARALLEL_DIROPS: u64 = 1 << 18;
    /// `FUSE_POSIX_ACL`
    pub const POSIX_ACL: u64 = 1 << 20;
    /// `FUSE_MAX_PAGES`
    pub const MAX_PAGES: u64 = 1 << 22;
    /// `FUSE_CACHE_SYMLINKS`
    pub const CACHE_SYMLINKS: u64 = 1 << 23;
    /// `FUSE_HANDLE_KILLPRIV_V2`
    pub const HANDLE_KILLPRIV_V2: u64 = 1 << 28;
    /// `FUSE_INIT_EXT`
    pub const INIT_EXT: u64 = 1 << 30;
    /// `FUSE_DIRECT_IO_ALLOW_MMAP`
    pub const DIRECT_IO_ALLOW_MMAP: u64 = 1 << 36;
    /// `FUSE_OVER_IO_URING`
    pub const OVER_IO_URING: u64 = 1 << 41;
}

/// Flags in the answer to OPEN.
pub mod open_flag {
    /// `FOPEN_DIRECT_IO`
    pub const DIRECT_IO: u32 = 1 << 0;
    /// `FOPEN_KEEP_CACHE`
    pub const KEEP_CACHE: u32 = 1 << 1;
    /// `FOPEN_CACHE_DIR`
    pub const CACHE_DIR: u32 = 1 << 3;
    /// `FOPEN_NOFLUSH`
    pub const NOFLUSH: u32 = 1 << 5;
    /// `FOPEN_PARALLEL_DIRECT_WRITES`
    pub const PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
}

/// The attributes that SETATTR sets.
pub mod set {
    /// `FATTR_MODE`
    pub const MODE: u32 = 1 << 0;
    /// `FATTR_UID`
    pub const UID: u32 = 1 << 1;
    /// `FATTR_GID`
    pub const GID: u32 = 1 << 2;
    /// `FATTR_SIZE`
    pub const SIZE: u32 = 1 << 3;
    /// `FATTR_ATIME`
    pub const ATIME: u32 = 1 << 4;
    /// `FATTR_MTIME`
    pub const MTIME: u32 = 1 << 5;
    /// `FATTR_ATIME_NOW`
    pub const ATIME_NOW: u32 = 1 << 7;
    /// `FATTR_MTIME_NOW`
    pub const MTIME_NOW: u32 = 1 << 8;
    /// `FATTR_KILL_SUIDGID`
    pub const KILL_SUIDGID: u32 = 1 << 11;
}

/// The protocol version that is used here; a newer kernel falls back to it.
pub const MAJOR: u32 = 7;
/// See [`MAJOR`].
pub const MINOR: u32 = 42;

/// `struct fuse_in_header`.
pub const IN_HEADER_BYTES: usize = 40;
/// `struct fuse_out_header`.
pub const OUT_HEADER_BYTES: usize = 16;
/// `struct fuse_read_in` and `struct fuse_write_in`.
pub const TRANSFER_ARGS_BYTES: usize = 40;
/// A read of the device must offer at least this much (`FUSE_MIN_READ_BUFFER`).
pub const LEAST_BUFFER_BYTES: usize = 8192;
/// The node of the mount point itself.
pub const ROOT: u64 = 1;

/// Size of the structure at the beginning of an opcode's arguments; names, values and data follow
/// it.
pub fn fixed_bytes(code: u32) -> usize {
    match code {
        opcode::LOOKUP | opcode::READLINK | opcode::SYMLINK | opcode::UNLINK | opcode::RMDIR => 0,
        opcode::STATFS | opcode::REMOVEXATTR | opcode::DESTROY => 0,
        opcode::FORGET | opcode::MKDIR | opcode::RENAME | opcode::LINK | opcode::OPEN | opcode::OPENDIR => 8,
        opcode::SETXATTR | opcode::GETXATTR | opcode::LISTXATTR | opcode::ACCESS | opcode::INTERRUPT => 8,
        opcode::SYNCFS | opcode::BATCH_FORGET => 8,
        opcode::GETATTR | opcode::MKNOD | opcode::FSYNC | opcode::FSYNCDIR | opcode::CREATE => 16,
        opcode::RENAME2 | opcode::TMPFILE => 16,
        opcode::RELEASE | opcode::RELEASEDIR | opcode::FLUSH | opcode::LSEEK | opcode::STATX => 24,
        opcode::FALLOCATE => 32,
        opcode::READ | opcode::WRITE | opcode::READDIR | opcode::READDIRPLUS => TRANSFER_ARGS_BYTES,
        opcode::COPY_FILE_RANGE => 56,
        opcode::SETATTR => 88,
        _ => ANY_ARGS_BYTES,
    }
}

/// The longest such structure that the kernel sends by io_uring (`FUSE_URING_OP_IN_OUT_SZ`).
pub const ANY_ARGS_BYTES: usize = 128;

/// The used fields of `struct fuse_in_header`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InHeader {
    /// Length of the whole message, bytes.
    pub length: u32,
    /// The requested operation, of [`opcode`].
    pub opcode: u32,
    /// Identifies the request; the answer carries the same value.
    pub unique: u64,
    /// The node that the request is about.
    pub node: u64,
    /// User of the requesting process.
    pub uid: u32,
    /// Group of the requesting process.
    pub gid: u32,
}

impl InHeader {
    /// Parses a header; `None` if the bytes are too short.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Option<InHeader> {
        Some(InHeader {
            length: u32_at(bytes, 0)?,
            opcode: u32_at(bytes, 4)?,
            unique: u64_at(bytes, 8)?,
            node: u64_at(bytes, 16)?,
            uid: u32_at(bytes, 24)?,
            gid: u32_at(bytes, 28)?,
        })
    }
}

/// `struct fuse_out_header`; `error` is 0 or a negative errno.
#[inline]
pub fn out_header(unique: u64, error: i32, body_bytes: usize) -> [u8; OUT_HEADER_BYTES] {
    let mut bytes = [0; OUT_HEADER_BYTES];
    bytes[0..4].copy_from_slice(&((OUT_HEADER_BYTES + body_bytes) as u32).to_ne_bytes());
    bytes[4..8].copy_from_slice(&error.to_ne_bytes());
    bytes[8..16].copy_from_slice(&unique.to_ne_bytes());
    bytes
}

/// Offset and size: the common part of `struct fuse_read_in` and `struct fuse_write_in`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferArgs {
    /// Offset in the file, bytes; for directories, the cookie after which to continue.
    pub offset: u64,
    /// Bytes.
    pub size: u32,
}

impl TransferArgs {
    /// Parses arguments; `None` if they are too short.
    #[inline]
    pub fn parse(args: &[u8]) -> Option<TransferArgs> {
        Some(TransferArgs { offset: u64_at(args, 8)?, size: u32_at(args, 16)? })
    }
}

/// The 32 bits at `at`, if the message contains them.
#[inline]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The 64 bits at `at`, if the message contains them.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Writes the fields of an answer into a payload, one after the other. Fields that do not fit are
/// not written, and [`Body::length`] reports it.
#[derive(Debug)]
pub struct Body<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl<'a> Body<'a> {
    /// Begins at the start of `bytes`.
    pub fn new(bytes: &'a mut [u8]) -> Body<'a> {
        Body { bytes, used: 0 }
    }

    /// Appends bytes.
    pub fn raw(mut self, field: &[u8]) -> Body<'a> {
        if let Some(place) = self.bytes.get_mut(self.used..self.used + field.len()) {
            place.copy_from_slice(field);
        }
        self.used += field.len();
        self
    }

    /// Appends 16 bits.
    pub fn u16(self, value: u16) -> Body<'a> {
        self.raw(&value.to_ne_bytes())
    }

    /// Appends 32 bits.
    pub fn u32(self, value: u32) -> Body<'a> {
        self.raw(&value.to_ne_bytes())
    }

    /// Appends 64 bits.
    pub fn u64(self, value: u64) -> Body<'a> {
        self.raw(&value.to_ne_bytes())
    }

    /// Appends zeroes.
    pub fn zeroes(self, count: usize) -> Body<'a> {
        (0..count).fold(self, |body, _| body.raw(&[0]))
    }

    /// The number of written bytes, or `None` if they did not all fit.
    pub fn length(&self) -> Option<usize> {
        (self.used <= self.bytes.len()).then_some(self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The literal bytes below are those of little-endian machines, the only ones that iolab
    // supports.

    #[test]
    fn a_request_header_is_read() {
        let mut bytes = [0u8; IN_HEADER_BYTES];
        bytes[..32].copy_from_slice(&[
            0x38, 0, 0, 0, 15, 0, 0, 0, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 2, 0, 0, 0, 0, 0, 0, 0, //
            0xe8, 3, 0, 0, 100, 0, 0, 0,
        ]);
        let header = InHeader::parse(&bytes).unwrap();
        assert_eq!(
            header,
            InHeader { length: 56, opcode: 15, unique: 0xfedc_ba98_7654_3210, node: 2, uid: 1000, gid: 100 }
        );
        assert_eq!(InHeader::parse(&bytes[..31]), None);
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
