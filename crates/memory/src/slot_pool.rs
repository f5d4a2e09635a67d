//! A pool of equal, page-aligned slots, one for each operation that may be in flight.
//!
//! Unsafe because it maps memory itself and hands out pointers into it that the kernel writes through.

use std::io;
use std::ptr::NonNull;

/// What backs a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backing {
    /// Private anonymous pages.
    Anonymous,
    /// Anonymous huge pages of this many bytes (`MAP_HUGETLB`).
    HugePages {
        /// Size of one huge page.
        page_bytes: usize,
    },
    /// Pages shared with forked processes.
    Shared,
    /// A mapping of this file, private or shared.
    File {
        /// The file mapped; it is extended to the size of the pool.
        path: std::path::PathBuf,
        /// `MAP_SHARED` instead of `MAP_PRIVATE`.
        shared: bool,
    },
}

/// Why a pool could not be made.
#[derive(Debug)]
pub struct PoolError {
    /// What was tried.
    pub message: String,
    /// The kernel's answer.
    pub source: io::Error,
}

/// Owns the slots' memory.
#[derive(Debug)]
pub struct SlotPool {
    base: NonNull<u8>,
    mapped_bytes: usize,
    view: PoolView,
}

// SAFETY: the mapping belongs to this value alone and may be used from whichever thread owns it.
unsafe impl Send for SlotPool {}

/// Where the slots are: copied into lanes, valid as long as the pool lives.
#[derive(Debug, Clone, Copy)]
pub struct PoolView {
    first: NonNull<u8>,
    slot_bytes: usize,
    stride_bytes: usize,
    slots: usize,
}

// SAFETY: a view is an address and sizes; what is done with the address is each user's own proof.
unsafe impl Send for PoolView {}

impl PoolView {
    /// A pool without memory, for engines that move no data.
    pub const EMPTY: PoolView = PoolView { first: NonNull::dangling(), slot_bytes: 0, stride_bytes: 0, slots: 0 };

    /// Address of the first byte of `slot`.
    ///
    /// The pool must still be alive when the address is used. Panics if `slot` is out of range.
    #[inline]
    pub fn slot_ptr(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // In range: the mapping holds `slots` strides (wrapping_add needs no further proof).
        self.first.as_ptr().wrapping_add(slot * self.stride_bytes)
    }

    /// Address of the byte `offset` of `slot`, if `length` bytes from there lie within the slot; `None` otherwise.
    ///
    /// The pool must still be alive when the address is used.
    #[inline]
    pub fn range_ptr(&self, slot: usize, offset: usize, length: usize) -> Option<*mut u8> {
        let fits = slot < self.slots && offset.checked_add(length).is_some_and(|end| end <= self.slot_bytes);
        fits.then(|| self.slot_ptr(slot).wrapping_add(offset))
    }

    /// Usable bytes of each slot.
    #[inline]
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Distance between slots, bytes.
    #[inline]
    pub fn stride_bytes(&self) -> usize {
        self.stride_bytes
    }

    /// Number of slots.
    #[inline]
    pub fn slots(&self) -> usize {
        self.slots
    }
}

impl SlotPool {
    /// Maps `slots` slots of `slot_bytes` each, every slot aligned to 4 KiB plus `offset_bytes`
    /// (fio's `iomem_align` displaces buffers deliberately; 0 keeps them page-aligned).
    pub fn new(slots: usize, slot_bytes: usize, offset_bytes: usize, backing: &Backing) -> Result<SlotPool, PoolError> {
        const PAGE: usize = 4096;
        let stride_bytes = (slot_bytes.max(1) + offset_bytes).next_multiple_of(PAGE);
        let wanted = stride_bytes.checked_mul(slots.max(1)).ok_or_else(|| PoolError {
            message: format!("{slots} buffers of {slot_bytes} bytes"),
            source: io::ErrorKind::OutOfMemory.into(),
        })?;
        let mapped_bytes = match backing {
            Backing::HugePages { page_bytes } => wanted.next_multiple_of((*page_bytes).max(PAGE)),
            _ => wanted,
        };
        let base = map(mapped_bytes, backing)?;
        let first = NonNull::new(base.as_ptr().wrapping_add(offset_bytes)).unwrap_or(base);
        let view = PoolView { first, slot_bytes, stride_bytes, slots: slots.max(1) };
        Ok(SlotPool { base, mapped_bytes, view })
    }

    /// The addresses, for a lane.
    pub fn view(&self) -> PoolView {
        self.view
    }

    /// The bytes of one slot, for the loop while the slot is its own.
    #[inline]
    pub fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        let start = self.view.slot_ptr(slot);
        // SAFETY: the slot lies inside the mapping this value owns (slot_ptr checks the index), its pages are
        // readable and writable, and the exclusive borrow of the pool keeps other safe users away. The kernel
        // writes a slot only between submit and reap, when the loop does not call this.
        unsafe { std::slice::from_raw_parts_mut(start, self.view.slot_bytes) }
    }
}

fn map(bytes: usize, backing: &Backing) -> Result<NonNull<u8>, PoolError> {
    use std::os::fd::AsRawFd;
    let fail = |message: String| PoolError { message, source: io::Error::last_os_error() };
    let mut file = None;
    let flags = match backing {
        Backing::Anonymous => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        Backing::Shared => libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        Backing::HugePages { page_bytes } => {
            let log2 = page_bytes.trailing_zeros() as i32;
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | (log2 << libc::MAP_HUGE_SHIFT)
        }
        Backing::File { path, shared } => {
            let describe = |source| PoolError { message: format!("mapping buffers from {}", path.display()), source };
            let opened = std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
            let opened = opened.map_err(describe)?;
            if opened.metadata().map_err(describe)?.is_file() {
                opened.set_len(bytes as u64).map_err(describe)?;
            }
            file = Some(opened);
            if *shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE }
        }
    };
    let fd = file.as_ref().map_or(-1, |file| file.as_raw_fd());
    // SAFETY: a fresh mapping at an address of the kernel's choice touches nothing that exists.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0) };
    if address == libc::MAP_FAILED {
        return Err(fail(format!("mapping {bytes} bytes of buffers ({backing:?})")));
    }
    NonNull::new(address.cast()).ok_or_else(|| fail(format!("mapping {bytes} bytes of buffers")))
}

impl Drop for SlotPool {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping made in `new`, unmapped once, here.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_apart_and_writable() {
        let mut pool = SlotPool::new(3, 5000, 0, &Backing::Anonymous).unwrap();
        for slot in 0..3 {
            assert_eq!(pool.view().slot_ptr(slot) as usize % 4096, 0);
            pool.slot_mut(slot).fill(slot as u8 + 1);
        }
        for slot in 0..3 {
            assert!(pool.slot_mut(slot).iter().all(|&byte| byte == slot as u8 + 1));
            assert_eq!(pool.slot_mut(slot).len(), 5000);
        }
    }

    #[test]
    fn a_range_lies_within_one_slot_or_is_none() {
        let view = SlotPool::new(2, 5000, 0, &Backing::Anonymous).unwrap().view();
        let second = view.slot_ptr(1);
        assert_eq!(view.range_ptr(1, 0, 5000), Some(second));
        assert_eq!(view.range_ptr(1, 1000, 4000), Some(second.wrapping_add(1000)));
        for (slot, offset, length) in [(1, 1, 5000), (2, 0, 1), (0, usize::MAX, 2), (0, 5001, 0)] {
            assert_eq!(view.range_ptr(slot, offset, length), None, "slot {slot}: {length} from {offset}");
        }
        assert_eq!(PoolView::EMPTY.range_ptr(0, 0, 0), None);
    }

    #[test]
    #[should_panic(expected = "slot 2 of 2")]
    fn a_slot_out_of_range_is_a_bug() {
        let pool = SlotPool::new(2, 512, 0, &Backing::Anonymous).unwrap();
        pool.view().slot_ptr(2);
    }
}
