//! Encodes attributes for the kernel (`include/uapi/linux/fuse.h`).

use iolab_fuse::abi::Body;
use iolab_logfs::{Attributes, Error, InodeId, InodeKind, LocalVolume, Volume};

/// All changes come through the kernel, so that what it has cached stays valid.
const VALID_SECONDS: u64 = 86_400;
/// Preferred size of reads and writes, bytes.
const PREFERRED_BYTES: u32 = 4096;

/// The file type bits of `st_mode`.
pub(crate) fn type_bits(kind: InodeKind) -> u32 {
    match kind {
        InodeKind::File => libc::S_IFREG,
        InodeKind::Directory => libc::S_IFDIR,
        InodeKind::Symlink => libc::S_IFLNK,
        InodeKind::Fifo => libc::S_IFIFO,
        InodeKind::Socket => libc::S_IFSOCK,
        InodeKind::CharacterDevice => libc::S_IFCHR,
        InodeKind::BlockDevice => libc::S_IFBLK,
    }
}

/// The kind given by the file type bits of a mode.
pub(crate) fn kind_of(mode: u32) -> Option<InodeKind> {
    use InodeKind::{BlockDevice, CharacterDevice, Directory, Fifo, File, Socket, Symlink};
    let kinds = [File, Directory, Symlink, Fifo, Socket, CharacterDevice, BlockDevice];
    kinds.into_iter().find(|kind| type_bits(*kind) == mode & libc::S_IFMT)
}

/// The `DT_*` of a directory entry.
pub(crate) fn entry_type(kind: InodeKind) -> u32 {
    type_bits(kind) >> 12
}

/// Seconds and nanoseconds of a time in the log, which is a signed number: times before 1970 are
/// negative.
fn split(time_ns: u64) -> (i64, u32) {
    const SECOND_NS: i64 = 1_000_000_000;
    let time = time_ns as i64;
    (time.div_euclid(SECOND_NS), time.rem_euclid(SECOND_NS) as u32)
}

/// The time in the log for a time from the kernel; the nearest representable one.
pub(crate) fn joined(seconds: u64, nanoseconds: u32) -> u64 {
    let seconds = (seconds as i64).saturating_mul(1_000_000_000);
    seconds.saturating_add(i64::from(nanoseconds)) as u64
}

/// All attributes of an inode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownAttributes {
    inode: InodeId,
    attributes: Attributes,
    stored_bytes: u64,
    device: u32,
}

impl KnownAttributes {
    pub(crate) fn of(fs: &LocalVolume, inode: InodeId) -> Result<KnownAttributes, Error> {
        let attributes = fs.stat(inode)?;
        let device = if attributes.kind.is_special() { fs.device_number(inode)? } else { 0 };
        Ok(KnownAttributes { inode, attributes, stored_bytes: fs.stored_bytes(inode)?, device })
    }

    /// As [`KnownAttributes::of`], for an inode of any thread.
    pub(crate) async fn asked(fs: &Volume, inode: InodeId) -> Result<KnownAttributes, Error> {
        let attributes = fs.stat(inode).await?;
        let device = if attributes.kind.is_special() { fs.device_number(inode).await? } else { 0 };
        Ok(KnownAttributes { inode, attributes, stored_bytes: fs.stored_bytes(inode).await?, device })
    }

    fn mode(&self) -> u32 {
        type_bits(self.attributes.kind) | u32::from(self.attributes.mode)
    }

    /// `struct fuse_attr`.
    fn attr<'a>(&self, body: Body<'a>) -> Body<'a> {
        let Attributes { size, links, uid, gid, .. } = self.attributes;
        let [accessed, modified, changed] =
            [self.attributes.accessed_ns, self.attributes.modified_ns, self.attributes.changed_ns].map(split);
        body.u64(self.inode.0)
            .u64(size)
            .u64(self.stored_bytes.div_ceil(512))
            .u64(accessed.0 as u64)
            .u64(modified.0 as u64)
            .u64(changed.0 as u64)
            .u32(accessed.1)
            .u32(modified.1)
            .u32(changed.1)
            .u32(self.mode())
            .u32(links)
            .u32(uid)
            .u32(gid)
            .u32(self.device)
            .u32(PREFERRED_BYTES)
            .u32(0) // flags
    }

    /// `struct fuse_attr_out`.
    pub(crate) fn attr_out<'a>(&self, body: Body<'a>) -> Body<'a> {
        self.attr(body.u64(VALID_SECONDS).u32(0).u32(0))
    }

    /// `struct fuse_entry_out`. Inode numbers are never reused, so that there is only one
    /// generation.
    pub(crate) fn entry_out<'a>(&self, body: Body<'a>) -> Body<'a> {
        self.attr(body.u64(self.inode.0).u64(0).u64(VALID_SECONDS).u64(VALID_SECONDS).u32(0).u32(0))
    }

    /// `struct fuse_statx_out`, with the time of birth, which `fuse_attr` does not have.
    pub(crate) fn statx_out<'a>(&self, body: Body<'a>) -> Body<'a> {
        const STATX_BASIC_STATS_AND_BTIME: u32 = 0xfff;
        let a = &self.attributes;
        let body = body.u64(VALID_SECONDS).u32(0).u32(0).zeroes(16);
        let body = body.u32(STATX_BASIC_STATS_AND_BTIME).u32(PREFERRED_BYTES).u64(0);
        let body = body.u32(a.links).u32(a.uid).u32(a.gid).u16(self.mode() as u16).u16(0);
        let body = body.u64(self.inode.0).u64(a.size).u64(self.stored_bytes.div_ceil(512)).u64(0);
        let times = [a.accessed_ns, a.born_ns, a.changed_ns, a.modified_ns].map(split);
        let body = times.into_iter().fold(body, |body, (seconds, ns)| body.u64(seconds as u64).u32(ns).u32(0));
        // The encoding of `new_encode_dev`: 12 bits of the major number between two parts of the
        // minor one.
        let (major, minor) = (self.device >> 8 & 0xfff, self.device & 0xff | self.device >> 12 & 0xfff00);
        body.u32(major).u32(minor).u32(0).u32(0).zeroes(14 * 8)
    }
}

/// A `struct fuse_entry_out` that says that the name does not exist, and that this may be cached.
pub(crate) fn negative_entry(body: Body<'_>) -> Body<'_> {
    body.u64(0).u64(0).u64(VALID_SECONDS).u64(0).u32(0).u32(0).zeroes(88)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_come_back() {
        for (seconds, nanoseconds) in [(0, 0), (-1, 999_999_999), (-2_208_988_800, 5), (4_294_967_296, 1)] {
            assert_eq!(split(joined(seconds as u64, nanoseconds)), (seconds, nanoseconds));
        }
        assert_eq!(joined(i64::MAX as u64, 0), i64::MAX as u64, "the last time there is");
    }

    #[test]
    fn an_inode_is_encoded_in_the_bytes_that_the_kernel_reads() {
        let attributes = Attributes {
            kind: InodeKind::CharacterDevice,
            mode: 0o640,
            uid: 1000,
            gid: 100,
            links: 3,
            size: 5000,
            accessed_ns: 1_000_000_002,
            modified_ns: 3_000_000_004,
            changed_ns: 5_000_000_006,
            born_ns: 7_000_000_008,
        };
        let known = KnownAttributes { inode: InodeId(0x1_0002), attributes, stored_bytes: 4097, device: 0x1234_5678 };
        let mut bytes = [0xee_u8; 300];
        assert_eq!(known.entry_out(Body::new(&mut bytes)).length(), Some(128), "struct fuse_entry_out");
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!([word(&bytes, 0), word(&bytes, 8), word(&bytes, 40)], [0x1_0002, 0, 0x1_0002]);
        assert_eq!([word(&bytes, 48), word(&bytes, 56)], [5000, 9], "attr.size, attr.blocks");
        assert_eq!([64, 72, 80, 88, 92, 96].map(|at| word(&bytes, at)), [1, 3, 5, 2, 4, 6], "times");
        assert_eq!(word(&bytes, 100), libc::S_IFCHR | 0o640, "attr.mode");
        assert_eq!([104, 108, 112, 116].map(|at| word(&bytes, at)), [3, 1000, 100, 0x1234_5678]);
        assert_eq!(known.attr_out(Body::new(&mut bytes)).length(), Some(104), "struct fuse_attr_out");
        assert_eq!(known.statx_out(Body::new(&mut bytes)).length(), Some(288), "struct fuse_statx_out");
        assert_eq!([word(&bytes, 32), word(&bytes, 48)], [0xfff, 3], "mask, links");
        assert_eq!([96, 112, 128, 144].map(|at| word(&bytes, at)), [1, 7, 5, 3], "access, birth, status, content");
        assert_eq!([word(&bytes, 160), word(&bytes, 164)], [0x456, 0x12378], "major, minor");
        assert_eq!(negative_entry(Body::new(&mut bytes)).length(), Some(128));
        assert_eq!(kind_of(libc::S_IFSOCK | 0o777), Some(InodeKind::Socket));
        assert_eq!(kind_of(0o777), None);
    }
}
