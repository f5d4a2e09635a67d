//! A file or block device that was opened as a disk, through the page cache or around it, and what
//! its geometry is.
//!
//! It never makes, extends or locks a file, and does not judge whether writing to it is safe.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, OFlags, StatxFlags, ioctl_blksszget, statx};
use rustix::io::Errno;

use crate::Geometry;

/// Whether the kernel's page cache lies between.
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
    /// Most requests under way at once, at least 1.
    pub depth: u32,
    /// Around the page cache where the file lets us, or through it in any case.
    pub caching: Caching,
    /// Unit of requests, bytes; by itself that of the device, and what direct transfers to a file
    /// ask for.
    pub block_bytes: Option<u32>,
    /// For a block device: nobody else may open it exclusively or mount it (`O_EXCL`, open(2)).
    pub exclusive: bool,
    /// For reading alone: writes fail with what the system says.
    pub read_only: bool,
}

impl Default for DiskOptions {
    fn default() -> DiskOptions {
        DiskOptions { depth: 256, caching: Caching::Direct, block_bytes: None, exclusive: false, read_only: false }
    }
}

/// A file that was opened, and what is known of it.
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
                // The file system does not have it (open(2)).
                Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                    (open(OFlags::empty())?, Caching::PageCache)
                }
                other => (other?, Caching::Direct),
            },
        };
        // Block devices have no length in their metadata, but an end to seek to.
        let size_bytes = file.seek(SeekFrom::End(0))?;
        let block_bytes = match opening.block_bytes {
            Some(bytes) => bytes.max(1),
            None => unit_of(&file, is_block_device)?,
        };
        let geometry = Geometry { size_bytes: size_bytes - size_bytes % u64::from(block_bytes), block_bytes };
        Ok(OpenedFile { file, geometry, is_block_device, caching })
    }
}

/// What offsets of direct transfers are multiples of: the logical block, or what `STATX_DIOALIGN`
/// says (statx(2), Linux 6.1).
fn unit_of(file: &File, is_block_device: bool) -> io::Result<u32> {
    /// Every file system of a disk with 512-byte sectors takes this, and most of those with larger
    /// ones.
    const WHERE_NOTHING_IS_SAID: u32 = 4096;
    if is_block_device {
        return Ok(ioctl_blksszget(file)?);
    }
    let said = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
    let said = said.filter(|said| said.stx_mask & StatxFlags::DIOALIGN.bits() != 0);
    // 0: no direct transfers at all. Less than a sector is useless.
    Ok(said.map_or(WHERE_NOTHING_IS_SAID, |said| match said.stx_dio_offset_align {
        0 => WHERE_NOTHING_IS_SAID,
        unit => unit.max(512),
    }))
}
