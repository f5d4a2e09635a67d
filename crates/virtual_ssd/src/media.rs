//! Where the blocks are: memory, a file, or nowhere.
//!
//! Guarantees: an access outside the media is an error, never a panic; memory that was never written or was discarded
//! reads as zeroes and costs nothing. A file keeps its contents beyond the process, and [`Media::flush`] beyond a loss
//! of power. `null` media copies nothing: reads leave the host's buffers as they are.
//!
//! Memory is made of huge pages where they cannot cost more than there is (`media/pages.rs`).
//!
//! Deliberately not here: blocks, namespaces and time. A file is accessed through a mapping, so its file system must
//! have room for all of it: [`Media::open`] checks that, and nobody else may shorten the file while it is in use.

mod pages;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iolab_memory::{Access, SharedBytes};
use iolab_pci_device::HostMemory;

pub use pages::{HugePages, MemoryPages};

use crate::ConfigError;
use crate::transfer::Piece;

/// Which media to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaKind {
    /// Memory of this process, provided by the kernel as it is written.
    Memory,
    /// Nothing is kept and nothing is copied: to measure the path.
    Null,
    /// A sparse file.
    File(PathBuf),
}

/// What holds the blocks.
#[derive(Debug)]
pub(crate) enum Media {
    Null,
    Bytes { bytes: SharedBytes, file: Option<File> },
}

/// An access to the media or to the host's memory did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyError {
    /// The host has not mapped its side for that.
    Host,
    /// The media has no such bytes.
    Media,
}

impl Media {
    /// Opens or creates media of `bytes`.
    pub(crate) fn open(kind: &MediaKind, bytes: u64, pages: MemoryPages) -> Result<Media, ConfigError> {
        let length = usize::try_from(bytes).map_err(|_| ConfigError::TooLarge { bytes })?;
        match kind {
            MediaKind::Null => Ok(Media::Null),
            MediaKind::Memory => {
                let memory = pages
                    .take(length)
                    .map_err(|source| ConfigError::Media { what: format!("{bytes} bytes of memory"), source })?;
                Ok(Media::Bytes { bytes: memory, file: None })
            }
            MediaKind::File(path) => {
                let refused = |source| ConfigError::Media { what: path.display().to_string(), source };
                let file = open_file(path, bytes).map_err(refused)?;
                let shared = file.try_clone().map_err(refused)?;
                let mapped = SharedBytes::of_file(shared.into(), 0, length, Access::ReadWrite).map_err(refused)?;
                Ok(Media::Bytes { bytes: mapped, file: Some(file) })
            }
        }
    }

    /// Whether nothing is kept.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Media::Null)
    }

    /// Brings what will soon be copied from or to `offset` near to the processor.
    #[inline]
    pub(crate) fn prefetch(&self, offset: u64, length: usize) {
        if let (Media::Bytes { bytes, .. }, Ok(offset)) = (self, usize::try_from(offset)) {
            bytes.prefetch(offset, length);
        }
    }

    /// Copies to the host.
    #[inline]
    pub(crate) fn copy_to_host<M: HostMemory>(
        &self,
        offset: u64,
        memory: &mut M,
        pieces: &[Piece],
    ) -> Result<(), CopyError> {
        let Media::Bytes { bytes, .. } = self else { return Ok(()) };
        let mut at = checked(bytes, offset, pieces)?;
        for piece in pieces {
            if !piece.is_bucket() {
                memory.copy_in(piece.address, bytes, at, piece.bytes).map_err(|_| CopyError::Host)?;
            }
            at += piece.bytes;
        }
        Ok(())
    }

    /// Copies from the host.
    #[inline]
    pub(crate) fn copy_from_host<M: HostMemory>(
        &self,
        offset: u64,
        memory: &mut M,
        pieces: &[Piece],
    ) -> Result<(), CopyError> {
        let Media::Bytes { bytes, .. } = self else { return Ok(()) };
        let mut at = checked(bytes, offset, pieces)?;
        for piece in pieces {
            memory.copy_out(piece.address, bytes, at, piece.bytes).map_err(|_| CopyError::Host)?;
            at += piece.bytes;
        }
        Ok(())
    }

    /// Copies into `to`; `null` media gives zeroes.
    pub(crate) fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), CopyError> {
        match self {
            Media::Null => to.fill(0),
            Media::Bytes { bytes, .. } => bytes.read(window(bytes, offset, to.len())?, to),
        }
        Ok(())
    }

    /// Copies `length` bytes within the media.
    pub(crate) fn copy_within(&self, from: u64, to: u64, length: u64) -> Result<(), CopyError> {
        let Media::Bytes { bytes, .. } = self else { return Ok(()) };
        let length = usize::try_from(length).map_err(|_| CopyError::Media)?;
        let (from, to) = (window(bytes, from, length)?, window(bytes, to, length)?);
        bytes.copy_to(from, bytes, to, length);
        Ok(())
    }

    /// Makes `length` bytes read as zeroes, giving their pages back where that is possible.
    pub(crate) fn discard(&self, offset: u64, length: u64) -> Result<(), CopyError> {
        let Media::Bytes { bytes, .. } = self else { return Ok(()) };
        let length = usize::try_from(length).map_err(|_| CopyError::Media)?;
        let offset = window(bytes, offset, length)?;
        if length > 0 {
            bytes.discard(offset, length);
        }
        Ok(())
    }

    /// Makes what was written survive a loss of power, where the media can.
    pub(crate) fn flush(&self) -> Result<(), CopyError> {
        match self {
            // fdatasync(2) also writes the pages that were changed through a mapping.
            Media::Bytes { file: Some(file), .. } => file.sync_data().map_err(|_| CopyError::Media),
            _ => Ok(()),
        }
    }
}

/// `offset`, once it is known that all pieces fit behind it.
#[inline]
fn checked(bytes: &SharedBytes, offset: u64, pieces: &[Piece]) -> Result<usize, CopyError> {
    let total: usize = pieces.iter().map(|piece| piece.bytes).sum();
    window(bytes, offset, total)
}

#[inline]
fn window(bytes: &SharedBytes, offset: u64, length: usize) -> Result<usize, CopyError> {
    let offset = usize::try_from(offset).map_err(|_| CopyError::Media)?;
    let end = offset.checked_add(length).ok_or(CopyError::Media)?;
    if end > bytes.len() { Err(CopyError::Media) } else { Ok(offset) }
}

fn open_file(path: &Path, bytes: u64) -> std::io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        let reason = "not a regular file: name a file that may be created or written";
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, reason));
    }
    // A page that the file system has no room for would end the process on its first write.
    let system = rustix::fs::fstatvfs(&file)?;
    let missing = bytes.saturating_sub(metadata.blocks() * 512);
    if system.f_bavail.saturating_mul(system.f_frsize) < missing {
        let reason = format!("the file system has no room for {bytes} bytes: choose a smaller size");
        return Err(std::io::Error::new(std::io::ErrorKind::StorageFull, reason));
    }
    if metadata.len() < bytes {
        file.set_len(bytes)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_pci_device::{DmaMapper, DmaTable};

    #[test]
    fn what_is_written_is_read_and_discarded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("media");
        for kind in [MediaKind::Memory, MediaKind::File(path.clone())] {
            let media = Media::open(&kind, 1 << 20, MemoryPages::default()).unwrap();
            let mut table = DmaTable::new();
            let buffer = table.allocate(8192).unwrap();
            buffer.memory.fill(0, 8192, 7);
            let pieces = [Piece::new(buffer.address, 4096), Piece::new(buffer.address + 4096, 512)];
            media.copy_from_host(512, &mut table, &pieces).unwrap();
            media.copy_within(512, 100_000, 4608).unwrap();
            let mut seen = vec![0; 4608];
            media.read(100_000, &mut seen).unwrap();
            assert!(seen.iter().all(|byte| *byte == 7), "{kind:?}");
            media.discard(512, 4096).unwrap();
            buffer.memory.fill(0, 8192, 9);
            media.copy_to_host(512, &mut table, &pieces).unwrap();
            buffer.memory.read(0, &mut seen);
            assert!(seen[..4096].iter().all(|byte| *byte == 0) && seen[4096..].iter().all(|byte| *byte == 7));
            media.flush().unwrap();
            assert_eq!(media.copy_to_host((1 << 20) - 512, &mut table, &pieces), Err(CopyError::Media));
            assert_eq!(media.copy_to_host(0, &mut table, &[Piece::new(64, 512)]), Err(CopyError::Host));
            assert_eq!(media.discard(u64::MAX, 2), Err(CopyError::Media));
        }
        let again = Media::open(&MediaKind::File(path), 1 << 20, MemoryPages::default()).unwrap();
        let mut byte = [0];
        again.read(100_000, &mut byte).unwrap();
        assert_eq!(byte, [7], "a file survives");
    }

    #[test]
    fn media_that_cannot_be_opened_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path, bytes| {
            let kind = MediaKind::File(path.to_owned());
            Media::open(&kind, bytes, MemoryPages::default()).unwrap_err().to_string()
        };
        assert!(refused(folder.path(), 4096).contains("media"), "{}", refused(folder.path(), 4096));
        let huge = folder.path().join("huge");
        assert!(refused(&huge, 1 << 60).contains("no room"), "{}", refused(&huge, 1 << 60));
    }
}
