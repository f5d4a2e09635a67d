//! The pages behind a window: their size, when they are taken and given back, and bringing them
//! near.
//!
//! Unsafe because it advises the kernel and the processor about addresses.

use std::io;

use super::SharedBytes;

/// Pages are taken as they are touched; Miri knows no such flag.
pub(super) const UNRESERVED: i32 = if cfg!(miri) { 0 } else { libc::MAP_NORESERVE };

/// What pages memory is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSize {
    /// As the system is set up.
    Default,
    /// Small ones: the least memory for what is written here and there.
    Small,
    /// Transparent huge pages where the kernel has them: the fewest faults and look-ups.
    HugeIfPossible,
    /// Transparent huge pages, or an error where the kernel has none.
    Huge,
}

impl SharedBytes {
    /// Zeroed pages of this process as [`SharedBytes::anonymous`] makes them, of the size that
    /// `pages` asks for.
    ///
    /// A huge page is taken whole with its first byte: memory that is written here and there costs
    /// up to the size of a huge page for each place. [`SharedBytes::discard`] makes parts of one
    /// read as zeroes at once, and the kernel takes them back when it needs memory.
    ///
    /// # Errors
    /// When there is no room for the mapping, or huge pages are demanded and the kernel has none to
    /// give (madvise(2), `MADV_HUGEPAGE`).
    pub fn anonymous_of(bytes: usize, pages: PageSize) -> io::Result<SharedBytes> {
        let advice = match pages {
            PageSize::Default => return SharedBytes::anonymous(bytes),
            PageSize::Small => libc::MADV_NOHUGEPAGE,
            PageSize::Huge | PageSize::HugeIfPossible => libc::MADV_HUGEPAGE,
        };
        // The kernel places a mapping of this size at a multiple of it where it can; a huge page at
        // either end that is not whole is made of small ones.
        let memory = SharedBytes::anonymous(bytes)?;
        // SAFETY: the whole of a mapping just made; the advice changes what it is made of, never
        // what it holds.
        let refused = unsafe { libc::madvise(memory.start.as_ptr().cast(), memory.mapping.bytes, advice) } != 0;
        if refused && pages == PageSize::Huge {
            return Err(io::Error::last_os_error());
        }
        Ok(memory)
    }

    /// Takes all pages of the window now, written and zeroed as they were, so that no later access
    /// waits for one (madvise(2), `MADV_POPULATE_WRITE`).
    ///
    /// # Errors
    /// When the kernel has not enough memory, or does not know the call (before Linux 5.14).
    pub fn populate(&self) -> io::Result<()> {
        let start = self.at_mut(0, self.bytes, 1);
        let before = start as usize % 4096;
        let first = start.wrapping_sub(before).cast();
        // SAFETY: the pages of this window, which stay mapped and keep what they hold.
        if unsafe { libc::madvise(first, before + self.bytes, libc::MADV_POPULATE_WRITE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Asks the processor to bring `bytes` from `offset` near, as far as they are within the
    /// window. A hint: it changes nothing, and waits for nothing.
    #[inline]
    pub fn prefetch(&self, offset: usize, bytes: usize) {
        const LINE: usize = 64;
        let end = offset.saturating_add(bytes).min(self.bytes);
        for at in (offset..end).step_by(LINE) {
            let at = self.start.as_ptr().wrapping_add(at);
            #[cfg(target_arch = "x86_64")]
            // SAFETY: prefetching has no effect that a program can see, not even at an address that
            // is not mapped.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = at;
        }
    }

    /// Zeroes `bytes` from `offset` and gives the whole pages among them back to the kernel where
    /// it takes them.
    pub fn discard(&self, offset: usize, bytes: usize) {
        const PAGE: usize = 4096;
        let start = self.at_mut(offset, bytes, 1) as usize;
        let (first, last) = (start.next_multiple_of(PAGE), (start + bytes) / PAGE * PAGE);
        let advice = if self.mapping.file.is_some() { libc::MADV_REMOVE } else { libc::MADV_DONTNEED };
        // SAFETY: whole pages of this mapping; both kinds of advice leave them mapped and reading
        // as zeroes.
        let given = last > first && unsafe { libc::madvise(first as *mut libc::c_void, last - first, advice) } == 0;
        if given {
            self.fill(offset, first - start, 0);
            self.fill(offset + (last - start), start + bytes - last, 0);
        } else {
            self.fill(offset, bytes, 0);
        }
    }
}
