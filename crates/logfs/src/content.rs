//! Reading and writing what is in files. Reads and writes lock the inode shared, what depends on its size exclusively.
//!
//! A write's content is with the device before its record exists, so that a record never leads to bytes that were not sent. Clusters under a read
//! or write are pinned, so that they are not given away meanwhile.

use crate::allocation::{Slot, Stream};
use crate::cleaner::write_slots;
use crate::extents::Place;
use crate::instance::{Need, State};
use crate::locks::{Key, Mode};
use crate::record::{InodeId, Record, Stretch};
use crate::{Error, LogFs};

/// Largest size of a file, bytes.
const MOST_BYTES: u64 = i64::MAX as u64;

/// A part of a read that comes from the disk.
struct Part {
    /// Where in the answer.
    at: usize,
    place: u64,
    length: u64,
}

impl LogFs {
    /// Reads up to `length` bytes from `offset` on: fewer where the file ends. Holes read as zeroes.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`], [`Error::Device`].
    pub async fn read(&self, inode: InodeId, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        let instance = &self.0;
        let _held = instance.locks.take(vec![(Key::Inode(inode), Mode::Shared)]).await;
        let (mut answer, parts) = {
            let mut state = instance.state.borrow_mut();
            let (answer, parts) = gather(&state, inode, offset, length)?;
            parts.iter().for_each(|part| state.clusters.pin(part.place, part.length));
            (answer, parts)
        };
        let block = u64::from(instance.layout.block_bytes);
        let start = |part: &Part| part.place - part.place % block;
        let end = |part: &Part| instance.layout.blocks(part.place + part.length);
        let reads: Vec<_> =
            parts.iter().map(|part| instance.disk.read(start(part), (end(part) - start(part)) as usize)).collect();
        let mut result = Ok(());
        for (part, read) in parts.iter().zip(reads) {
            match read.await {
                Ok(bytes) => {
                    let skipped = (part.place % block) as usize;
                    let length = part.length as usize;
                    answer[part.at..part.at + length].copy_from_slice(&bytes[skipped..skipped + length]);
                }
                Err(error) => result = Err(Error::Device(error)),
            }
        }
        let mut state = instance.state.borrow_mut();
        let ticket = state.log.last_ticket;
        parts.iter().for_each(|part| state.clusters.unpin(part.place, part.length, ticket));
        drop(state);
        result.map(|()| answer)
    }

    /// Writes bytes at `offset`. Up to [`crate::Layout::atomic_write_bytes`] at once are there whole or not at all after a crash.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`], [`Error::TooLarge`], [`Error::NoSpace`], [`Error::Device`]; of a write longer
    /// than the atomic size, parts may have been written.
    pub async fn write(&self, inode: InodeId, offset: u64, content: &[u8]) -> Result<(), Error> {
        let _held = self.0.locks.take(vec![(Key::Inode(inode), Mode::Shared)]).await;
        self.write_locked(inode, offset, content).await
    }

    /// Writes bytes at the end, wherever that is when its turn comes; returns where they went.
    ///
    /// # Errors
    /// As [`LogFs::write`].
    pub async fn append(&self, inode: InodeId, content: &[u8]) -> Result<u64, Error> {
        let _held = self.0.locks.take(vec![(Key::Inode(inode), Mode::Exclusive)]).await;
        let offset = self.stat(inode)?.size;
        self.write_locked(inode, offset, content).await?;
        Ok(offset)
    }

    async fn write_locked(&self, inode: InodeId, offset: u64, content: &[u8]) -> Result<(), Error> {
        self.check_file(inode)?;
        if offset.checked_add(content.len() as u64).is_none_or(|end| end > MOST_BYTES) {
            return Err(Error::TooLarge);
        }
        let mut at = offset;
        for part in content.chunks(self.0.layout.atomic_write_bytes() as usize) {
            self.write_part(inode, at, part).await?;
            at += part.len() as u64;
        }
        Ok(())
    }

    /// One atomic write.
    async fn write_part(&self, inode: InodeId, offset: u64, content: &[u8]) -> Result<(), Error> {
        let instance = &self.0;
        let length = content.len() as u64;
        let is_inline = |state: &State| {
            let fits = state.tree.inline_bytes() + length <= instance.options.inline_bytes;
            length <= u64::from(instance.layout.small_max_bytes) && fits
        };
        let need = |state: &State| match is_inline(state) {
            true => Need::Clusters(0),
            false => Need::Clusters(state.heads.clusters_for(Stream::Written, length, &instance.layout)),
        };
        instance.admit(need).await?;
        let slots = {
            let mut state = instance.state.borrow_mut();
            let state = &mut *state;
            if is_inline(state) {
                None
            } else {
                let context = (&instance.layout, state.log.last_ticket);
                let slots = state.heads.take(Stream::Written, length, &mut state.clusters, context);
                Some(slots.ok_or(Error::NoSpace)?)
            }
        };
        let Some(slots) = slots else {
            self.check_file(inode)?;
            let record = Record::WriteInline { inode, offset, time: instance.now(), content: content.to_vec() };
            return instance.commit(&[record]).map(drop);
        };
        let written = write_slots(instance, &slots, content).await;
        let committed = match written {
            Ok(()) => self.commit_extents(inode, offset, &slots, content),
            Err(error) => Err(Error::Device(error)),
        };
        let mut state = instance.state.borrow_mut();
        let ticket = state.log.last_ticket;
        slots.iter().for_each(|(place, length)| state.clusters.unpin(*place, *length, ticket));
        committed
    }

    fn commit_extents(&self, inode: InodeId, offset: u64, slots: &[Slot], content: &[u8]) -> Result<(), Error> {
        // Deleted meanwhile, if nobody holds it: there is nothing to write to.
        self.check_file(inode)?;
        let time = self.0.now();
        let mut done = 0;
        let records: Vec<Record> = slots
            .iter()
            .map(|(place, length)| {
                let bytes = &content[done..done + *length as usize];
                let stretch = Stretch { offset: offset + done as u64, length: *length, place: *place };
                done += *length as usize;
                Record::WriteExtent { inode, stretch, checksum: crc32c::crc32c(bytes), time }
            })
            .collect();
        self.0.commit(&records).map(drop)
    }

    pub(crate) fn check_file(&self, inode: InodeId) -> Result<(), Error> {
        let state = self.0.state.borrow();
        let node = state.tree.get(inode).ok_or(Error::NotFound)?;
        match (node.file(), node.names()) {
            (Some(_), _) => Ok(()),
            (None, Some(_)) => Err(Error::IsDirectory),
            (None, None) => Err(Error::Invalid("a symbolic link has no content")),
        }
    }

    /// Sets the size; what is cut off is gone, what is added reads as zeroes.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`], [`Error::TooLarge`], [`Error::NoSpace`] (never when the file becomes smaller).
    pub async fn truncate(&self, inode: InodeId, size: u64) -> Result<(), Error> {
        if size > MOST_BYTES {
            return Err(Error::TooLarge);
        }
        let _held = self.0.locks.take(vec![(Key::Inode(inode), Mode::Exclusive)]).await;
        self.0.admit(|_| Need::Nothing).await?;
        self.check_file(inode)?;
        self.0.commit(&[Record::Truncate { inode, size, time: self.0.now() }]).map(drop)
    }

    /// Makes a range read as zeroes and gives its space back; the size stays (`FALLOC_FL_PUNCH_HOLE`).
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`], [`Error::Invalid`] for an empty range.
    pub async fn punch(&self, inode: InodeId, offset: u64, length: u64) -> Result<(), Error> {
        if length == 0 || offset.checked_add(length).is_none() {
            return Err(Error::Invalid("a range that is empty or ends beyond any offset"));
        }
        let _held = self.0.locks.take(vec![(Key::Inode(inode), Mode::Exclusive)]).await;
        self.0.admit(|_| Need::Nothing).await?;
        self.check_file(inode)?;
        self.0.commit(&[Record::Punch { inode, offset, length, time: self.0.now() }]).map(drop)
    }

    /// Makes the file at least `offset + length` long (`fallocate(2)` with mode 0). Nothing is set aside: nothing is overwritten in place,
    /// so that every write needs new space anyhow.
    ///
    /// # Errors
    /// As [`LogFs::truncate`].
    pub async fn allocate(&self, inode: InodeId, offset: u64, length: u64) -> Result<(), Error> {
        let end = offset.checked_add(length).filter(|end| *end <= MOST_BYTES && length > 0);
        let end = end.ok_or(if length == 0 { Error::Invalid("an empty range") } else { Error::TooLarge })?;
        let _held = self.0.locks.take(vec![(Key::Inode(inode), Mode::Exclusive)]).await;
        self.0.admit(|_| Need::Nothing).await?;
        self.check_file(inode)?;
        if self.stat(inode)?.size >= end {
            return Ok(());
        }
        self.0.commit(&[Record::Truncate { inode, size: end, time: self.0.now() }]).map(drop)
    }
}

/// What a read finds: the bytes that are in memory, in place, and the parts that have to come from the disk.
fn gather(state: &State, inode: InodeId, offset: u64, length: usize) -> Result<(Vec<u8>, Vec<Part>), Error> {
    let node = state.tree.get(inode).ok_or(Error::NotFound)?;
    let Some(file) = node.file() else {
        let is_directory = node.names().is_some();
        return Err(if is_directory {
            Error::IsDirectory
        } else {
            Error::Invalid("a symbolic link has no content")
        });
    };
    let end = offset.saturating_add(length as u64).min(node.attributes.size);
    let mut answer = vec![0; end.saturating_sub(offset) as usize];
    let mut parts = Vec::new();
    for (start, extent) in file.touching(offset, end) {
        let (from, to) = (start.max(offset), (start + extent.length).min(end));
        let Some(length) = to.checked_sub(from).filter(|length| *length > 0) else { continue };
        let at = (from - offset) as usize;
        match &extent.place {
            Place::Disk(place) => parts.push(Part { at, place: place + (from - start), length }),
            Place::Inline(content) => {
                let skipped = (from - start) as usize;
                answer[at..at + length as usize].copy_from_slice(&content[skipped..skipped + length as usize]);
            }
        }
    }
    Ok((answer, parts))
}
