//! Submitting commands. Nothing here allocates, locks or reads the clock.

use iolab_nvme_spec::command::{DatasetAttributes, DatasetRange, ReadWriteDword12};
use iolab_nvme_spec::{IntoBytes, IoOpcode, SubmissionEntry};

use super::{QueuePair, Refusal, Submit};
use crate::namespace::Namespace;
use crate::transport::{DataPointerWords, DataWindow, SlotMemory, Submission, Transport};

/// A transfer of logical blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer<'a> {
    pub(super) opcode: IoOpcode,
    pub(super) namespace: &'a Namespace,
    pub(super) lba: u64,
    pub(super) blocks: u32,
    /// Dword 12 without the number of blocks.
    pub(super) control: u32,
}

/// The buffers of blocks with separate metadata.
#[derive(Debug, Clone, Copy)]
pub struct BlockBuffers {
    /// The data.
    pub data: DataWindow,
    /// The metadata.
    pub metadata: DataWindow,
}

impl<T: Transport> QueuePair<T> {
    /// Reads `blocks` from `lba` to `data`.
    #[inline]
    pub fn read(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32, data: DataWindow) -> Submit {
        self.transfer(slot, Transfer { opcode: IoOpcode::READ, namespace, lba, blocks, control: 0 }, data)
    }

    /// Writes `blocks` to `lba` from `data`.
    #[inline]
    pub fn write(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32, data: DataWindow) -> Submit {
        self.transfer(slot, Transfer { opcode: IoOpcode::WRITE, namespace, lba, blocks, control: 0 }, data)
    }

    /// Does the same as [`QueuePair::write`], but bypasses volatile caches (Force Unit Access).
    #[inline]
    pub fn write_through(
        &mut self,
        slot: u16,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        data: DataWindow,
    ) -> Submit {
        let control = ReadWriteDword12(0).with_fua(true).0;
        self.transfer(slot, Transfer { opcode: IoOpcode::WRITE, namespace, lba, blocks, control }, data)
    }

    /// Compares `blocks` from `lba` with `data`; the device reports a difference as a status.
    #[inline]
    pub fn compare(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32, data: DataWindow) -> Submit {
        self.transfer(slot, Transfer { opcode: IoOpcode::COMPARE, namespace, lba, blocks, control: 0 }, data)
    }

    /// Makes the data that was written to a namespace permanent (Base, section 6.8).
    #[inline]
    pub fn flush_cache(&mut self, slot: u16, namespace: &Namespace) -> Submit {
        self.raw(slot, SubmissionEntry::new(IoOpcode::FLUSH.0, 0).with_nsid(namespace.id))
    }

    /// Writes zeroes without transferring data (Base, section 6.17), and deallocates the blocks if
    /// requested.
    pub fn write_zeroes(
        &mut self,
        slot: u16,
        namespace: &Namespace,
        lba: u64,
        blocks: u32,
        deallocate: bool,
    ) -> Submit {
        if blocks == 0 || blocks > 1 << 16 {
            return Submit::Refused(Refusal::Length);
        }
        let control = ReadWriteDword12(namespace.control).with_nlb((blocks - 1) as u16).with_deac(deallocate);
        let entry = SubmissionEntry::new(IoOpcode::WRITE_ZEROES.0, 0).with_nsid(namespace.id).with_slba(lba);
        self.raw(slot, entry.with_cdw(12, control.0))
    }

    /// Makes the device read blocks without transferring data (Base, section 6.14).
    pub fn verify(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32) -> Submit {
        if blocks == 0 || blocks > 1 << 16 {
            return Submit::Refused(Refusal::Length);
        }
        let control = ReadWriteDword12(namespace.control).with_nlb((blocks - 1) as u16);
        let entry = SubmissionEntry::new(IoOpcode::VERIFY.0, 0).with_nsid(namespace.id).with_slba(lba);
        self.raw(slot, entry.with_cdw(12, control.0))
    }

    /// Tells the device that the contents of ranges `(lba, blocks)` are no longer needed (Base,
    /// section 6.7).
    pub fn deallocate(&mut self, slot: u16, namespace: &Namespace, ranges: &[(u64, u32)]) -> Submit {
        if ranges.is_empty() || ranges.len() > DatasetRange::MAX {
            return Submit::Refused(Refusal::Length);
        }
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        const RANGE_BYTES: usize = size_of::<DatasetRange>();
        let mut list = [0; DatasetRange::MAX * RANGE_BYTES];
        for (place, (lba, blocks)) in list.chunks_exact_mut(RANGE_BYTES).zip(ranges) {
            place.copy_from_slice(DatasetRange::new(*lba, *blocks).as_bytes());
        }
        let list = &list[..ranges.len() * RANGE_BYTES];
        self.queue.write_slot(slot, list);
        let window = self.queue.slot_window(slot, list.len() as u32);
        let pointer = match self.queue.data_pointer(slot, window.address, window.bytes.into()) {
            Ok(pointer) => pointer,
            Err(refusal) => return Submit::Refused(refusal),
        };
        let mut entry = SubmissionEntry::new(IoOpcode::DATASET_MANAGEMENT.0, 0)
            .with_nsid(namespace.id)
            .with_cdw(10, ranges.len() as u32 - 1)
            .with_cdw(11, DatasetAttributes(0).with_ad(true).0);
        pointer.put_into(&mut entry.words);
        self.accept(slot, entry.words);
        Submit::Accepted
    }

    /// Submits any command that is complete except for its identifier.
    #[inline]
    pub fn raw(&mut self, slot: u16, entry: SubmissionEntry) -> Submit {
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        self.accept(slot, entry.words);
        Submit::Accepted
    }

    /// Submits any command with data that is complete except for its identifier and data pointer.
    pub fn raw_with_data(&mut self, slot: u16, entry: SubmissionEntry, data: DataWindow) -> Submit {
        if data.bytes == 0 || u64::from(data.bytes) > self.longest_transfer() {
            return Submit::Refused(Refusal::Length);
        }
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        let pointer = match self.queue.data_pointer(slot, data.address, data.bytes.into()) {
            Ok(pointer) => pointer,
            Err(refusal) => return Submit::Refused(refusal),
        };
        let mut words = entry.words;
        pointer.put_into(&mut words);
        self.accept(slot, words);
        Submit::Accepted
    }

    /// Reads or writes blocks whose data is in several places. Without SGLs, the places must meet
    /// at page boundaries.
    pub fn transfer_parts(
        &mut self,
        slot: u16,
        opcode: IoOpcode,
        namespace: &Namespace,
        lba: u64,
        parts: &[DataWindow],
    ) -> Submit {
        let bytes: u64 = parts.iter().map(|part| u64::from(part.bytes)).sum();
        let block = u64::from(namespace.transfer_bytes);
        let blocks = bytes / block;
        if blocks == 0 || !bytes.is_multiple_of(block) || blocks > u64::from(namespace.max_blocks) {
            return Submit::Refused(Refusal::Length);
        }
        if namespace.needs_metadata() {
            return Submit::Refused(Refusal::Metadata);
        }
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        let pointer = match self.queue.gathered_data_pointer(slot, parts) {
            Ok(pointer) => pointer,
            Err(refusal) => return Submit::Refused(refusal),
        };
        let transfer = Transfer { opcode, namespace, lba, blocks: blocks as u32, control: 0 };
        self.accept(slot, transfer.words(0, pointer));
        Submit::Accepted
    }

    /// Reads or writes blocks of a namespace that keeps metadata in a separate buffer.
    pub fn transfer_with_metadata(
        &mut self,
        slot: u16,
        opcode: IoOpcode,
        namespace: &Namespace,
        lba: u64,
        buffers: BlockBuffers,
    ) -> Submit {
        let BlockBuffers { data, metadata } = buffers;
        let blocks = data.bytes / namespace.transfer_bytes;
        if blocks == 0 || blocks > namespace.max_blocks || !data.bytes.is_multiple_of(namespace.transfer_bytes) {
            return Submit::Refused(Refusal::Length);
        }
        if metadata.bytes < blocks * u32::from(namespace.metadata_bytes()) {
            return Submit::Refused(Refusal::ShortData);
        }
        if metadata.address & 3 != 0 {
            return Submit::Refused(Refusal::Misaligned);
        }
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        let pointer = match self.queue.data_pointer(slot, data.address, data.bytes.into()) {
            Ok(pointer) => pointer,
            Err(refusal) => return Submit::Refused(refusal),
        };
        let transfer = Transfer { opcode, namespace, lba, blocks, control: 0 };
        self.accept(slot, transfer.words(metadata.address, pointer));
        Submit::Accepted
    }

    #[inline(always)]
    pub(super) fn transfer(&mut self, slot: u16, transfer: Transfer<'_>, data: DataWindow) -> Submit {
        let namespace = transfer.namespace;
        let bytes = u64::from(transfer.blocks) * u64::from(namespace.transfer_bytes);
        // The common case: data that needs no list, with a free slot and entry. Zero blocks wrap
        // around to a number above any limit.
        if transfer.blocks.wrapping_sub(1) < namespace.plain_max_blocks
            && bytes <= u64::from(data.bytes)
            && let Some(state) = self.slots.get_mut(usize::from(slot))
            && state.is_idle()
            && let Some(pointer) = self.queue.plain_data_pointer(slot, data.address, bytes)
            && let Some(room) = self.queue.room()
        {
            let words = state.start(transfer.words(0, pointer));
            self.queue.push(room, slot, words);
            self.in_flight += 1;
            return Submit::Accepted;
        }
        // Passes the fields, because the whole transfer would be copied to memory for every
        // command.
        let Transfer { opcode, namespace, lba, blocks, control } = transfer;
        self.transfer_otherwise(slot, (opcode, control), namespace, (lba, blocks), data)
    }

    /// Submits a transfer that needs a list, or refuses it.
    #[cold]
    #[inline(never)]
    fn transfer_otherwise(
        &mut self,
        slot: u16,
        (opcode, control): (IoOpcode, u32),
        namespace: &Namespace,
        (lba, blocks): (u64, u32),
        data: DataWindow,
    ) -> Submit {
        let transfer = Transfer { opcode, namespace, lba, blocks, control };
        let bytes = u64::from(transfer.blocks) * u64::from(namespace.transfer_bytes);
        if namespace.needs_metadata() {
            return Submit::Refused(Refusal::Metadata);
        }
        if transfer.blocks.wrapping_sub(1) >= namespace.max_blocks {
            return Submit::Refused(Refusal::Length);
        }
        if bytes > u64::from(data.bytes) {
            return Submit::Refused(Refusal::ShortData);
        }
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        let pointer = match self.queue.data_pointer(slot, data.address, bytes) {
            Ok(pointer) => pointer,
            Err(refusal) => return Submit::Refused(refusal),
        };
        self.accept(slot, transfer.words(0, pointer));
        Submit::Accepted
    }

    /// The reason why the slot or the queue cannot take a command, if there is one.
    #[inline(always)]
    fn cannot_take(&mut self, slot: u16) -> Option<Submit> {
        match self.slots.get(usize::from(slot)) {
            None => Some(Submit::Refused(Refusal::NoSlot)),
            Some(state) if !state.is_idle() => Some(Submit::Refused(Refusal::SlotTaken)),
            Some(_) if self.queue.room().is_none() => self.no_room(),
            Some(_) => None,
        }
    }

    #[cold]
    fn no_room(&mut self) -> Option<Submit> {
        if self.cold.dead {
            // Another thread may have reset the controller meanwhile.
            self.resume_if_reset();
        }
        match (self.cold.dead, self.queue.room().is_some()) {
            (true, _) => Some(Submit::Refused(Refusal::Dead)),
            (false, false) => Some(Submit::Full),
            (false, true) => None,
        }
    }

    /// Puts a command into the queue and keeps a copy.
    #[inline(always)]
    fn accept(&mut self, slot: u16, words: [u64; 8]) {
        let words = self.slots[usize::from(slot)].start(words);
        let Some(room) = self.queue.room() else { unreachable!("a command is accepted only after `cannot_take`") };
        self.queue.push(room, slot, words);
        self.in_flight += 1;
    }
}

impl Transfer<'_> {
    /// The entry without its identifier.
    #[inline(always)]
    fn words(&self, metadata: u64, pointer: DataPointerWords) -> [u64; 8] {
        let control = self.control | self.namespace.control | (self.blocks - 1);
        let opcode = u64::from(self.opcode.0) | u64::from(self.namespace.id) << 32;
        let [first, second] = pointer.dptr;
        [opcode | pointer.flags, 0, metadata, first, second, self.lba, u64::from(control), 0]
    }
}
