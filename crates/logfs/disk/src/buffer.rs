//! Bytes aligned for direct transfers: owned, a slot of a pool, or lent by an owner who keeps them
//! valid while a device works on them.
//!
//! While a device has a buffer, the kernel reads and writes it, and no Rust reference to it may
//! exist. A buffer is therefore an address and a length, and becomes a slice only on access.
//!
//! Unsafe: it allocates with its own alignment, advises the kernel about that memory, and makes
//! slices from addresses.
#![allow(unsafe_code, reason = "island: memory that a device works on")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;

use iolab_memory::SlotPool;

/// Alignment of every buffer allocated here: a multiple of all block sizes in use.
const ALIGNMENT: usize = 4096;
/// The size of a transparent huge page (Documentation/admin-guide/mm/transhuge.rst). Buffers at
/// least this long are aligned to it.
const HUGE_PAGE: usize = 2 << 20;

/// Bytes owned through this buffer. The address of those allocated here is a multiple of 4096.
pub struct Buffer {
    start: NonNull<u8>,
    length: usize,
    memory: Memory,
}

/// Who owns the memory.
enum Memory {
    /// Allocated here.
    Allocated(Layout),
    /// Lent; the lender keeps it valid.
    Lent,
    /// A slot of a pool, which lives until all its slots are dropped.
    Slot(#[expect(dead_code, reason = "kept for the sake of its bytes")] Arc<SlotPool>),
    /// A part of another buffer, which lives until all its parts are dropped.
    Part(#[expect(dead_code, reason = "kept for the sake of its bytes")] Arc<Buffer>),
}

// SAFETY: a buffer is the only way to its bytes, as a vector is to its own.
unsafe impl Send for Buffer {}
// SAFETY: shared references to it allow reading only.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer of `length` zeroes.
    pub fn zeroed(length: usize) -> Buffer {
        // SAFETY: all of it is written before it is returned.
        let buffer = unsafe { Buffer::unwritten(length) };
        // SAFETY: this number of bytes was allocated there.
        unsafe { buffer.start.as_ptr().write_bytes(0, length) };
        buffer
    }

    /// This number of uninitialised bytes.
    ///
    /// # Safety
    /// The buffer must not be read before all of them are written.
    unsafe fn unwritten(length: usize) -> Buffer {
        let alignment = if length >= HUGE_PAGE { HUGE_PAGE } else { ALIGNMENT };
        let layout = length.max(1).checked_next_multiple_of(alignment);
        let layout = layout.and_then(|bytes| Layout::from_size_align(bytes, alignment).ok());
        let Some(layout) = layout else { panic!("no memory for a buffer of {length} bytes") };
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc(layout) };
        // Abort without memory, as the global allocator does everywhere.
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        if alignment == HUGE_PAGE {
            // The kernel finds, pins and releases the pages of each transfer, which is less work
            // with huge pages. This is only advice. SAFETY: the range was allocated just now;
            // advice changes no content (madvise(2)).
            unsafe { libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        Buffer { start, length, memory: Memory::Allocated(layout) }
    }

    /// A copy of `bytes`, padded with zeroes to a multiple of `unit_bytes`.
    pub fn padded(bytes: &[u8], unit_bytes: usize) -> Buffer {
        let length = bytes.len().next_multiple_of(unit_bytes.max(1));
        // SAFETY: all of it is written before it is returned, the bytes and the padding.
        let buffer = unsafe { Buffer::unwritten(length) };
        let start = buffer.start.as_ptr();
        // SAFETY: the length is at least that of the bytes, and new memory overlaps nothing.
        unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        // SAFETY: this number of bytes is left there.
        unsafe { start.add(bytes.len()).write_bytes(0, length - bytes.len()) };
        buffer
    }

    /// A buffer over memory of another owner, so that a device works on it without a copy. The
    /// lender is responsible for its alignment: direct transfers need at least that of the device's
    /// block.
    ///
    /// # Safety
    /// The bytes are initialised and may be read and written. Nothing else accesses them as long as
    /// the buffer exists, which may be until the device that it was given to has been dropped.
    pub unsafe fn lent(start: NonNull<u8>, length: usize) -> Buffer {
        Buffer { start, length, memory: Memory::Lent }
    }

    /// The slots of a pool, each as a buffer. The pool is unmapped when the last of them is
    /// dropped.
    pub fn slots_of(pool: SlotPool) -> impl Iterator<Item = Buffer> {
        let (view, pool) = (pool.view(), Arc::new(pool));
        (0..view.slots()).map_while(move |slot| {
            // The slots do not overlap, and the pool can no longer be reached in another way: its
            // view gives addresses, whose users must prove their own use safe.
            let start = NonNull::new(view.slot_ptr(slot))?;
            Some(Buffer { start, length: view.slot_bytes(), memory: Memory::Slot(Arc::clone(&pool)) })
        })
    }

    /// The address, for a device. The owner of the buffer decides whether writing through it is
    /// allowed.
    pub fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Shortens it to at most `length` bytes; the rest is no longer used.
    pub fn shortened(mut self, length: usize) -> Buffer {
        self.length = self.length.min(length);
        self
    }
}

/// A buffer that is handed out in parts.
#[derive(Debug)]
pub struct Divided {
    whole: Arc<Buffer>,
    taken: usize,
}

impl Divided {
    /// Divides a buffer; no part is taken yet.
    pub fn new(buffer: Buffer) -> Divided {
        Divided { whole: Arc::new(buffer), taken: 0 }
    }

    /// The next `length` bytes, or as many as there are.
    pub fn take(&mut self, length: usize) -> Buffer {
        let (from, length) = (self.taken, length.min(self.whole.length - self.taken));
        self.taken += length;
        // SAFETY: inside the whole, which starts there and is at least this long.
        let start = unsafe { self.whole.start.add(from) };
        // Parts never overlap, and the whole cannot be accessed before they are dropped.
        Buffer { start, length, memory: Memory::Part(Arc::clone(&self.whole)) }
    }

    /// Length of the whole, bytes.
    pub fn len(&self) -> usize {
        self.whole.length
    }

    /// Whether the whole is empty.
    pub fn is_empty(&self) -> bool {
        self.whole.length == 0
    }

    /// The whole again; `None` while a part still exists.
    pub fn rejoin(self) -> Option<Buffer> {
        Arc::into_inner(self.whole)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Memory::Allocated(layout) = self.memory {
            // SAFETY: allocated with this layout when the buffer was made, and freed only here.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: this number of bytes is initialised, here or by the lender's promise, and nothing
        // writes them while the buffer is borrowed: a device that works on a buffer owns it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`; the exclusive borrow excludes readers.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use iolab_memory::Backing;

    use super::*;

    #[test]
    fn buffers_are_aligned_and_exactly_as_long_as_asked() {
        for length in [0, 1, 511, 4096, 4097, 1 << 20, HUGE_PAGE + 1] {
            let buffer = Buffer::zeroed(length);
            assert_eq!(buffer.len(), length);
            assert!(buffer.iter().all(|&byte| byte == 0));
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
        }
        let padded = Buffer::padded(b"abc", 8);
        assert_eq!(&padded[..], b"abc\0\0\0\0\0");
        assert_eq!(&padded.shortened(2)[..], b"ab");
    }

    #[test]
    fn parts_lie_side_by_side_and_make_up_the_whole() {
        let mut divided = Divided::new(Buffer::zeroed(100));
        let mut parts: Vec<Buffer> = [10, 50, 90, 5].into_iter().map(|length| divided.take(length)).collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<usize>>(), [10, 50, 40, 0]);
        parts.iter_mut().zip(1..).for_each(|(part, mark)| part.fill(mark));
        drop(parts);
        let whole = divided.rejoin().unwrap();
        assert!(whole[..10].iter().all(|&byte| byte == 1) && whole[60..].iter().all(|&byte| byte == 3));
        let mut divided = Divided::new(whole);
        let part = divided.take(1);
        assert!(divided.rejoin().is_none(), "a part is somewhere");
        assert_eq!(part[..], [1], "and is good as long as it is");
    }

    #[test]
    fn a_pool_lives_as_long_as_its_slots() {
        let pool = SlotPool::new(3, 5000, 0, &Backing::Anonymous).unwrap();
        let address = pool.view().slot_ptr(2);
        let mut slots: Vec<Buffer> = Buffer::slots_of(pool).collect();
        assert_eq!(slots.iter().map(|slot| slot.len()).collect::<Vec<usize>>(), [5000; 3]);
        slots.iter_mut().zip(1..).for_each(|(slot, mark)| slot.fill(mark));
        let last = slots.pop().unwrap();
        drop(slots);
        assert_eq!(last.address(), address);
        assert!(last.iter().all(|&byte| byte == 3));
    }

    #[test]
    fn lent_bytes_stay_the_lenders() {
        let mut bytes = [7_u8; 100];
        // SAFETY: the array outlives the buffer and is not accessed meanwhile.
        let mut buffer = unsafe { Buffer::lent(NonNull::from(&mut bytes[..]).cast(), 50) };
        buffer.fill(9);
        assert_eq!(buffer.len(), 50);
        drop(buffer);
        assert!(bytes[..50].iter().all(|&byte| byte == 9) && bytes[50..].iter().all(|&byte| byte == 7));
    }
}
