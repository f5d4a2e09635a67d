//! Commands into the ring. Nothing here allocates, locks or looks at the clock.

use iolab_nvme_spec::command::{DatasetAttributes, DatasetRange, ReadWriteDword12};
use iolab_nvme_spec::{IntoBytes, IoOpcode, SubmissionEntry};

use super::{QueuePair, Refusal, Submit};
use crate::data_pointer::DmaSlice;
use crate::namespace::Namespace;

/// PSDT of dword 0: the data pointer is an SGL (Base, section 4.2).
const SGL: u64 = 1 << 14;

/// A transfer of logical blocks, in words of a submission entry where that saves work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer<'a> {
    pub(super) opcode: IoOpcode,
    pub(super) namespace: &'a Namespace,
    pub(super) lba: u64,
    pub(super) blocks: u32,
    /// Dword 12 besides the number of blocks.
    pub(super) control: u32,
}

/// The data pointer of an entry: its words 3 and 4, and what it sets in word 0.
type Pointer = (u64, u64, u64);

impl QueuePair {
    /// Reads `blocks` from `lba` to `data`.
    #[inline]
    pub fn read(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32, data: DmaSlice) -> Submit {
        self.transfer(slot, Transfer { opcode: IoOpcode::READ, namespace, lba, blocks, control: 0 }, data)
    }

    /// Writes `blocks` to `lba` from `data`.
    #[inline]
    pub fn write(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32, data: DmaSlice) -> Submit {
        self.transfer(slot, Transfer { opcode: IoOpcode::WRITE, namespace, lba, blocks, control: 0 }, data)
    }

    /// Writes as [`QueuePair::write`] does, past any volatile cache (Force Unit Access).
    #[inline]
    pub fn write_through(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32, data: DmaSlice) -> Submit {
        let control = ReadWriteDword12(0).with_fua(true).0;
        self.transfer(slot, Transfer { opcode: IoOpcode::WRITE, namespace, lba, blocks, control }, data)
    }

    /// Compares `blocks` from `lba` with `data`; a difference is a status of the device.
    #[inline]
    pub fn compare(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32, data: DmaSlice) -> Submit {
        self.transfer(slot, Transfer { opcode: IoOpcode::COMPARE, namespace, lba, blocks, control: 0 }, data)
    }

    /// Makes what was written to a namespace permanent (Base, section 6.8).
    #[inline]
    pub fn flush_cache(&mut self, slot: u16, namespace: &Namespace) -> Submit {
        self.raw(slot, SubmissionEntry::new(IoOpcode::FLUSH.0, 0).with_nsid(namespace.id))
    }

    /// Writes zeroes without moving data (Base, section 6.17), and deallocates the blocks if asked to.
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

    /// Has the device read blocks without moving data (Base, section 6.14).
    pub fn verify(&mut self, slot: u16, namespace: &Namespace, lba: u64, blocks: u32) -> Submit {
        if blocks == 0 || blocks > 1 << 16 {
            return Submit::Refused(Refusal::Length);
        }
        let control = ReadWriteDword12(namespace.control).with_nlb((blocks - 1) as u16);
        let entry = SubmissionEntry::new(IoOpcode::VERIFY.0, 0).with_nsid(namespace.id).with_slba(lba);
        self.raw(slot, entry.with_cdw(12, control.0))
    }

    /// Tells the device that the contents of ranges `(lba, blocks)` are of no use any more (Base, section 6.7).
    pub fn deallocate(&mut self, slot: u16, namespace: &Namespace, ranges: &[(u64, u32)]) -> Submit {
        if ranges.is_empty() || ranges.len() > DatasetRange::MAX {
            return Submit::Refused(Refusal::Length);
        }
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        for (position, (lba, blocks)) in ranges.iter().enumerate() {
            let range = DatasetRange::new(*lba, *blocks);
            self.lists.write(slot, (position * size_of::<DatasetRange>()) as u64, range.as_bytes());
        }
        self.slots[usize::from(slot)].list_pages = 0;
        let entry = SubmissionEntry::new(IoOpcode::DATASET_MANAGEMENT.0, 0)
            .with_nsid(namespace.id)
            .with_prps(self.lists.address(slot), 0)
            .with_cdw(10, ranges.len() as u32 - 1)
            .with_cdw(11, DatasetAttributes(0).with_ad(true).0);
        self.raw(slot, entry)
    }

    /// Any command, complete but for its identifier.
    #[inline]
    pub fn raw(&mut self, slot: u16, entry: SubmissionEntry) -> Submit {
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        self.accept(slot, entry.words);
        Submit::Accepted
    }

    /// Any command with data, complete but for its identifier and data pointer.
    pub fn raw_with_data(&mut self, slot: u16, entry: SubmissionEntry, data: DmaSlice) -> Submit {
        if data.bytes == 0 || u64::from(data.bytes) > self.longest_transfer() {
            return Submit::Refused(Refusal::Length);
        }
        if data.address & 3 != 0 {
            return Submit::Refused(Refusal::Misaligned);
        }
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        let (first, second, flags) = self.pointer(slot, data.address, u64::from(data.bytes));
        let mut words = entry.words;
        words[0] |= flags;
        (words[3], words[4]) = (first, second);
        self.accept(slot, words);
        Submit::Accepted
    }

    /// Reads or writes blocks whose data lies in several places. Without SGLs the places must meet at page boundaries.
    pub fn transfer_parts(
        &mut self,
        slot: u16,
        opcode: IoOpcode,
        namespace: &Namespace,
        lba: u64,
        parts: &[DmaSlice],
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
        let pointer = match self.pointer_to_parts(slot, parts) {
            Ok(pointer) => pointer,
            Err(refusal) => return Submit::Refused(refusal),
        };
        let transfer = Transfer { opcode, namespace, lba, blocks: blocks as u32, control: 0 };
        self.accept(slot, transfer.words(0, pointer));
        Submit::Accepted
    }

    /// Reads or writes blocks of a namespace that keeps metadata in a buffer of its own.
    pub fn transfer_with_metadata(
        &mut self,
        slot: u16,
        opcode: IoOpcode,
        namespace: &Namespace,
        lba: u64,
        (data, metadata): (DmaSlice, DmaSlice),
    ) -> Submit {
        let blocks = data.bytes / namespace.transfer_bytes;
        if blocks == 0 || blocks > namespace.max_blocks || !data.bytes.is_multiple_of(namespace.transfer_bytes) {
            return Submit::Refused(Refusal::Length);
        }
        if metadata.bytes < blocks * u32::from(namespace.metadata_bytes()) {
            return Submit::Refused(Refusal::ShortData);
        }
        if (data.address | metadata.address) & 3 != 0 {
            return Submit::Refused(Refusal::Misaligned);
        }
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        let pointer = self.pointer(slot, data.address, u64::from(data.bytes));
        let transfer = Transfer { opcode, namespace, lba, blocks, control: 0 };
        self.accept(slot, transfer.words(metadata.address, pointer));
        Submit::Accepted
    }

    #[inline(always)]
    pub(super) fn transfer(&mut self, slot: u16, transfer: Transfer<'_>, data: DmaSlice) -> Submit {
        let namespace = transfer.namespace;
        let bytes = u64::from(transfer.blocks) * u64::from(namespace.transfer_bytes);
        // Zero blocks become more than any limit.
        let too_long = transfer.blocks.wrapping_sub(1) >= namespace.max_blocks;
        if too_long || bytes > u64::from(data.bytes) || data.address & 3 != 0 || namespace.needs_metadata() {
            return Submit::Refused(refusal(transfer, data));
        }
        // Nearly every transfer: data within a page, a slot and room for it.
        let within_page = (data.address & (self.page_bytes - 1)) + bytes <= self.page_bytes;
        if within_page
            && !self.sgl
            && let Some(state) = self.slots.get_mut(usize::from(slot))
            && state.is_idle()
            && let Some(room) = self.sq.room()
        {
            let words = state.start(transfer.words(0, (data.address, 0, 0)));
            self.sq.push(room, words);
            self.in_flight += 1;
            return Submit::Accepted;
        }
        // A copy of its own, so that the one above needs no place in memory.
        let Transfer { opcode, namespace, lba, blocks, control } = transfer;
        self.transfer_otherwise(slot, Transfer { opcode, namespace, lba, blocks, control }, data.address, bytes)
    }

    /// A transfer that needs a list or a scatter gather list, or cannot be taken.
    #[cold]
    #[inline(never)]
    fn transfer_otherwise(&mut self, slot: u16, transfer: Transfer<'_>, address: u64, bytes: u64) -> Submit {
        if let Some(refusal) = self.cannot_take(slot) {
            return refusal;
        }
        let pointer = self.pointer(slot, address, bytes);
        self.accept(slot, transfer.words(0, pointer));
        Submit::Accepted
    }

    /// What keeps the slot or the ring from taking a command.
    #[inline(always)]
    fn cannot_take(&mut self, slot: u16) -> Option<Submit> {
        match self.slots.get(usize::from(slot)) {
            None => Some(Submit::Refused(Refusal::NoSlot)),
            Some(state) if !state.is_idle() => Some(Submit::Refused(Refusal::SlotTaken)),
            Some(_) if !self.sq.has_room() => self.no_room(),
            Some(_) => None,
        }
    }

    #[cold]
    fn no_room(&mut self) -> Option<Submit> {
        if self.cold.dead {
            // Unless somebody has revived the controller meanwhile.
            self.rejoin_if_reset();
        }
        match (self.cold.dead, self.sq.has_room()) {
            (true, _) => Some(Submit::Refused(Refusal::Dead)),
            (false, false) => Some(Submit::Full),
            (false, true) => None,
        }
    }

    /// Puts a command into the ring and remembers it.
    #[inline(always)]
    fn accept(&mut self, slot: u16, words: [u64; 8]) {
        let words = self.slots[usize::from(slot)].start(words);
        let Some(room) = self.sq.room() else { unreachable!("a command is accepted only after `cannot_take`") };
        self.sq.push(room, words);
        self.in_flight += 1;
    }

    /// The data pointer of contiguous memory (Base, sections 4.3 and 4.4).
    #[inline(always)]
    fn pointer(&mut self, slot: u16, address: u64, bytes: u64) -> Pointer {
        if self.sgl {
            return (address, bytes, SGL);
        }
        let end = (address & (self.page_bytes - 1)) + bytes;
        if end <= self.page_bytes {
            return (address, 0, 0);
        }
        let second = (address & !(self.page_bytes - 1)) + self.page_bytes;
        if end <= 2 * self.page_bytes {
            return (address, second, 0);
        }
        let pages = (end - 1) >> self.page_bytes.trailing_zeros();
        let state = &self.slots[usize::from(slot)];
        if state.list_first != second || state.list_pages != pages {
            self.write_list(slot, second, pages);
        }
        (address, self.lists.address(slot), 0)
    }

    #[cold]
    fn write_list(&mut self, slot: u16, first: u64, pages: u64) {
        let page_bytes = self.page_bytes;
        self.lists.write_prps(slot, pages, (0..pages).map(|page| first + page * page_bytes));
        let state = &mut self.slots[usize::from(slot)];
        (state.list_first, state.list_pages) = (first, pages);
    }

    /// The data pointer of several places: an SGL segment where the device takes it, a PRP list otherwise.
    fn pointer_to_parts(&mut self, slot: u16, parts: &[DmaSlice]) -> Result<Pointer, Refusal> {
        if parts.iter().any(|part| part.address & 3 != 0 || part.bytes & 3 != 0 || part.bytes == 0) {
            return Err(Refusal::Misaligned);
        }
        if let [part] = parts {
            return Ok(self.pointer(slot, part.address, u64::from(part.bytes)));
        }
        self.slots[usize::from(slot)].list_pages = 0;
        if self.sgl || self.shared.facts.sgl() {
            let segment = self.lists.write_sgl(slot, parts).ok_or(Refusal::TooManyParts)?;
            return Ok((segment.words[0], segment.words[1], SGL));
        }
        let mask = self.page_bytes - 1;
        for (position, part) in parts.iter().enumerate() {
            let starts = position == 0 || part.address & mask == 0;
            let ends = position + 1 == parts.len() || (part.address + u64::from(part.bytes)) & mask == 0;
            if !starts || !ends {
                return Err(Refusal::Misaligned);
            }
        }
        let page_bytes = self.page_bytes;
        let pages = || {
            let pages_of = |part: &DmaSlice| {
                let (first, end) = (part.address & !mask, part.address + u64::from(part.bytes));
                (first..end).step_by(page_bytes as usize)
            };
            parts.iter().flat_map(pages_of).skip(1)
        };
        let count = pages().count() as u64;
        let pointer = match count {
            0 => 0,
            1 => pages().next().unwrap_or(0),
            _ => {
                self.lists.write_prps(slot, count, pages());
                self.lists.address(slot)
            }
        };
        Ok((parts[0].address, pointer, 0))
    }
}

impl Transfer<'_> {
    /// The entry without its identifier.
    #[inline(always)]
    fn words(&self, metadata: u64, (first, second, flags): Pointer) -> [u64; 8] {
        let control = self.control | self.namespace.control | (self.blocks - 1);
        let opcode = u64::from(self.opcode.0) | u64::from(self.namespace.id) << 32;
        [opcode | flags, 0, metadata, first, second, self.lba, u64::from(control), 0]
    }
}

#[cold]
fn refusal(transfer: Transfer<'_>, data: DmaSlice) -> Refusal {
    let namespace = transfer.namespace;
    if namespace.needs_metadata() {
        Refusal::Metadata
    } else if transfer.blocks.wrapping_sub(1) >= namespace.max_blocks {
        Refusal::Length
    } else if data.address & 3 != 0 {
        Refusal::Misaligned
    } else {
        Refusal::ShortData
    }
}
