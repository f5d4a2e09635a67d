//! Where the blocks are stored: memory, a file, another device, or nowhere.
//!
//! Guarantees: an access outside the media is an error, never a panic. Memory that was never
//! written, or was discarded, reads as zeroes and costs nothing. The contents of a file survive the
//! process, and after [`Media::flush`] also a loss of power. A write to a file on a full file
//! system is an error and does not end the process. `null` media copies nothing: reads leave the
//! host's buffers unchanged.
//!
//! Memory uses huge pages where they cannot exhaust it (`media/pages.rs`).
//!
//! A file is accessed through a watched mapping: if the file is truncated, or its device fails, the
//! commands that need the lost bytes report an error. [`FileSpace`] reserves disk space for written
//! data.
//!
//! This module does not know blocks, namespaces and time, nor which files may be used, which the
//! caller that opens them knows.

mod copy_error;
mod elsewhere;
mod pages;
mod write_cache;

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;

use iolab_memory::{MappingAccess, SharedBytes};
use rustix::fs::{FallocateFlags, fallocate};

pub(crate) use copy_error::CopyError;
pub use elsewhere::BlockStore;
pub use pages::{HugePages, MemoryPages};

use write_cache::WriteCache;

use crate::ConfigError;
use crate::data_window::{DataDirection, DataWindow};
use crate::file_space::{FileSpace, SpaceGuard};

/// The kind of media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaKind {
    /// Memory of this process, which the kernel provides as it is written.
    Memory,
    /// Nothing is stored or copied, to measure the path.
    Null,
    /// A sparse file.
    File(PathBuf),
    /// Another device, named as it was opened.
    Device(String),
}

/// The storage of the blocks.
#[derive(Debug)]
pub(crate) enum Media {
    Null,
    Bytes { bytes: SharedBytes, file: Option<Backing> },
    Elsewhere(Arc<dyn BlockStore>),
}

/// `TMPFS_MAGIC` of statfs(2).
const TMPFS: i64 = 0x0102_1994;

/// The file behind media.
#[derive(Debug)]
pub(crate) struct Backing {
    file: File,
    space: FileSpace,
    /// Whether even reading a hole through the mapping allocates space, as on tmpfs.
    reads_take_space: bool,
    /// The write cache, if blocks are kept in memory and written to the file later.
    cache: Option<WriteCache>,
}

/// The place from which bytes can be read.
enum Source<'a> {
    /// Through the mapping, while this value lives.
    Mapping(Option<SpaceGuard<'a>>),
    /// In a copy, from its start.
    Copy(SharedBytes),
}

/// Data to copy between the media and the host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) direction: DataDirection,
    /// Offset on the media.
    pub(crate) offset: u64,
    pub(crate) lba: u64,
    /// Whether written data must be durable afterwards (FUA).
    pub(crate) through: bool,
}

impl Copy {
    /// Executes the copy.
    #[inline]
    pub(crate) fn run<D: DataWindow>(self, media: &Media, data: &mut D) -> Result<(), CopyError> {
        match self.direction {
            DataDirection::ToHost => media.copy_to_host(self.offset, data),
            DataDirection::FromHost => media.copy_from_host(self.offset, data, self.through),
        }
    }
}

impl Media {
    /// Opens media of `bytes`: new, or in `file` if its kind needs one. With a seed, it gets a
    /// lossy write cache.
    pub(crate) fn open(
        kind: &MediaKind,
        file: Option<File>,
        bytes: u64,
        pages: MemoryPages,
        cache_seed: Option<u64>,
    ) -> Result<Media, ConfigError> {
        let length = usize::try_from(bytes).map_err(|_| ConfigError::TooLarge { bytes })?;
        match kind {
            MediaKind::Null => Ok(Media::Null),
            // The caller opens the device and passes it to the drive.
            MediaKind::Device(_) => Err(ConfigError::Unopened),
            MediaKind::Memory => {
                let memory = pages
                    .take(length)
                    .map_err(|source| ConfigError::Media { what: format!("{bytes} bytes of memory"), source })?;
                Ok(Media::Bytes { bytes: memory, file: None })
            }
            MediaKind::File(path) => {
                let refused = |source| ConfigError::Media { what: path.display().to_string(), source };
                let file = file.ok_or(ConfigError::Unopened)?;
                lengthen(&file, bytes).map_err(refused)?;
                let shared = file.try_clone().map_err(refused)?;
                let space = FileSpace::new(file.try_clone().map_err(refused)?, bytes);
                if let Some(seed) = cache_seed {
                    let bytes = WriteCache::memory_of(&file, length).map_err(refused)?;
                    let cache = Some(WriteCache::new(seed));
                    return Ok(Media::Bytes {
                        bytes,
                        file: Some(Backing { file, space, reads_take_space: false, cache }),
                    });
                }
                let mapped = SharedBytes::of_watched_file(shared.into(), 0, length, MappingAccess::ReadWrite)
                    .map_err(refused)?;
                let reads_take_space =
                    rustix::fs::fstatfs(&file).map_err(|error| refused(error.into()))?.f_type == TMPFS;
                Ok(Media::Bytes { bytes: mapped, file: Some(Backing { file, space, reads_take_space, cache: None }) })
            }
        }
    }

    /// Whether nothing is stored.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Media::Null)
    }

    /// Prefetches the memory at `offset`, because it will soon be copied.
    #[inline]
    pub(crate) fn prefetch(&self, offset: u64, length: usize) {
        if let (Media::Bytes { bytes, .. }, Ok(offset)) = (self, usize::try_from(offset)) {
            bytes.prefetch(offset, length);
        }
    }

    /// Copies to the host as many bytes as its window has.
    #[inline]
    fn copy_to_host<D: DataWindow>(&self, offset: u64, data: &mut D) -> Result<(), CopyError> {
        let Media::Bytes { bytes, file } = self else {
            return self.elsewhere(|store| elsewhere::copy_to_host(store, offset, data));
        };
        let total = data.len();
        let mut at = window(bytes, offset, total)?;
        let source = readable(file, at, total)?;
        let (bytes, _room) = match &source {
            Source::Mapping(room) => (bytes, room.as_ref()),
            Source::Copy(copy) => {
                at = 0;
                (copy, None)
            }
        };
        bytes.watched(at, total, || data.copy_from(bytes, at))?.map_err(CopyError::from)
    }

    /// Copies from the host as many bytes as its window has.
    #[inline]
    fn copy_from_host<D: DataWindow>(&self, offset: u64, data: &mut D, through: bool) -> Result<(), CopyError> {
        let Media::Bytes { bytes, file } = self else {
            return self.elsewhere(|store| elsewhere::copy_from_host(store, offset, data));
        };
        let total = data.len();
        let at = window(bytes, offset, total)?;
        let _room = claim(file, at, total)?;
        let copied = bytes.watched(at, total, || data.copy_to(bytes, at).map_err(CopyError::from));
        copied.unwrap_or(Err(CopyError::NotWritten))?;
        changed(file, bytes, at, total)?;
        match file.as_ref().filter(|_| through).and_then(|backing| backing.cache.as_ref().map(|cache| (backing, cache)))
        {
            Some((backing, cache)) => {
                cache.write_through(&backing.file, bytes, at, total).map_err(|_| CopyError::NotWritten)
            }
            None => Ok(()),
        }
    }

    /// Copies into `to`; `null` media returns zeroes.
    pub(crate) fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), CopyError> {
        match self {
            Media::Null => to.fill(0),
            Media::Elsewhere(store) => elsewhere::read(&**store, offset, to)?,
            Media::Bytes { bytes, file } => {
                let at = window(bytes, offset, to.len())?;
                match readable(file, at, to.len())? {
                    Source::Mapping(_room) => bytes.watched(at, to.len(), || bytes.read(at, to))?,
                    Source::Copy(copy) => copy.read(0, to),
                }
            }
        }
        Ok(())
    }

    /// Copies `length` bytes within the media.
    pub(crate) fn copy_within(&self, from: u64, to: u64, length: u64) -> Result<(), CopyError> {
        let Media::Bytes { bytes, file } = self else {
            let length = usize::try_from(length).map_err(|_| CopyError::Media)?;
            return self.elsewhere(|store| elsewhere::copy_within(store, from, to, length));
        };
        let length = usize::try_from(length).map_err(|_| CopyError::Media)?;
        let (from, to) = (window(bytes, from, length)?, window(bytes, to, length)?);
        let source = readable(file, from, length)?;
        let _room = claim(file, to, length)?;
        match &source {
            Source::Mapping(_) => {
                // The range contains both places, because the mapping is watched by ranges.
                let (first, last) = (from.min(to), from.max(to) + length);
                bytes.watched(first, last - first, || bytes.copy_to(from, bytes, to, length))?;
            }
            Source::Copy(copy) => bytes.watched(to, length, || copy.copy_to(0, bytes, to, length))?,
        }
        changed(file, bytes, to, length)
    }

    /// Makes `length` bytes read as zeroes, and frees their pages where possible.
    pub(crate) fn discard(&self, offset: u64, length: u64) -> Result<(), CopyError> {
        let Media::Bytes { bytes, file } = self else {
            return self.elsewhere(|store| elsewhere::discard(store, offset, length));
        };
        let length = usize::try_from(length).map_err(|_| CopyError::Media)?;
        let offset = window(bytes, offset, length)?;
        match file {
            _ if length == 0 => Ok(()),
            None => {
                bytes.discard(offset, length);
                Ok(())
            }
            Some(backing) if backing.cache.is_some() => {
                bytes.discard(offset, length);
                changed(file, bytes, offset, length)
            }
            Some(backing) => backing.discard(bytes, offset, length),
        }
    }

    /// Makes written data survive a loss of power, if the media can.
    pub(crate) fn flush(&self) -> Result<(), CopyError> {
        match self {
            Media::Bytes { bytes, file: Some(Backing { file, cache: Some(cache), .. }) } => {
                cache.flush(file, bytes).map_err(|_| CopyError::Media)
            }
            // fdatasync(2) also writes pages that were changed through a mapping.
            Media::Bytes { file: Some(backing), .. } => backing.file.sync_data().map_err(|_| CopyError::Media),
            Media::Elsewhere(store) => elsewhere::flush(&**store),
            _ => Ok(()),
        }
    }

    /// Runs an operation on the other device; does nothing if nothing is stored.
    #[cold]
    fn elsewhere(&self, work: impl FnOnce(&dyn BlockStore) -> Result<(), CopyError>) -> Result<(), CopyError> {
        match self {
            Media::Elsewhere(store) => work(&**store),
            _ => Ok(()),
        }
    }
}

impl Backing {
    /// Reads a range with read(2), which allocates no space in the file.
    #[cold]
    fn copy_of(&self, offset: usize, length: usize) -> Result<SharedBytes, CopyError> {
        let mut data = vec![0; length];
        self.file.read_exact_at(&mut data, offset as u64).map_err(|_| CopyError::Media)?;
        let copy = SharedBytes::anonymous(length.max(1)).map_err(|_| CopyError::Media)?;
        copy.write(0, &data);
        Ok(copy)
    }

    /// Frees the pages within the range. The bytes before and after them are overwritten, which
    /// needs space.
    fn discard(&self, bytes: &SharedBytes, offset: usize, length: usize) -> Result<(), CopyError> {
        const PAGE: usize = 4096;
        let end = offset + length;
        let (first, last) = (offset.next_multiple_of(PAGE).min(end), (end / PAGE * PAGE).max(offset));
        if first < last {
            for (from, to) in [(offset, first), (last, end)] {
                let _room = self.space.reserve(from as u64, (to - from) as u64).map_err(|_| CopyError::Full)?;
                bytes.watched(from, to - from, || bytes.fill(from, to - from, 0))?;
            }
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let punch = || fallocate(&self.file, flags, first as u64, (last - first) as u64);
            if self.space.punch(first as u64, (last - first) as u64, punch).is_ok() {
                return Ok(());
            }
        }
        let _room = self.space.reserve(offset as u64, length as u64).map_err(|_| CopyError::Full)?;
        bytes.watched(offset, length, || bytes.fill(offset, length, 0))?;
        Ok(())
    }
}

/// How to read a range: through the mapping, unless that would need space that is not available.
#[inline]
fn readable<'a>(file: &'a Option<Backing>, offset: usize, length: usize) -> Result<Source<'a>, CopyError> {
    let Some(backing) = file.as_ref().filter(|backing| backing.reads_take_space) else {
        return Ok(Source::Mapping(None));
    };
    match backing.space.reserve(offset as u64, length as u64) {
        Ok(room) => Ok(Source::Mapping(Some(room))),
        Err(_) => backing.copy_of(offset, length).map(Source::Copy),
    }
}

/// Reserves disk space for a write to a file. Memory needs none.
#[inline]
fn claim(file: &Option<Backing>, offset: usize, length: usize) -> Result<Option<SpaceGuard<'_>>, CopyError> {
    let Some(backing) = file else { return Ok(None) };
    backing.space.reserve(offset as u64, length as u64).map(Some).map_err(|_| CopyError::Full)
}

/// Notifies the write cache of a change, if there is one.
#[inline]
fn changed(file: &Option<Backing>, bytes: &SharedBytes, offset: usize, length: usize) -> Result<(), CopyError> {
    match file {
        Some(Backing { file, cache: Some(cache), .. }) => {
            cache.changed(file, bytes, offset, length).map_err(|_| CopyError::NotWritten)
        }
        _ => Ok(()),
    }
}

/// Checks that `length` bytes at `offset` are within the media; returns `offset`.
#[inline]
fn window(bytes: &SharedBytes, offset: u64, length: usize) -> Result<usize, CopyError> {
    let offset = usize::try_from(offset).map_err(|_| CopyError::Media)?;
    let end = offset.checked_add(length).ok_or(CopyError::Media)?;
    if end > bytes.len() { Err(CopyError::Media) } else { Ok(offset) }
}

/// Extends a file to the length of the media, if there is space for all of it.
fn lengthen(file: &File, bytes: u64) -> std::io::Result<()> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        let reason = "not a regular file: name a file that may be created or written";
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, reason));
    }
    // A drive that cannot be filled is most likely a mistake. Whether others have used the space
    // later is checked on each write.
    let system = rustix::fs::fstatvfs(file)?;
    let missing = bytes.saturating_sub(metadata.blocks() * 512);
    if system.f_bavail.saturating_mul(system.f_frsize) < missing {
        let reason = format!("the file system has no room for {bytes} bytes: use a smaller size");
        return Err(std::io::Error::new(std::io::ErrorKind::StorageFull, reason));
    }
    if metadata.len() < bytes {
        file.set_len(bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
