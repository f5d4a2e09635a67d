//! A pool of equal, page-aligned slots, one for each operation that may be in flight.
//!
//! Unsafe because it maps memory and returns pointers into it, through which the kernel writes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr::NonNull;

use crate::SharedBytes;

/// The size of a transparent huge page (Documentation/admin-guide/mm/transhuge.rst).
const TRANSPARENT_HUGE: usize = 2 << 20;

/// What backs a pool.
#[derive(Debug, Clone)]
pub enum Backing {
    /// Private anonymous pages; huge ones if the kernel has them and the pool is large enough.
    Anonymous,
    /// Anonymous huge pages of this many bytes (`MAP_HUGETLB`).
    HugePages {
        /// Size of one huge page.
        page_bytes: usize,
    },
    /// Pages shared with forked processes.
    Shared,
    /// Pages in a memfd, which a device served by another process can map.
    Memfd,
    /// A mapping of this file, private or shared.
    File {
        /// The mapped file, open for reading and writing; it gets the size of the pool.
        file: std::sync::Arc<std::fs::File>,
        /// `MAP_SHARED` instead of `MAP_PRIVATE`.
        shared: bool,
    },
}

/// Why a pool could not be made.
#[derive(Debug)]
pub struct PoolError {
    /// The operation that failed.
    pub message: String,
    /// The kernel's answer.
    pub source: io::Error,
}

/// Owns the memory of the slots.
#[derive(Debug)]
pub struct SlotPool {
    base: NonNull<u8>,
    mapped_bytes: usize,
    view: PoolView,
    /// The memfd behind the pool, if it was requested; the view refers to it.
    _memfd: Option<OwnedFd>,
}

// SAFETY: the mapping belongs to this value alone and may be used from any thread that owns it.
unsafe impl Send for SlotPool {}
// SAFETY: a shared reference gives only addresses.
unsafe impl Sync for SlotPool {}

/// The location of the slots. It is copied into lanes, and is valid as long as the pool lives.
#[derive(Debug, Clone, Copy)]
pub struct PoolView {
    first: NonNull<u8>,
    slot_bytes: usize,
    stride_bytes: usize,
    slots: usize,
    base: NonNull<u8>,
    mapped_bytes: usize,
    memfd: Option<RawFd>,
}

// SAFETY: a view consists of an address and sizes; each user of the address must prove its own use
// safe.
unsafe impl Send for PoolView {}

impl PoolView {
    /// A pool without memory, for engines that move no data.
    pub const EMPTY: PoolView = PoolView {
        first: NonNull::dangling(),
        slot_bytes: 0,
        stride_bytes: 0,
        slots: 0,
        base: NonNull::dangling(),
        mapped_bytes: 0,
        memfd: None,
    };

    /// The whole pool as memory for a device. Other processes can share it if the pool was made
    /// with [`Backing::Memfd`]. Slot `n` is at [`PoolView::slot_offset`] in it.
    ///
    /// # Safety
    /// The pool must outlive the last clone of the result, as it outlives the lane to which it was
    /// lent.
    ///
    /// # Errors
    /// The memfd's descriptor cannot be duplicated.
    pub unsafe fn shared(&self) -> io::Result<SharedBytes> {
        let memfd = match self.memfd {
            // SAFETY: the pool, which is alive, owns the descriptor.
            Some(fd) => Some(unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?),
            None => None,
        };
        // SAFETY: the pool's mapping is readable and writable, and outlives the window by this
        // function's contract. While a device works on slots, they belong to the lane and no
        // references to them exist.
        Ok(unsafe { SharedBytes::borrowed(self.base, self.mapped_bytes, memfd) })
    }

    /// The offset of `slot` in the memory that [`PoolView::shared`] returns, bytes.
    #[inline]
    pub fn slot_offset(&self, slot: usize) -> usize {
        self.slot_ptr(slot) as usize - self.base.as_ptr() as usize
    }

    /// Address of the first byte of `slot`.
    ///
    /// The pool must still be alive when the address is used. Panics if `slot` is out of range.
    #[inline]
    pub fn slot_ptr(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // The address is in range: the mapping holds `slots` strides. wrapping_add needs no further
        // proof.
        self.first.as_ptr().wrapping_add(slot * self.stride_bytes)
    }

    /// Address of the byte `offset` of `slot` if `length` bytes from there are within the slot;
    /// otherwise `None`.
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
    /// Maps `slots` slots of `slot_bytes` each. Every slot is aligned to 4 KiB plus `offset_bytes`
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
            // The kernel aligns a mapping of whole huge pages; at most half of the mapping is
            // wasted.
            Backing::Anonymous if wanted >= TRANSPARENT_HUGE / 2 => wanted.next_multiple_of(TRANSPARENT_HUGE),
            _ => wanted,
        };
        let (base, file) = map(mapped_bytes, backing)?;
        let first = NonNull::new(base.as_ptr().wrapping_add(offset_bytes)).unwrap_or(base);
        let _memfd = file.filter(|_| matches!(backing, Backing::Memfd));
        let memfd = _memfd.as_ref().map(AsRawFd::as_raw_fd);
        let view = PoolView { first, slot_bytes, stride_bytes, slots: slots.max(1), base, mapped_bytes, memfd };
        Ok(SlotPool { base, mapped_bytes, view, _memfd })
    }

    /// The addresses, for a lane.
    pub fn view(&self) -> PoolView {
        self.view
    }

    /// The bytes of one slot, for the loop while it owns the slot.
    #[inline]
    pub fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        let start = self.view.slot_ptr(slot);
        // SAFETY: the slot is inside the mapping that this value owns (slot_ptr checks the index).
        // Its pages are readable and writable, and the exclusive borrow of the pool excludes other
        // safe users. The kernel writes to a slot only between submit and reap, when the loop does
        // not call this.
        unsafe { std::slice::from_raw_parts_mut(start, self.view.slot_bytes) }
    }
}

fn map(bytes: usize, backing: &Backing) -> Result<(NonNull<u8>, Option<OwnedFd>), PoolError> {
    let fail = |message: String| PoolError { message, source: io::Error::last_os_error() };
    let mut file: Option<OwnedFd> = None;
    let flags = match backing {
        Backing::Anonymous => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        Backing::Shared => libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        Backing::Memfd => {
            let describe = |source| PoolError { message: format!("a memfd of {bytes} bytes for buffers"), source };
            let memory = SharedBytes::memfd("iolab-buffers", bytes).map_err(describe)?;
            let fd = memory.file().map(|(fd, _)| fd.try_clone_to_owned()).transpose().map_err(describe)?;
            file = fd;
            libc::MAP_SHARED
        }
        Backing::HugePages { page_bytes } => {
            let log2 = page_bytes.trailing_zeros() as i32;
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | (log2 << libc::MAP_HUGE_SHIFT)
        }
        Backing::File { file: backing, shared } => {
            let describe = |source| PoolError { message: "mapping buffers from their file".to_owned(), source };
            if backing.metadata().map_err(describe)?.is_file() {
                backing.set_len(bytes as u64).map_err(describe)?;
            }
            file = Some(backing.try_clone().map_err(describe)?.into());
            if *shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE }
        }
    };
    let fd = file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: a new mapping at an address that the kernel chooses touches nothing that exists.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0) };
    if address == libc::MAP_FAILED {
        return Err(fail(match backing {
            Backing::HugePages { page_bytes } => {
                let (pages, kib) = (bytes / page_bytes, page_bytes >> 10);
                format!(
                    "mapping {bytes} bytes of buffers in huge pages (reserve {pages} more: \
                     /sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages)"
                )
            }
            _ => format!("mapping {bytes} bytes of buffers"),
        }));
    }
    let base = NonNull::new(address.cast()).ok_or_else(|| fail(format!("mapping {bytes} bytes of buffers")))?;
    if matches!(backing, Backing::Anonymous) && bytes >= TRANSPARENT_HUGE {
        // The kernel finds, pins, and releases the pages of each transfer, which is less work with
        // huge pages. This is only advice: if the kernel refuses, only that saving is lost. SAFETY:
        // the range is the mapping just made; advice changes no content (madvise(2)).
        unsafe { libc::madvise(address, bytes, libc::MADV_HUGEPAGE) };
    }
    Ok((base, file))
}

impl Drop for SlotPool {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping made in `new`, which is unmapped once,
        // here.
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
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn a_pool_is_shared_as_the_same_bytes() {
        for backing in [Backing::Anonymous, Backing::Memfd] {
            let mut pool = SlotPool::new(3, 5000, 512, &backing).unwrap();
            pool.slot_mut(1)[7] = 0x5a;
            let view = pool.view();
            // SAFETY: the pool lives until the end of the round, after `shared` is gone.
            let shared = unsafe { view.shared() }.unwrap();
            let mut byte = [0];
            shared.read(view.slot_offset(1) + 7, &mut byte);
            assert_eq!(byte, [0x5a], "{backing:?}");
            assert_eq!(view.slot_offset(0), 512);
            assert_eq!(shared.file().is_some(), matches!(backing, Backing::Memfd));
            drop(shared);
        }
    }

    #[test]
    #[should_panic(expected = "slot 2 of 2")]
    fn a_slot_out_of_range_is_a_bug() {
        let pool = SlotPool::new(2, 512, 0, &Backing::Anonymous).unwrap();
        pool.view().slot_ptr(2);
    }
}
