//! Opens a path as a disk, by the fastest permitted method.

use std::io::{self, IoSliceMut};
use std::path::Path;

use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::aio_disk::AioDisk;
use crate::opened_file::OpenedFile;
use crate::{BlockDevice, Buffer, Caching, DiskOptions, FileDisk, UringDisk};

/// Opens a disk by its path: with io_uring, with native AIO where io_uring would need threads, or
/// with plain system calls where neither is permitted. Also returns sentences that say what was
/// given up and why.
///
/// # Errors
/// The error of opening the path or of asking for its size.
pub fn open_disk(path: &Path, opening: &DiskOptions) -> io::Result<(Box<dyn BlockDevice>, Vec<String>)> {
    let target = OpenedFile::open(path, opening)?;
    let mut notes = Vec::new();
    if opening.caching == Caching::Direct && target.caching != opening.caching {
        notes.push(format!("{}: its file system does not support O_DIRECT; using the page cache", path.display()));
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

/// Whether the file supports `RWF_NOWAIT` (preadv2(2)).
fn knows_nowait(target: &OpenedFile) -> bool {
    let mut block = Buffer::zeroed(target.geometry.block_bytes as usize);
    let answer = preadv2(&target.file, &mut [IoSliceMut::new(&mut block)], 0, ReadWriteFlags::NOWAIT);
    answer != Err(Errno::OPNOTSUPP)
}

fn best_of(
    target: OpenedFile,
    attempt: impl FnOnce(OpenedFile) -> Result<UringDisk, (OpenedFile, io::Error)>,
) -> (Box<dyn BlockDevice>, Option<String>) {
    match attempt(target) {
        Ok(disk) => (Box::new(disk), None),
        Err((target, error)) => {
            let note = "io_uring cannot be used; using plain system calls, one request at a time";
            (Box::new(FileDisk::on(target)), Some(format!("{note}: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::Geometry;
    use crate::agreement::{SIZE, exercise, scratch};

    #[test]
    fn what_io_uring_refuses_is_done_by_plain_calls_and_said() {
        let file = scratch();
        let opening = DiskOptions { caching: Caching::PageCache, block_bytes: Some(512), ..DiskOptions::default() };
        let target = OpenedFile::open(file.path(), &opening).unwrap();
        let refuse = |target| Err((target, io::Error::from(Errno::PERM)));
        let (mut device, note) = best_of(target, refuse);
        assert_eq!(device.geometry(), Geometry { size_bytes: SIZE, block_bytes: 512 });
        exercise(&mut device);
        let note = note.unwrap();
        assert!(note.starts_with("io_uring cannot be used") && note.contains("Operation not permitted"), "{note}");
    }

    #[test]
    fn native_aio_agrees_with_the_others() {
        let expected = exercise(&mut crate::RamDisk::new(SIZE, 512));
        for depth in [1, 3, 64] {
            let file = scratch();
            let opening = DiskOptions { caching: Caching::PageCache, block_bytes: Some(512), ..DiskOptions::default() };
            let target = OpenedFile::open(file.path(), &opening).unwrap();
            // Discards by `ioctl` do not work on a file, but the agreement test checks their
            // effect.
            let Ok(disk) = AioDisk::on(target, depth) else { panic!("no native AIO here") };
            assert!(exercise(&mut Punching { disk, file: file.reopen().unwrap() }) == expected, "depth {depth}");
        }
    }

    /// Discards by punching the file; passes everything else on.
    struct Punching {
        disk: AioDisk,
        file: File,
    }

    impl BlockDevice for Punching {
        fn geometry(&self) -> Geometry {
            self.disk.geometry()
        }

        fn submit(&mut self, request: crate::DiskRequest) -> Result<(), crate::DiskRequest> {
            if let crate::Action::Discard { at, length } = request.action {
                let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(&self.file, flags, at, length).unwrap();
            }
            self.disk.submit(request)
        }

        fn reap(&mut self, wait: bool, done: &mut Vec<crate::DiskCompletion>) {
            self.disk.reap(wait, done);
        }
    }

    #[test]
    fn paths_tell_their_geometry() {
        let file = scratch();
        file.as_file().set_len(SIZE + 100).unwrap();
        let (device, _) = open_disk(file.path(), &DiskOptions::default()).unwrap();
        let Geometry { size_bytes, block_bytes } = device.geometry();
        assert_eq!(size_bytes, SIZE, "cut to whole blocks");
        assert!(block_bytes.is_power_of_two() && (512..=65536).contains(&block_bytes), "{block_bytes}");
        assert!(open_disk(Path::new("/dev/null/nowhere"), &DiskOptions::default()).is_err());
    }
}
