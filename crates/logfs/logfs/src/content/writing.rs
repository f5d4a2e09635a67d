//! Writing and appending: reserves room, writes the content there, and records it.

use iolab_disk::{Buffer, DeviceError, Divided};
use smallvec::SmallVec;

use super::{WithBuffer, check_range};
use crate::allocation::{Slot, Slots, Stream};
use crate::cleaner::write_slots;
use crate::instance::{Instance, State, step_aside};
use crate::locks::Mode;
use crate::record::{InodeId, Proof, Record, Stretch, SumList};
use crate::space::Need;
use crate::sums::sums_of;
use crate::{Error, LogFs};

impl LogFs {
    /// Writes bytes at `offset`. After a crash, up to [`crate::Layout::atomic_write_bytes`] of them
    /// are there completely or not at all.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`], [`Error::TooLarge`], [`Error::NoSpace`],
    /// [`Error::Device`]. Parts of a write longer than the atomic size may have been written.
    pub async fn write(&self, inode: InodeId, offset: u64, content: &[u8]) -> Result<(), Error> {
        let _held = self.0.locks.take_inode(inode, Mode::Shared).await;
        self.write_locked(inode, offset, content).await
    }

    /// Writes bytes at the end of the file as it is when the write gets its turn; returns their
    /// offset.
    ///
    /// # Errors
    /// As [`LogFs::write`].
    pub async fn append(&self, inode: InodeId, content: &[u8]) -> Result<u64, Error> {
        let _held = self.0.locks.take_inode(inode, Mode::Exclusive).await;
        let offset = self.stat(inode)?.size;
        self.write_locked(inode, offset, content).await?;
        Ok(offset)
    }

    /// Writes a buffer at `offset`, straight from its memory where it fills whole blocks.
    ///
    /// # Errors
    /// As [`LogFs::write`].
    pub async fn write_buffer(&self, inode: InodeId, offset: u64, buffer: Buffer) -> WithBuffer<()> {
        let _held = self.0.locks.take_inode(inode, Mode::Shared).await;
        self.write_owned(inode, offset, buffer).await
    }

    /// Writes a buffer at the end of the file as it is when the write gets its turn; returns its
    /// offset.
    ///
    /// # Errors
    /// As [`LogFs::write`].
    pub async fn append_buffer(&self, inode: InodeId, buffer: Buffer) -> WithBuffer<u64> {
        let _held = self.0.locks.take_inode(inode, Mode::Exclusive).await;
        let offset = match self.stat(inode) {
            Ok(attributes) => attributes.size,
            Err(error) => return (Err(error), Some(buffer)),
        };
        let (result, buffer) = self.write_owned(inode, offset, buffer).await;
        (result.map(|()| offset), buffer)
    }

    async fn write_owned(&self, inode: InodeId, offset: u64, buffer: Buffer) -> WithBuffer<()> {
        let length = buffer.len() as u64;
        if !self.0.layout.goes_whole(length) {
            return (self.write_locked(inode, offset, &buffer).await, Some(buffer));
        }
        let slots = match self.find_room(inode, offset, length).await {
            Ok(slots) => slots,
            Err(error) => return (Err(error), Some(buffer)),
        };
        let (written, proofs, buffer) = send(&self.0, &slots, buffer).await;
        (self.record(inode, &slots, stretches(offset, &slots, proofs), written), buffer)
    }

    /// Checks a write and reserves room for it, as an extent.
    pub(super) async fn find_room(&self, inode: InodeId, offset: u64, length: u64) -> Result<Slots, Error> {
        let instance = &self.0;
        self.check_file(inode)?;
        check_range(offset, length)?;
        let clusters = |state: &State| state.heads.clusters_for(Stream::Written, length, &instance.layout);
        instance.admit(|state| Need::Clusters(clusters(state))).await?;
        let mut state = instance.state.borrow_mut();
        let state = &mut *state;
        state
            .heads
            .take(Stream::Written, length, &mut state.clusters, &instance.layout, state.log.last_ticket)
            .ok_or(Error::NoSpace)
    }

    /// Makes what was written to the slots part of the file, and unpins their clusters.
    pub(super) fn record(
        &self,
        inode: InodeId,
        slots: &[Slot],
        stretches: Stretches,
        written: Result<(), DeviceError>,
    ) -> Result<(), Error> {
        let committed = match written {
            Ok(()) => self.commit_stretches(inode, stretches),
            Err(error) => Err(Error::Device(error)),
        };
        let mut state = self.0.state.borrow_mut();
        let ticket = state.log.last_ticket;
        slots.iter().for_each(|(place, length)| state.clusters.unpin(*place, *length, ticket));
        committed
    }

    pub(super) async fn write_locked(&self, inode: InodeId, offset: u64, content: &[u8]) -> Result<(), Error> {
        self.check_file(inode)?;
        check_range(offset, content.len() as u64)?;
        let mut at = offset;
        for part in content.chunks(self.0.layout.atomic_write_bytes() as usize) {
            self.write_part(inode, at, part).await?;
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Does one atomic write.
    async fn write_part(&self, inode: InodeId, offset: u64, content: &[u8]) -> Result<(), Error> {
        let instance = &self.0;
        let length = content.len() as u64;
        let is_inline = |state: &State| {
            let layout = &instance.layout;
            // What fills a block goes to the disk directly instead of being moved soon afterwards.
            let sixteenths = if length < u64::from(layout.block_bytes) { 16 } else { state.inline_sixteenths(layout) };
            let fits = state.tree.inline_bytes() + length <= instance.inline_limit / 16 * sixteenths;
            length <= u64::from(layout.small_max_bytes) && fits
        };
        let need = |state: &State| match is_inline(state) {
            true => Need::Clusters(0),
            false => Need::Clusters(state.heads.clusters_for(Stream::Written, length, &instance.layout)),
        };
        instance.admit(need).await?;
        let small = is_inline(&instance.state.borrow());
        if small {
            self.check_file(inode)?;
            let record = Record::WriteInline { inode, offset, time: instance.now(), content: content.to_vec() };
            return instance.commit(&[record]).map(drop);
        }
        let slots = self.find_room(inode, offset, length).await?;
        let written = write_slots(instance, &instance.disk, &slots, content).await;
        let proofs = proofs(&slots, content, instance.layout.block_bytes);
        self.record(inode, &slots, stretches(offset, &slots, proofs), written)
    }

    fn commit_stretches(&self, inode: InodeId, stretches: Stretches) -> Result<(), Error> {
        // The file may have been deleted meanwhile.
        self.check_file(inode)?;
        let time = self.0.now();
        let record = |(stretch, sums)| Record::WriteExtent { inode, stretch, proof: Proof::Blocks(sums), time };
        let records: SmallVec<[Record; 1]> = stretches.into_iter().map(record).collect();
        self.0.commit(&records).map(drop)
    }
}

/// Stretches of a file that were written, each within a cluster, and the checksums of its blocks.
pub(super) type Stretches = SmallVec<[(Stretch, SumList); 1]>;

/// The stretches of content from `offset` on that was written to the slots.
fn stretches(mut offset: u64, slots: &[Slot], proofs: Proofs) -> Stretches {
    let stretch = |((place, length), sums): (&Slot, SumList)| {
        let stretch = Stretch { offset, length: *length, place: *place };
        offset += length;
        (stretch, sums)
    };
    slots.iter().zip(proofs).map(stretch).collect()
}

/// The checksums of the blocks of each slot.
pub(super) type Proofs = SmallVec<[SumList; 1]>;

fn proofs(slots: &[Slot], content: &[u8], block_bytes: u32) -> Proofs {
    let mut rest = content;
    let of_slot = |(_, length): &Slot| {
        let (part, more) = rest.split_at(*length as usize);
        rest = more;
        sums_of(part, block_bytes as usize)
    };
    slots.iter().map(of_slot).collect()
}

/// Writes a buffer to the slots, straight from its memory, and returns the checksums. The buffer
/// and the slots are whole blocks. The device writes one part while the checksums of the next are
/// computed.
async fn send(
    instance: &Instance,
    slots: &[Slot],
    buffer: Buffer,
) -> (Result<(), DeviceError>, Proofs, Option<Buffer>) {
    let block_bytes = instance.layout.block_bytes as usize;
    let mut proofs = Proofs::new();
    if let [(place, _)] = slots {
        proofs.push(sums_of(&buffer, block_bytes));
        let (result, buffer) = instance.disk.write(*place, buffer).with_buffer().await;
        return (result, proofs, buffer);
    }
    let mut divided = Divided::new(buffer);
    let mut writes = Vec::with_capacity(slots.len());
    for (place, length) in slots {
        let part = divided.take(*length as usize);
        proofs.push(sums_of(&part, block_bytes));
        writes.push(instance.disk.write(*place, part));
        step_aside().await;
    }
    // Wait for every write, also after one has failed: the clusters stay pinned as long as the
    // device may write to them.
    let mut result = Ok(());
    for write in writes {
        result = result.and(write.await.map(drop));
    }
    (result, proofs, divided.rejoin())
}
