//! Bus addresses (IOVAs): which ones the IOMMU translates, and which are in use.
//!
//! Addresses come only from the ranges that the kernel reports. An IOMMU of 39 bits therefore works
//! as well as one of 48, and windows reserved by the platform (the interrupt window of x86) are
//! never allocated. The lowest addresses are omitted, because devices take zero for "none". A page
//! stays free after each allocation, so that a device that overruns a buffer causes a fault instead
//! of writing into the next one.

use std::collections::BTreeMap;

use iolab_order::Arrange;

/// Addresses below this are never allocated.
const FLOOR: u64 = 1 << 20;
/// Memory is aligned to its size, up to this limit, in case the IOMMU has a page of that size.
const LARGEST_ALIGNMENT: u64 = 2 << 20;

/// Bus addresses from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IovaRange {
    /// The first address.
    pub first: u64,
    /// The last address.
    pub last: u64,
}

/// The bus addresses of one IOMMU domain.
#[derive(Debug, Clone)]
pub struct IovaSpace {
    page_bytes: u64,
    /// Free ranges: first → last address. They neither overlap nor touch.
    free: BTreeMap<u64, u64>,
    /// Allocated ranges: first → last address, with the guard page.
    taken: BTreeMap<u64, u64>,
}

impl IovaSpace {
    /// The space of `ranges` (in any order; they may overlap), in pages of `page_bytes`, a power of
    /// two.
    pub fn new(ranges: &[IovaRange], page_bytes: u64) -> IovaSpace {
        assert!(page_bytes.is_power_of_two(), "pages of {page_bytes} bytes");
        let mut space = IovaSpace { page_bytes, free: BTreeMap::new(), taken: BTreeMap::new() };
        let mut sorted: Vec<IovaRange> = ranges.iter().filter_map(|range| space.whole_pages(*range)).collect();
        sorted.arrange_by_key(|range| range.first);
        for range in sorted {
            match space.free.last_entry() {
                Some(mut before) if *before.get() >= range.first - 1 => {
                    let last = range.last.max(*before.get());
                    before.insert(last);
                }
                _ => {
                    space.free.insert(range.first, range.last);
                }
            }
        }
        space
    }

    /// The part of a range that consists of whole pages above the floor.
    fn whole_pages(&self, range: IovaRange) -> Option<IovaRange> {
        let first = range.first.max(FLOOR).checked_next_multiple_of(self.page_bytes)?;
        let last = match range.last.checked_add(1) {
            Some(end) => (end / self.page_bytes * self.page_bytes).checked_sub(1)?,
            None => u64::MAX,
        };
        (first <= last).then_some(IovaRange { first, last })
    }

    /// Permanently removes `window` from the free ranges.
    pub fn reserve(&mut self, window: IovaRange) {
        let touched: Vec<(u64, u64)> = self.free.range(..=window.last).map(|(first, last)| (*first, *last)).collect();
        for (first, last) in touched.into_iter().filter(|(_, last)| *last >= window.first) {
            self.free.remove(&first);
            if first < window.first {
                self.give_back(IovaRange { first, last: window.first - 1 });
            }
            if last > window.last {
                self.give_back(IovaRange { first: window.last + 1, last });
            }
        }
    }

    fn give_back(&mut self, range: IovaRange) {
        if let Some(whole) = self.whole_pages(range) {
            self.free.insert(whole.first, whole.last);
        }
    }

    /// Allocates addresses for `bytes` of memory, rounded up to pages; `None` if no gap is large
    /// enough.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.max(1).checked_next_multiple_of(self.page_bytes)?;
        let with_guard = bytes.checked_add(self.page_bytes)?;
        let alignment = (1 << bytes.ilog2()).min(LARGEST_ALIGNMENT).max(self.page_bytes);
        let (first, last, at) = self.free.iter().find_map(|(&first, &last)| {
            let at = first.checked_next_multiple_of(alignment)?;
            (at.checked_add(with_guard - 1)? <= last).then_some((first, last, at))
        })?;
        let end = at + (with_guard - 1);
        self.free.remove(&first);
        if first < at {
            self.free.insert(first, at - 1);
        }
        if end < last {
            self.free.insert(end + 1, last);
        }
        self.taken.insert(at, end);
        Some(at)
    }

    /// Frees what [`IovaSpace::allocate`] has allocated at `address`; `false` if nothing is
    /// allocated there.
    pub fn release(&mut self, address: u64) -> bool {
        let Some(last) = self.taken.remove(&address) else { return false };
        let (mut first, mut end) = (address, last);
        if let Some((&before, &before_last)) = self.free.range(..address).next_back()
            && before_last + 1 == address
        {
            self.free.remove(&before);
            first = before;
        }
        if let Some(after_last) = last.checked_add(1).and_then(|after| self.free.remove(&after)) {
            end = after_last;
        }
        self.free.insert(first, end);
        true
    }

    /// The last address that can be or was allocated; 0 if the space is empty.
    pub fn last_address(&self) -> u64 {
        let free = self.free.values().next_back().copied().unwrap_or(0);
        free.max(self.taken.values().next_back().copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: u64 = 4096;

    fn range(first: u64, last: u64) -> IovaRange {
        IovaRange { first, last }
    }

    /// The ranges of an x86 IOMMU: all of `bits` bits except the interrupt window.
    fn x86(bits: u32) -> Vec<IovaRange> {
        vec![range(0, 0xfedf_ffff), range(0xfef0_0000, (1 << bits) - 1)]
    }

    #[test]
    fn ranges_are_merged_and_cut_to_pages_above_the_floor() {
        let ranges = [range(0x30_0001, 0x40_0ffe), range(0, 0x1f_ffff), range(0x20_0000, 0x20_ffff)];
        let space = IovaSpace::new(&ranges, PAGE);
        let free: Vec<_> = space.free.into_iter().collect();
        assert_eq!(free, [(FLOOR, 0x20_ffff), (0x30_1000, 0x3f_ffff)]);
        assert_eq!(IovaSpace::new(&[range(0, u64::MAX)], PAGE).last_address(), u64::MAX);
        assert_eq!(IovaSpace::new(&[range(0, 100), range(5, 4)], PAGE).last_address(), 0);
    }

    #[test]
    fn small_and_large_iommus_give_addresses_they_translate() {
        for bits in [32, 39, 48, 57] {
            let mut space = IovaSpace::new(&x86(bits), PAGE);
            let mut total = 0;
            while let Some(address) = space.allocate(1 << 30) {
                assert!(address + (1 << 30) <= 1 << bits, "{address:#x} on {bits} bits");
                assert!(address.is_multiple_of(LARGEST_ALIGNMENT));
                total += 1;
                if total == 1000 {
                    break;
                }
            }
            assert!(total >= 2, "{bits} bits");
        }
    }

    #[test]
    fn reserved_windows_are_never_given_out() {
        let mut space = IovaSpace::new(&[range(0, (1 << 24) - 1)], PAGE);
        space.reserve(range(0x20_0800, 0x20_17ff));
        space.reserve(range(0xf0_0000, u64::MAX));
        let free: Vec<_> = space.free.iter().map(|(first, last)| (*first, *last)).collect();
        assert_eq!(free, [(FLOOR, 0x1f_ffff), (0x20_2000, 0xef_ffff)]);
        while let Some(address) = space.allocate(PAGE) {
            assert!(!(0x20_0000..0x20_2000).contains(&address) && address < 0xf0_0000);
        }
    }

    #[test]
    fn what_was_not_given_out_cannot_be_released() {
        let mut space = IovaSpace::new(&x86(39), PAGE);
        let address = space.allocate(10).unwrap();
        assert!(!space.release(address + PAGE));
        assert!(space.release(address));
        assert!(!space.release(address));
        assert!(space.allocate(u64::MAX).is_none() && space.allocate(1 << 60).is_none());
    }

    proptest! {
        #[test]
        fn allocations_keep_apart_and_releasing_all_restores_the_space(
            bits in 22u32..40,
            steps in proptest::collection::vec((1u64..1 << 22, proptest::bool::ANY), 1..80),
        ) {
            let mut space = IovaSpace::new(&x86(bits), PAGE);
            let whole = space.free.clone();
            let mut held: Vec<(u64, u64)> = Vec::new();
            for (bytes, release) in steps {
                if release && !held.is_empty() {
                    let (address, _) = held.swap_remove(bytes as usize % held.len());
                    prop_assert!(space.release(address));
                } else if let Some(address) = space.allocate(bytes) {
                    let last = address + bytes - 1;
                    prop_assert!(address.is_multiple_of(PAGE));
                    prop_assert!(whole.iter().any(|(first, end)| address >= *first && last <= *end), "outside");
                    let apart = |&(other, other_last): &(u64, u64)| last + PAGE / 2 < other || address > other_last + PAGE / 2;
                    prop_assert!(held.iter().all(apart), "{address:#x} overlaps or touches");
                    held.push((address, last));
                } else {
                    let largest = space.free.iter().map(|(first, last)| last - first + 1).max().unwrap_or(0);
                    prop_assert!(largest < 2 * bytes + LARGEST_ALIGNMENT + 2 * PAGE, "refused with {largest} bytes free");
                }
            }
            for (address, _) in held {
                prop_assert!(space.release(address));
            }
            prop_assert_eq!(space.free, whole);
        }
    }
}
