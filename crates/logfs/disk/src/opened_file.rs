//! A file or block device opened as a disk, through the page cache or with direct I/O, and its
//! geometry.
//!
//! It never creates, extends or locks a file, and does not judge whether writing to it is safe.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, OFlags, StatxFlags, ioctl_blksszget, statx};
use rustix::io::Errno;

use crate::Geometry;

/// Whether the kernel's page cache is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// Through the page cache; a flush writes it back.
    PageCache,
    /// `O_DIRECT`.
    Direct,
}

/// How to open a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskOptions {
    /// Most requests in flight, at least 1.
    pub depth: u32,
    /// Direct I/O where the file supports it, or always the page cache.
    pub caching: Caching,
    /// Unit of requests, bytes; by default that of the device, or the alignment of direct transfers
    /// to a file.
    pub block_bytes: Option<u32>,
    /// For a block device: no other process may open it exclusively or mount it (`O_EXCL`,
    /// open(2)).
    pub exclusive: bool,
    /// For reading only: writes fail with the system's error.
    pub read_only: bool,
}

impl Default for DiskOptions {
    fn default() -> DiskOptions {
        DiskOptions { depth: 256, caching: Caching::Direct, block_bytes: None, exclusive: false, read_only: false }
    }
}

/// A file that was opened, and its properties.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    pub(crate) file: File,
    pub(crate) geometry: Geometry,
    pub(crate) is_block_device: bool,
    pub(crate) caching: Caching,
}

impl OpenedFile {
    pub(crate) fn open(path: &Path, opening: &DiskOptions) -> io::Result<OpenedFile> {
        let is_block_device = std::fs::metadata(path)?.file_type().is_block_device();
        let exclusive = if opening.exclusive && is_block_device { OFlags::EXCL } else { OFlags::empty() };
        let open = |flags: OFlags| {
            let flags = (flags | exclusive).bits() as i32;
            OpenOptions::new().read(true).write(!opening.read_only).custom_flags(flags).open(path)
        };
        let (mut file, caching) = match opening.caching {
            Caching::PageCache => (open(OFlags::empty())?, Caching::PageCache),
            Caching::Direct => match open(OFlags::DIRECT) {
                // The file system does not support it (open(2)).
                Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                    (open(OFlags::empty())?, Caching::PageCache)
                }
                other => (other?, Caching::Direct),
            },
        };
        // The metadata of a block device have no length, but one can seek to its end.
        let size_bytes = file.seek(SeekFrom::End(0))?;
        let block_bytes = match opening.block_bytes {
            Some(bytes) => bytes.max(1),
            None => unit_of(&file, is_block_device)?,
        };
        let geometry = Geometry { size_bytes: size_bytes - size_bytes % u64::from(block_bytes), block_bytes };
        Ok(OpenedFile { file, geometry, is_block_device, caching })
    }
}

/// The alignment of direct transfers: the logical block, or `STATX_DIOALIGN` (statx(2), Linux 6.1).
fn unit_of(file: &File, is_block_device: bool) -> io::Result<u32> {
    /// Suits every file system on a disk with 512-byte sectors, and most on larger sectors.
    const WHERE_NOTHING_IS_SAID: u32 = 4096;
    if is_block_device {
        return Ok(ioctl_blksszget(file)?);
    }
    let said = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
    let said = said.filter(|said| said.stx_mask & StatxFlags::DIOALIGN.bits() != 0);
    // 0 means no direct transfers at all. Less than a sector is useless.
    Ok(said.map_or(WHERE_NOTHING_IS_SAID, |said| match said.stx_dio_offset_align {
        0 => WHERE_NOTHING_IS_SAID,
        unit => unit.max(512),
    }))
}
