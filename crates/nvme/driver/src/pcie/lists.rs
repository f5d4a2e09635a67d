//! Data pointers of PCIe: PRP entries and lists, SGL descriptors and segments.
//!
//! Each slot of a queue has its own memory for lists. The list of a slot is kept: a slot that
//! transfers the same buffer again, as slots of a pool do, reuses its list.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::prp::PRP_ENTRY_BYTES;
use iolab_nvme_spec::sgl::{SGL_DESCRIPTOR_BYTES, SglDescriptor};
use iolab_pci_device::{DmaBuffer, SharedBytes};

use crate::queue_pair::Refusal;
use crate::transport::{DataPointerWords, DataWindow};

/// PSDT of word 0: the data pointer is an SGL (Base, section 4.2).
const SGL: u64 = 1 << 14;

impl DataWindow {
    /// A part of a mapped buffer; `None` if it is not within the buffer.
    pub fn of(buffer: &DmaBuffer, offset: usize, bytes: u32) -> Option<DataWindow> {
        let end = offset.checked_add(bytes as usize)?;
        (end <= buffer.memory.len()).then_some(DataWindow { address: buffer.address + offset as u64, bytes })
    }
}

/// The list memory of all slots of a queue.
#[derive(Debug)]
pub(crate) struct ListArea {
    memory: SharedBytes,
    /// Bus address of the memory.
    address: u64,
    /// Bytes for each slot: whole memory pages.
    slot_bytes: u64,
    page_bytes: u64,
    kept: Box<[KeptList]>,
}

/// The PRP list in the memory of a slot.
#[derive(Debug, Clone, Copy, Default)]
struct KeptList {
    /// The first page in the list.
    first: u64,
    /// How many consecutive pages are in the list; 0 if the memory holds something else.
    pages: u64,
}

impl ListArea {
    /// Bytes that one slot needs for lists of transfers up to `max_transfer_bytes`, and for Dataset
    /// Management ranges.
    pub(crate) fn slot_bytes(max_transfer_bytes: u64, page_bytes: u64) -> u64 {
        // An unaligned transfer touches one page more than its length, and its first page is not in
        // the list.
        let entries = max_transfer_bytes.div_ceil(page_bytes);
        let per_page = page_bytes / PRP_ENTRY_BYTES;
        let pages = if entries <= per_page { 1 } else { (entries - 1).div_ceil(per_page - 1) };
        pages * page_bytes
    }

    /// The list memory in `buffer`, for as many slots as fit.
    pub(crate) fn new(buffer: &DmaBuffer, slot_bytes: u64, page_bytes: u64) -> ListArea {
        let slots = buffer.memory.len() as u64 / slot_bytes;
        let kept = vec![KeptList::default(); slots as usize].into();
        ListArea { memory: buffer.memory.clone(), address: buffer.address, slot_bytes, page_bytes, kept }
    }

    /// Bus address of a slot's list.
    #[inline]
    pub(crate) fn address(&self, slot: u16) -> u64 {
        self.address + u64::from(slot) * self.slot_bytes
    }

    /// Writes bytes to the start of a slot's memory. They must fit.
    pub(crate) fn write(&mut self, slot: u16, bytes: &[u8]) {
        self.kept[usize::from(slot)].pages = 0;
        self.memory.write((u64::from(slot) * self.slot_bytes) as usize, bytes);
    }

    /// Reads bytes from the start of a slot's memory.
    pub(crate) fn read(&self, slot: u16, to: &mut [u8]) {
        self.memory.read((u64::from(slot) * self.slot_bytes) as usize, to);
    }

    /// The PRPs of contiguous memory (Base, section 4.3).
    pub(crate) fn prps(&mut self, slot: u16, address: u64, bytes: u64) -> DataPointerWords {
        let pointer = |second| DataPointerWords { dptr: [address, second], flags: 0 };
        let end = (address & (self.page_bytes - 1)) + bytes;
        if end <= self.page_bytes {
            return pointer(0);
        }
        let second = (address & !(self.page_bytes - 1)) + self.page_bytes;
        if end <= 2 * self.page_bytes {
            return pointer(second);
        }
        let pages = (end - 1) >> self.page_bytes.trailing_zeros();
        let kept = self.kept[usize::from(slot)];
        if kept.first != second || kept.pages != pages {
            self.write_contiguous(slot, second, pages);
        }
        pointer(self.address(slot))
    }

    #[cold]
    fn write_contiguous(&mut self, slot: u16, first: u64, pages: u64) {
        let page_bytes = self.page_bytes;
        self.write_prps(slot, pages, (0..pages).map(|page| first + page * page_bytes));
        self.kept[usize::from(slot)] = KeptList { first, pages };
    }

    /// The PRPs of several windows, which must meet at page boundaries.
    pub(crate) fn gathered_prps(&mut self, slot: u16, parts: &[DataWindow]) -> Result<DataPointerWords, Refusal> {
        let page_bytes = self.page_bytes;
        let mask = page_bytes - 1;
        for (position, part) in parts.iter().enumerate() {
            let starts = position == 0 || part.address & mask == 0;
            let ends = position + 1 == parts.len() || (part.address + u64::from(part.bytes)) & mask == 0;
            if !starts || !ends {
                return Err(Refusal::Misaligned);
            }
        }
        let pages = || {
            let pages_of = |part: &DataWindow| {
                let (first, end) = (part.address & !mask, part.address + u64::from(part.bytes));
                (first..end).step_by(page_bytes as usize)
            };
            parts.iter().flat_map(pages_of).skip(1)
        };
        let count = pages().count() as u64;
        let second = match count {
            0 => 0,
            1 => pages().next().unwrap_or(0),
            _ => {
                self.write_prps(slot, count, pages());
                self.address(slot)
            }
        };
        Ok(DataPointerWords { dptr: [parts.first().map_or(0, |part| part.address), second], flags: 0 })
    }

    /// Builds an SGL segment of several windows.
    pub(crate) fn gathered_sgl(&mut self, slot: u16, parts: &[DataWindow]) -> Result<DataPointerWords, Refusal> {
        let segment = self.write_sgl(slot, parts).ok_or(Refusal::TooManyParts)?;
        Ok(DataPointerWords { dptr: segment.words, flags: SGL })
    }

    fn store(&self, slot: u16, offset: u64, value: u64) {
        let offset = u64::from(slot) * self.slot_bytes + offset;
        self.memory.store_u64(offset as usize, value, Ordering::Relaxed);
    }

    /// Writes the PRP list of the pages that `pages` yields, `count` in all (Base, section 4.3):
    /// the last entry of a list page leads to the next one when entries remain.
    fn write_prps(&mut self, slot: u16, count: u64, pages: impl Iterator<Item = u64>) {
        self.kept[usize::from(slot)].pages = 0;
        let per_page = self.page_bytes / PRP_ENTRY_BYTES;
        let mut at = 0;
        let mut left = count;
        for page in pages {
            if at % per_page == per_page - 1 && left > 1 {
                let next = self.address(slot) + (at + 1) * PRP_ENTRY_BYTES;
                self.store(slot, at * PRP_ENTRY_BYTES, next);
                at += 1;
            }
            self.store(slot, at * PRP_ENTRY_BYTES, page);
            at += 1;
            left -= 1;
        }
    }

    /// Writes one SGL segment of data blocks, and returns the descriptor that leads to it; `None`
    /// if they do not fit.
    fn write_sgl(&mut self, slot: u16, parts: &[DataWindow]) -> Option<SglDescriptor> {
        self.kept[usize::from(slot)].pages = 0;
        let bytes = parts.len() as u64 * SGL_DESCRIPTOR_BYTES;
        if bytes > self.slot_bytes {
            return None;
        }
        for (position, part) in parts.iter().enumerate() {
            let descriptor = SglDescriptor::data_block(part.address, part.bytes);
            let offset = position as u64 * SGL_DESCRIPTOR_BYTES;
            self.store(slot, offset, descriptor.words[0]);
            self.store(slot, offset + 8, descriptor.words[1]);
        }
        Some(SglDescriptor::last_segment(self.address(slot), bytes as u32))
    }
}

/// The SGL descriptor of contiguous memory (Base, section 4.4).
pub(crate) const fn sgl(address: u64, bytes: u64) -> DataPointerWords {
    DataPointerWords { dptr: [address, bytes], flags: SGL }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    fn area(max_transfer_bytes: u64) -> ListArea {
        let slot_bytes = ListArea::slot_bytes(max_transfer_bytes, PAGE);
        let memory = SharedBytes::anonymous(2 * slot_bytes as usize).unwrap();
        ListArea::new(&DmaBuffer { memory, address: 0x10_0000 }, slot_bytes, PAGE)
    }

    #[test]
    fn list_memory_holds_the_longest_list() {
        for (transfer, pages) in [
            (4096, 1),
            (512 * PAGE, 1),
            (513 * PAGE, 2),
            ((511 + 512) * PAGE, 2),
            ((511 + 513) * PAGE, 3),
            ((511 + 511 + 512) * PAGE, 3),
        ] {
            assert_eq!(ListArea::slot_bytes(transfer, PAGE), pages * PAGE, "{transfer}");
        }
    }

    #[test]
    fn lists_chain_only_when_entries_remain() {
        for count in [1, 2, 511, 512, 513, 1022, 1023, 1024, 1533, 1534] {
            let mut area = area(count * PAGE);
            area.write_prps(1, count, (1..=count).map(|page| page * PAGE));
            // Follow the list like a device.
            let mut address = area.address(1);
            let mut seen = Vec::new();
            while (seen.len() as u64) < count {
                let value = area.memory.load_u64((address - area.address) as usize, Ordering::Relaxed);
                let last_of_page = address % PAGE == PAGE - 8;
                if last_of_page && count - seen.len() as u64 > 1 {
                    assert_eq!(value % PAGE, 0);
                    address = value;
                } else {
                    seen.push(value);
                    address += 8;
                }
            }
            assert_eq!(seen, (1..=count).map(|page| page * PAGE).collect::<Vec<_>>(), "{count}");
        }
    }

    #[test]
    fn a_segment_that_does_not_fit_is_refused() {
        let mut area = area(4096);
        let parts = vec![DataWindow::new(0x1000, 8); 257];
        assert!(area.write_sgl(0, &parts).is_none());
        let descriptor = area.write_sgl(0, &parts[..256]).unwrap();
        assert_eq!((descriptor.address(), descriptor.length()), (0x10_0000, 4096));
    }
}
