//! Where the data of a command is: slices the device reaches, PRP lists and SGL segments.
//!
//! Each slot of a queue pair has memory of its own for lists. The list of a slot is kept: a slot that transfers the same
//! buffer again, as slots of a pool do, finds its list ready.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::prp::PRP_ENTRY_BYTES;
use iolab_nvme_spec::sgl::{SGL_DESCRIPTOR_BYTES, SglDescriptor};
use iolab_pci_device::{DmaBuffer, SharedBytes};

/// Memory that the device reaches at consecutive bus addresses.
///
/// A slice is a number to this driver. Whoever makes it keeps the memory mapped until every command that names it has
/// been reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmaSlice {
    pub(crate) address: u64,
    pub(crate) bytes: u32,
}

impl DmaSlice {
    /// No memory.
    pub const EMPTY: DmaSlice = DmaSlice { address: 0, bytes: 0 };

    /// The `bytes` from bus address `address`.
    #[inline]
    pub const fn new(address: u64, bytes: u32) -> DmaSlice {
        DmaSlice { address, bytes }
    }

    /// Part of a mapped buffer; `None` if it does not lie within.
    pub fn of(buffer: &DmaBuffer, offset: usize, bytes: u32) -> Option<DmaSlice> {
        let end = offset.checked_add(bytes as usize)?;
        (end <= buffer.memory.len()).then_some(DmaSlice { address: buffer.address + offset as u64, bytes })
    }

    /// Bus address of the first byte.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Length in bytes.
    pub const fn bytes(self) -> u32 {
        self.bytes
    }
}

/// The list memory of one slot of many.
#[derive(Debug)]
pub(crate) struct ListArea {
    memory: SharedBytes,
    /// Bus address of the memory.
    address: u64,
    /// Bytes for each slot: whole memory pages.
    slot_bytes: u64,
    page_bytes: u64,
}

impl ListArea {
    /// Bytes that one slot needs for lists of transfers up to `max_transfer_bytes`, and for Dataset Management ranges.
    pub(crate) fn slot_bytes(max_transfer_bytes: u64, page_bytes: u64) -> u64 {
        // An unaligned transfer touches one page more than its length, and its first page is not in the list.
        let entries = max_transfer_bytes.div_ceil(page_bytes);
        let per_page = page_bytes / PRP_ENTRY_BYTES;
        let pages = if entries <= per_page { 1 } else { (entries - 1).div_ceil(per_page - 1) };
        pages * page_bytes
    }

    pub(crate) fn new(buffer: &DmaBuffer, slot_bytes: u64, page_bytes: u64) -> ListArea {
        ListArea { memory: buffer.memory.clone(), address: buffer.address, slot_bytes, page_bytes }
    }

    /// Bus address of a slot's list.
    #[inline]
    pub(crate) fn address(&self, slot: u16) -> u64 {
        self.address + u64::from(slot) * self.slot_bytes
    }

    /// Writes bytes to a slot's memory. They must fit.
    pub(crate) fn write(&self, slot: u16, offset: u64, bytes: &[u8]) {
        self.memory.write((u64::from(slot) * self.slot_bytes + offset) as usize, bytes);
    }

    fn store(&self, slot: u16, offset: u64, value: u64) {
        let offset = u64::from(slot) * self.slot_bytes + offset;
        self.memory.store_u64(offset as usize, value, Ordering::Relaxed);
    }

    /// Writes the PRP list of the pages that `pages` yields, `count` in all (Base, section 4.3): the last entry of a list
    /// page leads to the next one when entries remain.
    pub(crate) fn write_prps(&self, slot: u16, count: u64, pages: impl Iterator<Item = u64>) {
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

    /// Writes one SGL segment of data blocks, and returns the descriptor that leads to it; `None` if they do not fit.
    pub(crate) fn write_sgl(&self, slot: u16, slices: &[DmaSlice]) -> Option<SglDescriptor> {
        let bytes = slices.len() as u64 * SGL_DESCRIPTOR_BYTES;
        if bytes > self.slot_bytes {
            return None;
        }
        for (position, slice) in slices.iter().enumerate() {
            let descriptor = SglDescriptor::data_block(slice.address, slice.bytes);
            let offset = position as u64 * SGL_DESCRIPTOR_BYTES;
            self.store(slot, offset, descriptor.words[0]);
            self.store(slot, offset + 8, descriptor.words[1]);
        }
        Some(SglDescriptor::last_segment(self.address(slot), bytes as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    fn area(max_transfer_bytes: u64) -> ListArea {
        let slot_bytes = ListArea::slot_bytes(max_transfer_bytes, PAGE);
        let memory = SharedBytes::anonymous(2 * slot_bytes as usize).unwrap();
        ListArea { memory, address: 0x10_0000, slot_bytes, page_bytes: PAGE }
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
            let area = area(count * PAGE);
            area.write_prps(1, count, (1..=count).map(|page| page * PAGE));
            // Follow the list as a device does.
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
        let area = area(4096);
        let slices = vec![DmaSlice::new(0x1000, 8); 257];
        assert!(area.write_sgl(0, &slices).is_none());
        let descriptor = area.write_sgl(0, &slices[..256]).unwrap();
        assert_eq!((descriptor.address(), descriptor.length()), (0x10_0000, 4096));
    }
}
