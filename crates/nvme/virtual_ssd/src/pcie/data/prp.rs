//! PRP entries and lists (Base, section 4.3).
//!
//! ```text
//! PRP1 ──▶ [.....offset|data]            the rest of a page, or less
//! PRP2 ──▶ [data]                        when one more page is enough, otherwise
//! PRP2 ──▶ [entry|entry|...|next] ──▶ [entry|...]
//! ```
//!
//! Adjacent pages become one piece. Metadata is not supported, because no format has it.

use iolab_nvme_spec::Status;
use iolab_nvme_spec::prp::PRP_ENTRY_BYTES;
use iolab_pci_device::HostMemory;

use super::{Piece, unreachable_data};
use crate::command_error::{CommandError, place};

/// Entries of a list read at once.
const BATCH: usize = 64;

#[inline]
pub(super) fn resolve<M: HostMemory>(
    memory: &mut M,
    [prp1, prp2]: [u64; 2],
    bytes: usize,
    page_shift: u32,
    pieces: &mut Vec<Piece>,
) -> Result<(), CommandError> {
    let page_bytes = 1usize << page_shift;
    if prp1 & 3 != 0 {
        return Err(bad_offset(place::PRP1));
    }
    let first = (page_bytes - (prp1 as usize & (page_bytes - 1))).min(bytes);
    pieces.push(Piece::new(prp1, first));
    let left = bytes - first;
    if left == 0 {
        return Ok(());
    }
    if left > page_bytes {
        return List { page_shift, next: prp2 }.read(memory, left, pieces);
    }
    if prp2 as usize & (page_bytes - 1) != 0 {
        return Err(bad_offset(place::PRP2));
    }
    append(pieces, prp2, left);
    Ok(())
}

#[cold]
fn bad_offset(byte: u8) -> CommandError {
    CommandError::permanent(Status::PRP_OFFSET_INVALID).at(byte, 0)
}

/// Adds a page; it extends the last piece if it is adjacent.
#[inline]
fn append(pieces: &mut Vec<Piece>, address: u64, bytes: usize) {
    match pieces.last_mut() {
        Some(last) if last.address.wrapping_add(last.bytes as u64) == address => last.bytes += bytes,
        _ => pieces.push(Piece::new(address, bytes)),
    }
}

/// The rest of a list.
struct List {
    page_shift: u32,
    next: u64,
}

impl List {
    fn read<M: HostMemory>(
        mut self,
        memory: &mut M,
        mut left: usize,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), CommandError> {
        let page_bytes = 1usize << self.page_shift;
        // The first list may start within a page, but later ones may not.
        if !self.next.is_multiple_of(PRP_ENTRY_BYTES) {
            return Err(bad_offset(place::PRP2));
        }
        let mut raw = [0u8; BATCH * 8];
        while left > 0 {
            let in_page = (page_bytes - (self.next as usize & (page_bytes - 1))) / 8;
            let wanted = left.div_ceil(page_bytes);
            // The last entry of a page points to the next page if the entries of this one do not
            // suffice.
            let leads_on = wanted > in_page;
            let usable = if leads_on { in_page - 1 } else { wanted };
            let count = usable.min(BATCH);
            let with_link = leads_on && count == usable && count < BATCH;
            let raw = &mut raw[..(count + usize::from(with_link)) * 8];
            memory.read(self.next, raw).map_err(|_| unreachable_data())?;
            for entry in raw[..count * 8].as_chunks().0 {
                let address = aligned(u64::from_le_bytes(*entry), page_bytes)?;
                let part = left.min(page_bytes);
                append(pieces, address, part);
                left -= part;
            }
            self.next = self.next.wrapping_add(count as u64 * PRP_ENTRY_BYTES);
            if let (true, Some(link)) = (with_link, raw[count * 8..].first_chunk()) {
                self.next = aligned(u64::from_le_bytes(*link), page_bytes)?;
            }
        }
        Ok(())
    }
}

fn aligned(entry: u64, page_bytes: usize) -> Result<u64, CommandError> {
    if entry as usize & (page_bytes - 1) == 0 { Ok(entry) } else { Err(bad_offset(place::PRP2)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_memory::SharedBytes;
    use iolab_pci_device::{DmaMapper, DmaTable};

    const PAGE: u64 = 4096;

    fn resolved(table: &mut DmaTable, prp1: u64, prp2: u64, bytes: usize) -> Result<Vec<Piece>, CommandError> {
        let mut pieces = Vec::new();
        resolve(table, [prp1, prp2], bytes, 12, &mut pieces).map(|()| pieces)
    }

    type Case = (u64, u64, usize, &'static [(u64, usize)]);

    #[test]
    fn one_and_two_entries_need_no_memory() {
        let mut none = DmaTable::new();
        let cases: [Case; 6] = [
            (0x1000, 0, 4096, &[(0x1000, 4096)]),
            (0x1004, 0, 512, &[(0x1004, 512)]),
            (0x1800, 0x9000, 4096, &[(0x1800, 2048), (0x9000, 2048)]),
            (0x1800, 0x2000, 4096, &[(0x1800, 4096)]),
            (0x1000, 0x9000, 8192, &[(0x1000, 4096), (0x9000, 4096)]),
            (0x1ffc, 0x9000, 4100, &[(0x1ffc, 4), (0x9000, 4096)]),
        ];
        for (prp1, prp2, bytes, expected) in cases {
            let expected: Vec<Piece> = expected.iter().map(|&(address, bytes)| Piece::new(address, bytes)).collect();
            assert_eq!(resolved(&mut none, prp1, prp2, bytes).unwrap(), expected, "{prp1:#x} {prp2:#x} {bytes}");
        }
    }

    #[test]
    fn offsets_that_must_be_zero_are() {
        let mut table = DmaTable::new();
        let list = table.allocate(4096).unwrap();
        list.memory.store_u64(0, 0x7008, std::sync::atomic::Ordering::Relaxed);
        let cases = [
            (0x1002, 0, 512, Status::PRP_OFFSET_INVALID),
            (0x1800, 0x9008, 4096, Status::PRP_OFFSET_INVALID),
            (0x1000, list.address + 4, 16384, Status::PRP_OFFSET_INVALID),
            (0x1000, list.address, 16384, Status::PRP_OFFSET_INVALID),
            (0x1000, 0x7000, 16384, Status::DATA_TRANSFER_ERROR),
        ];
        for (prp1, prp2, bytes, expected) in cases {
            let refusal = resolved(&mut table, prp1, prp2, bytes).unwrap_err();
            assert_eq!(refusal.status.code(), expected, "{prp1:#x} {prp2:#x} {bytes}");
        }
    }

    proptest::proptest! {
        /// Lists of any length, with any offset in their first page, resolve to the pages that they
        /// name.
        #[test]
        fn lists_cross_pages(pages in 2usize..2000, start in 0usize..512, gap in 1u64..3, offset in 0usize..1024) {
            let mut table = DmaTable::new();
            let list = SharedBytes::anonymous(8 * 4096).unwrap();
            let base = table.map(&list).unwrap();
            let page = |n: usize| 0x10_0000_0000 + n as u64 * PAGE * gap;
            let mut at = start;
            for n in 1..=pages {
                if at % 512 == 511 && n < pages {
                    let next = (at + 1) * 8;
                    list.store_u64(at * 8, base + next as u64, std::sync::atomic::Ordering::Relaxed);
                    at += 1;
                }
                list.store_u64(at * 8, page(n), std::sync::atomic::Ordering::Relaxed);
                at += 1;
            }
            let first = 4096 - offset * 4;
            let bytes = first + pages * 4096;
            let pieces = resolved(&mut table, page(0) + offset as u64 * 4, base + start as u64 * 8, bytes).unwrap();
            proptest::prop_assert_eq!(pieces.iter().map(|piece| piece.bytes).sum::<usize>(), bytes);
            let expected = if gap == 1 { 1 } else { pages + 1 };
            proptest::prop_assert_eq!(pieces.len(), expected);
            let last = pieces[expected - 1];
            proptest::prop_assert_eq!(last.address + last.bytes as u64, page(pages) + PAGE);
        }
    }
}
