//! Opening a path as a disk: file or block device, through the page cache or around it, and what
//! its geometry is.
//!
//! It never makes, extends or locks a file, and does not judge whether writing to it is safe.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSliceMut, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, OFlags, StatxFlags, ioctl_blksszget, statx};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::aio_disk::AioDisk;
use crate::{BlockDevice, Buffer, FileDisk, Geometry, UringDisk};

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
pub struct Opening {
    /// Most requests under way at once, at least 1.
    pub depth: u32,
    /// Around the page cache where the file lets us, or through it in any case.
    pub caching: Caching,
    /// Unit of requests, bytes; by itself that of the device, and what direct transfers to a file
    /// ask for.
    pub block_bytes: Option<u32>,
    /// Of a block device: nobody else may have it open so, nor mount it (`O_EXCL`, open(2)).
    pub exclusive: bool,
    /// For reading alone: writes fail with what the system says.
    pub read_only: bool,
}

impl Default for Opening {
    fn default() -> Opening {
        Opening { depth: 256, caching: Caching::Direct, block_bytes: None, exclusive: false, read_only: false }
    }
}

/// A file that was opened, and what is known of it.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) file: File,
    pub(crate) geometry: Geometry,
    pub(crate) is_block_device: bool,
    pub(crate) caching: Caching,
}

impl Target {
    pub(crate) fn open(path: &Path, opening: &Opening) -> io::Result<Target> {
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
        Ok(Target { file, geometry, is_block_device, caching })
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
    // 0: no direct transfers at all. Less than a sector helps nobody.
    Ok(said.map_or(WHERE_NOTHING_IS_SAID, |said| match said.stx_dio_offset_align {
        0 => WHERE_NOTHING_IS_SAID,
        unit => unit.max(512),
    }))
}

/// A disk by its path: by io_uring, by native AIO where io_uring would need threads, or by plain
/// system calls where neither is permitted. With it come the sentences that say what was given up,
/// and why.
///
/// # Errors
/// What opening the path or asking for its size says.
pub fn open_disk(path: &Path, opening: &Opening) -> io::Result<(Box<dyn BlockDevice>, Vec<String>)> {
    let target = Target::open(path, opening)?;
    let mut notes = Vec::new();
    if opening.caching == Caching::Direct && target.caching != opening.caching {
        notes.push(format!("{}: its file system has no O_DIRECT; the page cache is used", path.display()));
    }
    // io_uring would hand every transfer to a worker thread.
    let waits = target.is_block_device && target.caching == Caching::Direct && !knows_nowait(&target);
    let target = if waits {
        match AioDisk::on(target, opening.depth) {
            Ok(disk) => return Ok((Box::new(disk), notes)),
            Err((target, _)) => target,
        }
    } else {
        target
    };
    let (device, note) = best_of(target, |target| UringDisk::on(target, opening.depth));
    notes.extend(note.map(|note| format!("{}: {note}", path.display())));
    Ok((device, notes))
}

/// Whether the file can say that a transfer would have to wait (`RWF_NOWAIT`, preadv2(2)).
fn knows_nowait(target: &Target) -> bool {
    let mut block = Buffer::zeroed(target.geometry.block_bytes as usize);
    let answer = preadv2(&target.file, &mut [IoSliceMut::new(&mut block)], 0, ReadWriteFlags::NOWAIT);
    answer != Err(Errno::OPNOTSUPP)
}

fn best_of(
    target: Target,
    attempt: impl FnOnce(Target) -> Result<UringDisk, (Target, io::Error)>,
) -> (Box<dyn BlockDevice>, Option<String>) {
    match attempt(target) {
        Ok(disk) => (Box::new(disk), None),
        Err((target, error)) => {
            let note = "one request at a time, by plain system calls, because io_uring cannot be used";
            (Box::new(FileDisk::on(target)), Some(format!("{note}: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::{SIZE, exercise, scratch};

    #[test]
    fn what_io_uring_refuses_is_done_by_plain_calls_and_said() {
        let file = scratch();
        let opening = Opening { caching: Caching::PageCache, block_bytes: Some(512), ..Opening::default() };
        let target = Target::open(file.path(), &opening).unwrap();
        let refuse = |target| Err((target, io::Error::from(Errno::PERM)));
        let (mut device, note) = best_of(target, refuse);
        assert_eq!(device.geometry(), Geometry { size_bytes: SIZE, block_bytes: 512 });
        exercise(&mut device);
        assert!(note.unwrap().contains("io_uring cannot be used: Operation not permitted"));
    }

    #[test]
    fn native_aio_agrees_with_the_others() {
        let expected = exercise(&mut crate::RamDisk::new(SIZE, 512));
        for depth in [1, 3, 64] {
            let file = scratch();
            let opening = Opening { caching: Caching::PageCache, block_bytes: Some(512), ..Opening::default() };
            let target = Target::open(file.path(), &opening).unwrap();
            // Discards by `ioctl` mean nothing to a file; the test of agreement looks at what they
            // leave.
            let Ok(disk) = AioDisk::on(target, depth) else { panic!("no native AIO here") };
            assert!(exercise(&mut Punching { disk, file: file.reopen().unwrap() }) == expected, "depth {depth}");
        }
    }

    /// Discards by punching the file; hands on everything else.
    struct Punching {
        disk: AioDisk,
        file: File,
    }

    impl BlockDevice for Punching {
        fn geometry(&self) -> Geometry {
            self.disk.geometry()
        }

        fn submit(&mut self, request: crate::Request) -> Result<(), crate::Request> {
            if let crate::Action::Discard { at, length } = request.action {
                let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(&self.file, flags, at, length).unwrap();
            }
            self.disk.submit(request)
        }

        fn reap(&mut self, wait: bool, done: &mut Vec<crate::Completion>) {
            self.disk.reap(wait, done);
        }
    }

    #[test]
    fn paths_tell_their_geometry() {
        let file = scratch();
        file.as_file().set_len(SIZE + 100).unwrap();
        let (device, _) = open_disk(file.path(), &Opening::default()).unwrap();
        let Geometry { size_bytes, block_bytes } = device.geometry();
        assert_eq!(size_bytes, SIZE, "cut to whole blocks");
        assert!(block_bytes.is_power_of_two() && (512..=65536).contains(&block_bytes), "{block_bytes}");
        assert!(open_disk(Path::new("/dev/null/nowhere"), &Opening::default()).is_err());
    }
}
