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
use std::cell::RefCell;
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

/// Memory of dropped buffers, which the thread that dropped them keeps for its next ones.
///
/// A C library gives memory back to the kernel when enough of it is free, and soon takes it again.
/// Without this, a buffer of 32 KiB took 90 µs instead of 1 now and then, in a process of two
/// threads.
struct Spares {
    /// By length, in units of [`ALIGNMENT`], less one.
    rows: [Vec<NonNull<u8>>; MOST_UNITS],
    bytes: usize,
}

/// Buffers up to this many times [`ALIGNMENT`] are kept.
const MOST_UNITS: usize = 32;
/// Most bytes that a thread keeps.
const MOST_SPARE_BYTES: usize = 1 << 20;

thread_local! {
    static SPARES: RefCell<Spares> = const { RefCell::new(Spares { rows: [const { Vec::new() }; MOST_UNITS], bytes: 0 }) };
}

impl Spares {
    /// Memory of this layout.
    fn take(layout: Layout) -> Option<NonNull<u8>> {
        let row = Spares::row_of(layout)?;
        let taken = SPARES.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            let taken = spares.rows[row].pop();
            spares.bytes -= if taken.is_some() { layout.size() } else { 0 };
            taken
        });
        taken.ok().flatten()
    }

    /// Keeps memory that was allocated with this layout; returns false if it has to be freed.
    fn keep(start: NonNull<u8>, layout: Layout) -> bool {
        let Some(row) = Spares::row_of(layout) else { return false };
        let kept = SPARES.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            let has_room = spares.bytes + layout.size() <= MOST_SPARE_BYTES;
            if has_room {
                spares.bytes += layout.size();
                spares.rows[row].push(start);
            }
            has_room
        });
        kept.unwrap_or(false)
    }

    fn row_of(layout: Layout) -> Option<usize> {
        let is_kept = layout.align() == ALIGNMENT && layout.size() <= MOST_UNITS * ALIGNMENT;
        is_kept.then(|| layout.size() / ALIGNMENT - 1)
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        for (row, units) in self.rows.iter_mut().zip(1..) {
            let Ok(layout) = Layout::from_size_align(units * ALIGNMENT, ALIGNMENT) else { continue };
            // SAFETY: allocated with this layout; who kept it does not use it any more.
            row.drain(..).for_each(|start| unsafe { dealloc(start.as_ptr(), layout) });
        }
    }
}

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
        let start = Spares::take(layout).unwrap_or_else(|| {
            // SAFETY: the layout's size is not zero.
            let start = unsafe { alloc(layout) };
            // Abort without memory, as the global allocator does everywhere.
            NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout))
        });
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
        if let Memory::Allocated(layout) = self.memory
            && !Spares::keep(self.start, layout)
        {
            // SAFETY: allocated with this layout when the buffer was made, and freed only here,
            // where it was not kept.
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
    fn memory_of_dropped_buffers_is_used_again_up_to_a_limit() {
        let first = Buffer::padded(&[7; 10_000], 4096);
        let address = first.address();
        drop(first.shortened(100));
        let again = Buffer::zeroed(9_000);
        assert_eq!(again.address(), address, "12 KiB both");
        assert!(again.iter().all(|&byte| byte == 0));
        drop(again);
        // Another length, and then more than is kept.
        assert_ne!(Buffer::zeroed(4_097).address(), address);
        let many: Vec<Buffer> = (0..40).map(|_| Buffer::zeroed(MOST_UNITS * ALIGNMENT)).collect();
        let addresses: Vec<usize> = many.iter().map(|buffer| buffer.address().addr()).collect();
        drop(many);
        let kept = SPARES.with(|spares| spares.borrow().bytes);
        assert!((MOST_SPARE_BYTES / 2..=MOST_SPARE_BYTES).contains(&kept), "{kept} bytes");
        assert!(addresses.contains(&Buffer::zeroed(MOST_UNITS * ALIGNMENT).address().addr()));
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
