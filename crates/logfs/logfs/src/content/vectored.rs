//! Reading into and writing from several buffers, as `preadv(2)` and `pwritev(2)` do: one look-up
//! or one change, whatever their number. What is written may go to several places of the file.

use iolab_disk::{Buffer, DeviceError, Divided};

use super::check_range;
use super::reading::{gather, verify};
use super::writing::{Proofs, Stretches};
use crate::allocation::Slot;
use crate::instance::Instance;
use crate::locks::Mode;
use crate::record::{InodeId, Stretch, SumList};
use crate::sums::add_sums_of;
use crate::{Error, LogFs};

impl LogFs {
    /// Writes the content of the buffers, one behind the other, to spans of the file, one after the
    /// other. Where spans overlap, the later one counts. Buffers and spans of whole blocks are one
    /// change, which costs little more than one write, and go straight to the disk, where they lie
    /// beside each other. Others are copied, and are a write for each span, or for several that
    /// continue each other.
    ///
    /// # Errors
    /// As [`LogFs::write`]; [`Error::Invalid`] when the spans are not as long as the buffers.
    pub async fn write_vectored(&self, inode: InodeId, spans: &[Span], buffers: Vec<Buffer>) -> Result<(), Error> {
        let spanned = spans.iter().try_fold(0_u64, |total, span| total.checked_add(span.length));
        if spanned != Some(length_of(&buffers)) {
            return Err(Error::Invalid("the spans are not as long as the buffers"));
        }
        let _held = self.0.locks.take_inode(inode, Mode::Shared).await;
        if !self.is_one_change(spans, &buffers) {
            return self.write_spans(inode, spans, &buffers).await;
        }
        spans.iter().try_for_each(|span| check_range(span.offset, span.length))?;
        let slots = self.find_room(inode, 0, length_of(&buffers)).await?;
        let (written, proofs) = write_slots(&self.0, &slots, buffers).await;
        let stretches = stretches(spans, &slots, &proofs, u64::from(self.0.layout.block_bytes));
        self.record(inode, &slots, stretches, written)
    }

    fn is_one_change(&self, spans: &[Span], buffers: &[Buffer]) -> bool {
        let layout = &self.0.layout;
        let (length, block_bytes) = (length_of(buffers), u64::from(layout.block_bytes));
        // Clusters end within spans.
        let records = spans.len() + (length / u64::from(layout.cluster_bytes)) as usize + 2;
        let are_blocks = spans.iter().all(|span| span.length > 0 && span.length.is_multiple_of(block_bytes));
        layout.goes_whole(length)
            && are_blocks
            && self.are_blocks(buffers)
            && (spans.len() == 1 || layout.fits_group(records, length / block_bytes))
    }

    async fn write_spans(&self, inode: InodeId, spans: &[Span], buffers: &[Buffer]) -> Result<(), Error> {
        let content: Vec<&[u8]> = buffers.iter().map(|buffer| &buffer[..]).collect();
        let content = content.concat();
        let mut rest = &content[..];
        for spans in spans.chunk_by(|one, next| one.offset.checked_add(one.length) == Some(next.offset)) {
            let length: u64 = spans.iter().map(|span| span.length).sum();
            let (now, later) = rest.split_at(length as usize);
            self.write_locked(inode, spans[0].offset, now).await?;
            rest = later;
        }
        Ok(())
    }

    /// Reads from `offset` into buffers, one behind the other: one read. Returns the number of
    /// bytes, which is less than the buffers hold at the end of the file, and the buffers. Holes
    /// read as zeroes. Bytes of the buffers after those read are undefined. Content that is on the
    /// disk in whole blocks is read straight into buffers of whole blocks, other content is copied.
    ///
    /// # Errors
    /// As [`LogFs::read`].
    pub async fn read_vectored(
        &self,
        inode: InodeId,
        offset: u64,
        buffers: Vec<Buffer>,
    ) -> Result<(usize, Vec<Buffer>), Error> {
        let held = self.0.locks.take_inode(inode, Mode::Shared).await;
        let total = length_of(&buffers) as usize;
        let Some(places) = self.find_blocks(inode, offset, &buffers) else {
            drop(held);
            return self.read_copying(inode, offset, buffers).await;
        };
        let result = read_places(&self.0, &places, buffers).await;
        let mut state = self.0.state.borrow_mut();
        let ticket = state.log.last_ticket;
        places.iter().for_each(|(place, length)| state.clusters.unpin(*place, *length, ticket));
        Ok((total, result?))
    }

    async fn read_copying(
        &self,
        inode: InodeId,
        offset: u64,
        mut buffers: Vec<Buffer>,
    ) -> Result<(usize, Vec<Buffer>), Error> {
        let content = self.read(inode, offset, length_of(&buffers) as usize).await?;
        let mut rest = &content[..];
        for buffer in &mut buffers {
            let (now, later) = rest.split_at(rest.len().min(buffer.len()));
            buffer[..now.len()].copy_from_slice(now);
            rest = later;
        }
        Ok((content.len(), buffers))
    }

    fn are_blocks(&self, buffers: &[Buffer]) -> bool {
        let block_bytes = self.0.layout.block_bytes as usize;
        buffers.iter().all(|buffer| !buffer.is_empty() && buffer.len().is_multiple_of(block_bytes))
    }

    /// Where the content of the buffers is on the disk, if all of it is there in whole blocks. Pins
    /// its clusters.
    fn find_blocks(&self, inode: InodeId, offset: u64, buffers: &[Buffer]) -> Option<Vec<Slot>> {
        let (instance, length) = (&self.0, length_of(buffers));
        let mut state = instance.state.borrow_mut();
        let found = gather(&state, inode, offset, length as usize).ok()?;
        let places: Vec<Slot> = found.parts.iter().map(|part| (part.place, part.length)).collect();
        let block_bytes = u64::from(instance.layout.block_bytes);
        let is_block = |(place, length): &Slot| place.is_multiple_of(block_bytes) && length.is_multiple_of(block_bytes);
        let is_whole = places.iter().map(|(_, length)| length).sum::<u64>() == length;
        if !is_whole || !places.iter().all(is_block) || !self.are_blocks(buffers) {
            return None;
        }
        places.iter().for_each(|(place, length)| state.clusters.pin(*place, *length));
        instance.has_read(&mut state, inode, length, places.len());
        Some(places)
    }
}

/// A range of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Where it begins, bytes.
    pub offset: u64,
    /// How long it is, bytes.
    pub length: u64,
}

fn length_of(buffers: &[Buffer]) -> u64 {
    buffers.iter().map(|buffer| buffer.len() as u64).sum()
}

/// Writes buffers to the slots, which are as long in total, and returns the checksums.
async fn write_slots(instance: &Instance, slots: &[Slot], buffers: Vec<Buffer>) -> (Result<(), DeviceError>, Proofs) {
    let block_bytes = instance.layout.block_bytes as usize;
    let blocks_of = |(_, length): &Slot| SumList::with_capacity((*length as usize).div_ceil(block_bytes));
    let mut proofs: Proofs = slots.iter().map(blocks_of).collect();
    let mut writes = Vec::with_capacity(buffers.len());
    divide(slots, buffers, |piece| {
        add_sums_of(&piece.bytes, block_bytes, &mut proofs[piece.slot]);
        writes.push(instance.disk.write(piece.place, piece.bytes));
    });
    // Wait for every write, also after one has failed: the clusters stay pinned as long as the
    // device may write to them.
    let mut result = Ok(());
    for write in writes {
        result = result.and(write.await.map(drop));
    }
    (result, proofs)
}

/// The stretches of spans whose content was written to the slots, one behind the other. Slots and
/// spans are whole blocks, and as long as each other in total.
fn stretches(spans: &[Span], slots: &[Slot], proofs: &Proofs, block_bytes: u64) -> Stretches {
    let mut rest = Rest { slots, slot: 0, used: 0 };
    let mut stretches = Stretches::with_capacity(spans.len());
    for span in spans {
        let (mut offset, end) = (span.offset, span.offset + span.length);
        while offset < end
            && let Some((slot, place, length)) = rest.take((end - offset) as usize)
        {
            let first = ((place - slots[slot].0) / block_bytes) as usize;
            let sums = &proofs[slot][first..first + length / block_bytes as usize];
            stretches.push((Stretch { offset, length: length as u64, place }, SumList::from_slice(sums)));
            offset += length as u64;
        }
    }
    stretches
}

/// Reads from the places, which are as long in total as the buffers.
async fn read_places(instance: &Instance, places: &[Slot], buffers: Vec<Buffer>) -> Result<Vec<Buffer>, Error> {
    let mut back: Vec<Option<Buffer>> = buffers.iter().map(|_| None).collect();
    let mut reads = Vec::with_capacity(buffers.len());
    let divided = divide(places, buffers, |piece| {
        reads.push((piece.buffer, piece.place, instance.disk.read_into(piece.place, piece.bytes)));
    });
    let mut result = Ok(());
    for (buffer, place, read) in reads {
        match read.await {
            Ok(bytes) => {
                result = result.and_then(|()| verify(instance, place, &bytes));
                back[buffer] = Some(bytes);
            }
            Err(error) => result = Err(Error::Device(error)),
        }
    }
    for (buffer, parts) in divided {
        // The last part, without which the whole cannot be had.
        back[buffer] = None;
        back[buffer] = parts.rejoin();
    }
    result.map(|()| back.into_iter().flatten().collect())
}

/// A buffer, or a part of one, and its place on the disk.
struct Piece {
    place: u64,
    bytes: Buffer,
    /// The number of the slot that has the place.
    slot: usize,
    /// The number of the buffer.
    buffer: usize,
}

/// Calls `each` for every buffer in turn, or for the parts of one that does not fit into the rest
/// of a slot; the slots are as long as the buffers in total. Returns the buffers that were divided,
/// with their numbers.
fn divide(slots: &[Slot], buffers: Vec<Buffer>, mut each: impl FnMut(Piece)) -> Vec<(usize, Divided)> {
    let mut rest = Rest { slots, slot: 0, used: 0 };
    let mut divided = Vec::new();
    for (number, buffer) in buffers.into_iter().enumerate() {
        let length = buffer.len();
        let Some(first) = rest.take(length) else { break };
        if first.2 == length {
            each(Piece { place: first.1, bytes: buffer, slot: first.0, buffer: number });
            continue;
        }
        let mut parts = Divided::new(buffer);
        let (mut next, mut left) = (Some(first), length);
        while let Some((slot, place, taken)) = next {
            each(Piece { place, bytes: parts.take(taken), slot, buffer: number });
            left -= taken;
            next = if left > 0 { rest.take(left) } else { None };
        }
        divided.push((number, parts));
    }
    divided
}

/// What is left of slots.
struct Rest<'a> {
    slots: &'a [Slot],
    slot: usize,
    /// Bytes of that slot already taken.
    used: u64,
}

impl Rest<'_> {
    /// Takes up to `most` bytes of one slot: the slot's number, the place, the number of bytes.
    fn take(&mut self, most: usize) -> Option<(usize, u64, usize)> {
        if self.slots.get(self.slot)?.1 == self.used {
            (self.slot, self.used) = (self.slot + 1, 0);
        }
        let (place, length) = *self.slots.get(self.slot)?;
        let taken = (length - self.used).min(most as u64);
        let place = place + self.used;
        self.used += taken;
        Some((self.slot, place, taken as usize))
    }
}
