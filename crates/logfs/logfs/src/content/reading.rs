//! Reading. Content in memory is copied; content on the disk is read straight into the caller's
//! buffer where blocks match.

use iolab_disk::{Buffer, Divided};

use super::WithBuffer;
use crate::disk::Transfer;
use crate::extents::Place;
use crate::instance::{Instance, State};
use crate::locks::Mode;
use crate::record::InodeId;
use crate::{Error, LogFs};

/// A part of a read that lies on the disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Offset in the result.
    at: usize,
    pub(super) place: u64,
    pub(super) length: u64,
}

/// The result of looking up the range of a read.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Bytes until the end of the read or of the file.
    length: usize,
    /// Parts on the disk, in order; parts that are adjacent both in the file and on the disk are
    /// merged.
    pub(super) parts: Vec<Part>,
    /// Parts in memory, with their offset in the result.
    inline: Vec<(usize, Vec<u8>)>,
}

impl LogFs {
    /// Reads up to `length` bytes at `offset`; fewer at the end of the file. Holes read as zeroes.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`], [`Error::Device`], [`Error::Content`] when
    /// content on the disk does not match its checksum.
    pub async fn read(&self, inode: InodeId, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        // The caller may pass any length: limit it to what the file has.
        let there = self.stat(inode)?.size.saturating_sub(offset);
        let length = usize::try_from(there).unwrap_or(usize::MAX).min(length);
        let block = self.0.layout.block_bytes as usize;
        let (result, buffer) = self.read_into(inode, offset, Buffer::zeroed(length.next_multiple_of(block))).await;
        let found = result?.min(length);
        Ok(buffer.map(|buffer| buffer[..found].to_vec()).unwrap_or_default())
    }

    /// Reads from `offset` into a buffer and returns the number of bytes: fewer than the buffer
    /// holds at the end of the file. Holes read as zeroes. The buffer's bytes after those read, and
    /// all of them after an error, are undefined.
    ///
    /// # Errors
    /// As [`LogFs::read`].
    pub async fn read_into(&self, inode: InodeId, offset: u64, buffer: Buffer) -> WithBuffer<usize> {
        let instance = &self.0;
        let _held = instance.locks.take_inode(inode, Mode::Shared).await;
        let found = {
            let mut state = instance.state.borrow_mut();
            let found = gather(&state, inode, offset, buffer.len());
            if let Ok(found) = &found {
                found.parts.iter().for_each(|part| state.clusters.pin(part.place, part.length));
                instance.has_read(&mut state, inode, found.length as u64, found.parts.len());
            }
            found
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => return (Err(error), Some(buffer)),
        };
        let (result, mut buffer) = fetch(instance, &found, buffer).await;
        let mut state = instance.state.borrow_mut();
        let ticket = state.log.last_ticket;
        found.parts.iter().for_each(|part| state.clusters.unpin(part.place, part.length, ticket));
        if let Some(buffer) = buffer.as_mut() {
            fill_between(&found, buffer);
        }
        (result.map(|()| found.length), buffer)
    }
}

/// Looks up the parts of a read of this number of bytes.
pub(super) fn gather(state: &State, inode: InodeId, offset: u64, length: usize) -> Result<Found, Error> {
    let node = state.tree.get(inode).ok_or(Error::NotFound)?;
    let Some(file) = node.file() else {
        let is_directory = node.names().is_some();
        return Err(if is_directory { Error::IsDirectory } else { Error::Invalid("a symbolic link has no content") });
    };
    let end = offset.saturating_add(length as u64).min(node.attributes.size);
    let mut found = Found { length: end.saturating_sub(offset) as usize, ..Found::default() };
    for (start, extent) in file.touching(offset, end) {
        let (from, to) = (start.max(offset), (start + extent.length).min(end));
        let Some(length) = to.checked_sub(from).filter(|length| *length > 0) else { continue };
        let at = (from - offset) as usize;
        match &extent.place {
            Place::Disk(place) => add(&mut found.parts, Part { at, place: place + (from - start), length }),
            Place::Inline(content) => {
                let skipped = (from - start) as usize;
                found.inline.push((at, content[skipped..skipped + length as usize].to_vec()));
            }
        }
    }
    Ok(found)
}

fn add(parts: &mut Vec<Part>, part: Part) {
    match parts.last_mut() {
        Some(last) if last.at + last.length as usize == part.at && last.place + last.length == part.place => {
            last.length += part.length;
        }
        _ => parts.push(part),
    }
}

/// Reads all parts into the buffer.
async fn fetch(instance: &Instance, found: &Found, buffer: Buffer) -> (Result<(), Error>, Option<Buffer>) {
    let block = u64::from(instance.layout.block_bytes);
    match found.parts[..] {
        [] => return (Ok(()), Some(buffer)),
        [part] if part.at == 0 && goes_straight(found, &part, buffer.len(), block) => {
            let whole = part.length.next_multiple_of(block) as usize;
            if whole == buffer.len() {
                let (result, buffer) = instance.disk.read_into(part.place, buffer).with_buffer().await;
                let result = result.map_err(Error::Device);
                let good = |()| buffer.as_deref().map_or(Ok(()), |bytes| verify(instance, part.place, bytes));
                return (result.and_then(good), buffer);
            }
        }
        _ => {}
    }
    let mut divided = Divided::new(buffer);
    let mut taken = 0;
    let mut reads: Vec<(Part, Transfer, bool)> = Vec::with_capacity(found.parts.len());
    for part in &found.parts {
        let is_straight = goes_straight(found, part, divided.len(), block);
        let transfer = if is_straight {
            divided.take(part.at - taken);
            let whole = part.length.next_multiple_of(block) as usize;
            taken = part.at + whole;
            instance.disk.read_into(part.place, divided.take(whole))
        } else {
            let start = part.place - part.place % block;
            let end = instance.layout.blocks(part.place + part.length);
            instance.disk.read(start, (end - start) as usize)
        };
        reads.push((*part, transfer, is_straight));
    }
    let mut result = Ok(());
    let mut apart = Vec::new();
    for (part, read, is_straight) in reads {
        match read.await {
            Ok(bytes) => {
                result = result.and(verify(instance, part.place - part.place % block, &bytes));
                apart.extend((!is_straight).then_some((part, bytes)));
            }
            Err(error) => result = Err(Error::Device(error)),
        }
    }
    let mut buffer = divided.rejoin();
    for (part, bytes) in apart {
        let Some(buffer) = buffer.as_mut() else { break };
        let skipped = (part.place % block) as usize;
        let length = part.length as usize;
        buffer[part.at..part.at + length].copy_from_slice(&bytes[skipped..skipped + length]);
    }
    (result, buffer)
}

pub(super) fn verify(instance: &Instance, place: u64, bytes: &[u8]) -> Result<(), Error> {
    if instance.verifies_reads { instance.verify(place, bytes) } else { Ok(()) }
}

/// Whether the device can read a part straight to its place: the part starts at a block boundary in
/// the buffer and on the disk, and if its last block is not full, the bytes after it in the buffer
/// are not needed.
fn goes_straight(found: &Found, part: &Part, room: usize, block: u64) -> bool {
    let whole = part.length.next_multiple_of(block);
    let is_last = part.at + part.length as usize == found.length;
    let starts_well = part.place.is_multiple_of(block) && (part.at as u64).is_multiple_of(block);
    starts_well && part.at + whole as usize <= room && (whole == part.length || is_last)
}

/// Fills in what was not read from the device: content in memory, and zeroes for holes.
fn fill_between(found: &Found, buffer: &mut [u8]) {
    let mut filled = 0;
    let mut parts = found.parts.iter().map(|part| (part.at, part.length as usize, None)).peekable();
    let mut inline = found.inline.iter().map(|(at, bytes)| (*at, bytes.len(), Some(bytes))).peekable();
    loop {
        let next = match (parts.peek(), inline.peek()) {
            (Some(part), Some(bytes)) if bytes.0 < part.0 => inline.next(),
            (None, _) => inline.next(),
            _ => parts.next(),
        };
        let Some((at, length, content)) = next else { break };
        buffer[filled..at].fill(0);
        if let Some(content) = content {
            buffer[at..at + length].copy_from_slice(content);
        }
        filled = at + length;
    }
    buffer[filled..found.length].fill(0);
}
