//! Buffers from which the kernel chooses for received bytes (a provided buffer ring).
//!
//! ```text
//! here ── publish ──▶ ring of (address, bytes, number) ── kernel takes one, fills it ──▶ take(number)
//!      ◀────────────────────────── give_back ───────────────────────────────────────── its user
//! ```
//!
//! A buffer belongs either to the kernel or to its user, never to both. Unsafe because the kernel
//! gets addresses, and the ring of entries is shared with it.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use iolab_memory::SharedBytes;

/// The group of all buffers of a ring.
pub(super) const GROUP: u16 = 0;

/// A filled buffer.
pub struct RingBuffer(Box<[u8]>);

impl std::fmt::Debug for RingBuffer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "RingBuffer({} bytes)", self.0.len())
    }
}

impl RingBuffer {
    /// All of its bytes; those after the received ones have no meaning.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// All buffers of a ring.
pub(super) struct Buffers {
    entries: SharedBytes,
    mask: u16,
    tail: u16,
    /// The buffers that the kernel has, by number.
    provided: Vec<Option<NonNull<[u8]>>>,
    /// The numbers of the other buffers.
    vacant: Vec<u16>,
}

// SAFETY: the addresses are those of memory that this structure owns, whichever thread it is in.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Registers `count` buffers with a ring: a power of two, at most 32768.
    pub(super) fn new(ring: &IoUring, count: u16, bytes: usize) -> io::Result<Buffers> {
        let entries = SharedBytes::anonymous((usize::from(count) * size_of::<BufRingEntry>()).next_multiple_of(4096))?;
        // SAFETY: the entries are separate zeroed pages that live as long as the ring: the owner of
        // the ring drops the ring before its buffers, or leaks both.
        unsafe { ring.submitter().register_buf_ring_with_flags(entries.as_ptr() as u64, count, GROUP, 0)? };
        let mut buffers = Buffers {
            entries,
            mask: count - 1,
            tail: 0,
            provided: vec![None; usize::from(count)],
            vacant: (0..count).collect(),
        };
        for _ in 0..count {
            buffers.give_back(RingBuffer(vec![0; bytes].into()));
        }
        Ok(buffers)
    }

    /// Lets the kernel use a buffer again.
    #[inline]
    pub(super) fn give_back(&mut self, buffer: RingBuffer) {
        let Some(number) = self.vacant.pop() else { unreachable!("every buffer has a number") };
        let bytes = buffer.0.len() as u32;
        let raw = NonNull::from(Box::leak(buffer.0));
        self.provided[usize::from(number)] = Some(raw);
        let base = self.entries.as_ptr().cast::<BufRingEntry>();
        // SAFETY: the masked position is one of the entries. The kernel reads an entry only after
        // the tail that is stored below has passed it.
        let entry = unsafe { &mut *base.add(usize::from(self.tail & self.mask)) };
        entry.set_addr(raw.cast::<u8>().as_ptr() as u64);
        entry.set_len(bytes);
        entry.set_bid(number);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is two aligned bytes within the first entry, and the kernel only reads
        // it.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(base).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// Takes the buffer with this number, which the kernel has filled.
    #[inline]
    pub(super) fn take(&mut self, number: u16) -> Option<RingBuffer> {
        let raw = self.provided.get_mut(usize::from(number))?.take()?;
        self.vacant.push(number);
        // SAFETY: `give_back` leaked the buffer, and the kernel has released it with its
        // completion.
        Some(RingBuffer(unsafe { Box::from_raw(raw.as_ptr()) }))
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        for raw in self.provided.iter_mut().filter_map(Option::take) {
            // SAFETY: `give_back` leaked the buffer. When buffers are dropped, no operation is in
            // flight.
            drop(unsafe { Box::from_raw(raw.as_ptr()) });
        }
    }
}
