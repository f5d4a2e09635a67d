//! The file system that is shown: one directory with one regular file of a fixed size.
//!
//! Answers all requests except those for the file's data, as bytes in a payload. Modes, owners and
//! times are kept while it is mounted; nothing can be created, removed or resized. Performs no I/O.

use crate::Size;
use iolab_fuse::abi::{Body, ROOT, open_flag, set, u32_at, u64_at};

/// The node of the file.
pub(crate) const FILE: u64 = 2;

/// Names and attributes change only through the kernel.
const VALID_SECONDS: u64 = 86_400;

const S_IFDIR: u32 = 0o040_000;
const S_IFREG: u32 = 0o100_000;
const DT_DIR: u32 = 4;
const DT_REG: u32 = 8;
const PERMISSIONS: u32 = 0o7777;

/// The changeable attributes of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Attributes {
    mode: u32,
    uid: u32,
    gid: u32,
    /// Seconds and nanoseconds since 1970.
    accessed: (u64, u32),
    modified: (u64, u32),
}

/// The directory and its file.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    name: Vec<u8>,
    size_bytes: u64,
    block_bytes: u32,
    folder: Attributes,
    file: Attributes,
    /// Whether the file was changed since its attributes were last requested.
    touched: bool,
}

/// A reply: the length of what was written to the payload, or an errno.
pub(crate) type Answer = Result<usize, i32>;

impl Tree {
    /// A file of this name and size that belongs to `owner` (user, group), last changed at `now`
    /// (seconds since 1970).
    pub(crate) fn new(name: &str, size: Size, owner: (u32, u32), now: u64) -> Tree {
        let (uid, gid) = owner;
        let file = Attributes { mode: S_IFREG | 0o600, uid, gid, accessed: (now, 0), modified: (now, 0) };
        let folder = Attributes { mode: S_IFDIR | 0o755, ..file };
        Tree {
            name: name.as_bytes().to_vec(),
            size_bytes: size.bytes(),
            block_bytes: size.block_bytes(),
            folder,
            file,
            touched: false,
        }
    }

    /// The file's size.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn attributes(&mut self, node: u64) -> Result<&mut Attributes, i32> {
        match node {
            ROOT => Ok(&mut self.folder),
            FILE => Ok(&mut self.file),
            _ => Err(libc::ENOENT),
        }
    }

    /// `struct fuse_attr`.
    fn attr<'a>(&self, node: u64, body: Body<'a>) -> Body<'a> {
        let (of, size, links) = if node == ROOT { (&self.folder, 0, 2) } else { (&self.file, self.size_bytes, 1) };
        body.u64(node)
            .u64(size)
            .u64(size.div_ceil(512))
            .u64(of.accessed.0)
            .u64(of.modified.0)
            .u64(of.modified.0)
            .u32(of.accessed.1)
            .u32(of.modified.1)
            .u32(of.modified.1)
            .u32(of.mode)
            .u32(links)
            .u32(of.uid)
            .u32(of.gid)
            .u32(0) // rdev
            .u32(self.block_bytes.max(4096))
            .u32(0) // flags
    }

    /// `struct fuse_entry_out`.
    fn entry<'a>(&self, node: u64, body: Body<'a>) -> Body<'a> {
        self.attr(node, body.u64(node).u64(0).u64(VALID_SECONDS).u64(VALID_SECONDS).u32(0).u32(0))
    }

    /// LOOKUP of a name, which ends at its first zero byte.
    pub(crate) fn lookup(&self, parent: u64, name: &[u8], body: Body<'_>) -> Answer {
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        if parent != ROOT {
            return Err(libc::ENOTDIR);
        }
        if name != self.name {
            return Err(libc::ENOENT);
        }
        fitted(self.entry(FILE, body))
    }

    /// The file's data have changed. The time of change becomes that of the next request for
    /// attributes, so that writing needs no clock.
    pub(crate) fn touch(&mut self) {
        self.touched = true;
    }

    /// GETATTR.
    pub(crate) fn get_attributes(&mut self, node: u64, now: u64, body: Body<'_>) -> Answer {
        self.attributes(node)?;
        if std::mem::take(&mut self.touched) {
            self.file.modified = (now, 0);
        }
        fitted(self.attr(node, body.u64(VALID_SECONDS).u32(0).u32(0)))
    }

    /// SETATTR with `struct fuse_setattr_in`. The size cannot be changed.
    pub(crate) fn set_attributes(&mut self, node: u64, args: &[u8], now: u64, body: Body<'_>) -> Answer {
        let word = |at| u32_at(args, at).ok_or(libc::EINVAL);
        let long = |at| u64_at(args, at).ok_or(libc::EINVAL);
        let valid = word(0)?;
        if valid & set::SIZE != 0 && (node != FILE || long(16)? != self.size_bytes) {
            return Err(libc::EPERM);
        }
        let new = self.attributes(node)?;
        if valid & set::MODE != 0 {
            new.mode = (new.mode & !PERMISSIONS) | (word(68)? & PERMISSIONS);
        }
        if valid & set::UID != 0 {
            new.uid = word(76)?;
        }
        if valid & set::GID != 0 {
            new.gid = word(80)?;
        }
        if valid & set::ATIME != 0 {
            new.accessed = if valid & set::ATIME_NOW != 0 { (now, 0) } else { (long(32)?, word(56)?) };
        }
        if valid & set::MTIME != 0 {
            new.modified = if valid & set::MTIME_NOW != 0 { (now, 0) } else { (long(40)?, word(60)?) };
        }
        self.get_attributes(node, now, body)
    }

    /// OPEN: bypasses the page cache, and allows concurrent writes.
    pub(crate) fn open(&self, node: u64, body: Body<'_>) -> Answer {
        let flags = match node {
            FILE => open_flag::DIRECT_IO | open_flag::PARALLEL_DIRECT_WRITES | open_flag::NOFLUSH,
            _ => return Err(libc::EISDIR),
        };
        fitted(body.u64(0).u32(flags).u32(0))
    }

    /// OPENDIR.
    pub(crate) fn open_folder(&self, node: u64, body: Body<'_>) -> Answer {
        if node != ROOT {
            return Err(libc::ENOTDIR);
        }
        fitted(body.u64(0).u32(open_flag::CACHE_DIR).u32(0))
    }

    /// READDIR, or READDIRPLUS with `plus`: the entries from number `offset` on that fit into
    /// `room` bytes.
    pub(crate) fn list(&self, offset: u64, room: usize, plus: bool, payload: &mut [u8]) -> Answer {
        let entries: [(&[u8], u64, u32); 3] = [(b".", ROOT, DT_DIR), (b"..", ROOT, DT_DIR), (&self.name, FILE, DT_REG)];
        let mut used = 0;
        for (number, (name, node, kind)) in entries.into_iter().enumerate().skip(offset as usize) {
            let end = payload.len().min(room);
            let body = Body::new(&mut payload[used.min(end)..end]);
            let body = match (plus, number) {
                (false, _) => body,
                // A node of 0 says that the entry needs no lookup.
                (true, 0 | 1) => body.zeroes(128),
                (true, _) => self.entry(node, body),
            };
            let body = body.u64(node).u64(number as u64 + 1).u32(name.len() as u32).u32(kind).raw(name);
            let padded = body.zeroes(name.len().next_multiple_of(8) - name.len());
            match padded.length() {
                Some(length) => used += length,
                None => break,
            }
        }
        Ok(used)
    }

    /// STATFS: `struct fuse_kstatfs`. All space is taken by the one file.
    pub(crate) fn statistics(&self, body: Body<'_>) -> Answer {
        let blocks = self.size_bytes / u64::from(self.block_bytes);
        let body = body.u64(blocks).u64(0).u64(0).u64(1).u64(0);
        fitted(body.u32(self.block_bytes).u32(255).u32(self.block_bytes).zeroes(7 * 4))
    }

    /// LSEEK: the only hole is the one after the end.
    pub(crate) fn seek(&self, args: &[u8], body: Body<'_>) -> Answer {
        let (Some(offset), Some(whence)) = (u64_at(args, 8), u32_at(args, 16)) else { return Err(libc::EINVAL) };
        if offset >= self.size_bytes {
            return Err(libc::ENXIO);
        }
        match whence as i32 {
            libc::SEEK_DATA => fitted(body.u64(offset)),
            libc::SEEK_HOLE => fitted(body.u64(self.size_bytes)),
            _ => Err(libc::EINVAL),
        }
    }
}

fn fitted(body: Body<'_>) -> Answer {
    body.length().ok_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        Tree::new("disk", Size::new(1 << 20, 512).unwrap(), (1000, 100), 0x1234)
    }

    #[test]
    fn a_lookup_answers_with_the_bytes_of_an_entry() {
        let mut bytes = [0xee; 200];
        assert_eq!(tree().lookup(ROOT, b"disk\0", Body::new(&mut bytes)), Ok(128), "struct fuse_entry_out");
        assert_eq!(bytes[..8], [2, 0, 0, 0, 0, 0, 0, 0], "nodeid");
        assert_eq!(bytes[16..24], [0x80, 0x51, 1, 0, 0, 0, 0, 0], "entry_valid");
        assert_eq!(bytes[40..48], [2, 0, 0, 0, 0, 0, 0, 0], "attr.ino");
        assert_eq!(bytes[48..56], [0, 0, 0x10, 0, 0, 0, 0, 0], "attr.size");
        assert_eq!(bytes[56..64], [0, 8, 0, 0, 0, 0, 0, 0], "attr.blocks");
        assert_eq!(bytes[64..72], [0x34, 0x12, 0, 0, 0, 0, 0, 0], "attr.atime");
        assert_eq!(bytes[100..104], [0x80, 0x81, 0, 0], "attr.mode 0100600");
        assert_eq!(bytes[104..108], [1, 0, 0, 0], "attr.nlink");
        assert_eq!(bytes[108..116], [0xe8, 3, 0, 0, 100, 0, 0, 0], "attr.uid, attr.gid");
        assert_eq!(bytes[120..124], [0, 16, 0, 0], "attr.blksize");
        assert_eq!(bytes[128], 0xee);
    }

    #[test]
    fn only_the_one_name_exists() {
        let mut bytes = [0; 200];
        for (parent, name, errno) in
            [(ROOT, &b"disc\0"[..], libc::ENOENT), (ROOT, b"", libc::ENOENT), (FILE, b"disk\0", libc::ENOTDIR)]
        {
            assert_eq!(tree().lookup(parent, name, Body::new(&mut bytes)), Err(errno));
        }
        assert_eq!(tree().get_attributes(3, 0, Body::new(&mut bytes)), Err(libc::ENOENT));
        assert_eq!(tree().open(ROOT, Body::new(&mut bytes)), Err(libc::EISDIR));
        assert_eq!(tree().open_folder(FILE, Body::new(&mut bytes)), Err(libc::ENOTDIR));
    }

    #[test]
    fn opening_asks_for_direct_parallel_writes() {
        let mut bytes = [0; 16];
        assert_eq!(tree().open(FILE, Body::new(&mut bytes)), Ok(16));
        assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 0x61, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_folder_lists_three_entries() {
        let mut bytes = [0; 512];
        assert_eq!(tree().list(0, 4096, false, &mut bytes), Ok(96));
        let expected = [2u8, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0];
        assert_eq!(bytes[64..88], expected);
        assert_eq!(bytes[88..96], *b"disk\0\0\0\0");
        assert_eq!(tree().list(2, 4096, false, &mut bytes), Ok(32));
        assert_eq!(tree().list(3, 4096, false, &mut bytes), Ok(0));
        assert_eq!(tree().list(0, 70, false, &mut bytes), Ok(64), "what does not fit is asked for again");
        assert_eq!(tree().list(0, 4096, true, &mut bytes), Ok(3 * 128 + 96));
        assert_eq!(bytes[..8], [0; 8], "no lookup is counted for the folder itself");
        assert_eq!(bytes[2 * 160..2 * 160 + 8], [2, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn attributes_change_but_the_size_does_not() {
        let mut tree = tree();
        let mut out = [0; 104];
        let mut args = [0u8; 88];
        args[68..72].copy_from_slice(&0o100_644u32.to_ne_bytes());
        args[76..80].copy_from_slice(&7u32.to_ne_bytes());
        args[..4].copy_from_slice(&(set::MODE | set::UID).to_ne_bytes());
        assert_eq!(tree.set_attributes(FILE, &args, 5, Body::new(&mut out)), Ok(104), "struct fuse_attr_out");
        assert_eq!(out[76..80], [0xa4, 0x81, 0, 0], "attr.mode 0100644");
        assert_eq!(out[84..88], [7, 0, 0, 0], "attr.uid");
        args[..4].copy_from_slice(&set::SIZE.to_ne_bytes());
        for (size, expected) in [(0, Err(libc::EPERM)), (1 << 20, Ok(104)), ((1 << 20) + 1, Err(libc::EPERM))] {
            args[16..24].copy_from_slice(&u64::to_ne_bytes(size));
            assert_eq!(tree.set_attributes(FILE, &args, 5, Body::new(&mut out)), expected);
        }
        assert_eq!(tree.set_attributes(FILE, &args[..10], 5, Body::new(&mut out)), Err(libc::EINVAL));
    }

    #[test]
    fn there_is_one_hole_after_the_end() {
        let mut args = [0u8; 24];
        let mut out = [0; 8];
        for (offset, whence, expected) in [
            (4096u64, libc::SEEK_DATA, Ok(4096u64)),
            (4096, libc::SEEK_HOLE, Ok(1 << 20)),
            (1 << 20, libc::SEEK_DATA, Err(libc::ENXIO)),
            (0, libc::SEEK_SET, Err(libc::EINVAL)),
        ] {
            args[8..16].copy_from_slice(&offset.to_ne_bytes());
            args[16..20].copy_from_slice(&whence.to_ne_bytes());
            let got = tree().seek(&args, Body::new(&mut out)).map(|_| u64::from_ne_bytes(out));
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn the_space_is_all_taken() {
        let mut out = [0xee; 80];
        assert_eq!(tree().statistics(Body::new(&mut out)), Ok(80), "struct fuse_kstatfs");
        assert_eq!(out[..8], [0, 8, 0, 0, 0, 0, 0, 0]);
        assert_eq!(out[40..52], [0, 2, 0, 0, 255, 0, 0, 0, 0, 2, 0, 0]);
    }
}
