//! The pages behind a window: their size, allocating and freeing them, and prefetching.
//!
//! Unsafe because it gives the kernel and the processor advice about addresses.

use std::io;

use super::SharedBytes;

/// Pages are allocated when they are touched; Miri does not know the flag.
pub(super) const UNRESERVED: i32 = if cfg!(miri) { 0 } else { libc::MAP_NORESERVE };

/// Which pages the memory consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSize {
    /// The system's default.
    Default,
    /// Small pages, which use the least memory for scattered writes.
    Small,
    /// Transparent huge pages if the kernel has them, which cause the fewest page faults and TLB
    /// misses.
    HugeIfPossible,
    /// Transparent huge pages, or an error if the kernel has none.
    Huge,
}

impl SharedBytes {
    /// Maps zeroed pages of this process like [`SharedBytes::anonymous`], of the size that `pages`
    /// requests.
    ///
    /// The first write to a huge page allocates all of it, so scattered writes cost up to the size
    /// of a huge page each. After [`SharedBytes::discard`], a part of a huge page reads as zeroes
    /// at once, and the kernel frees it when it needs memory.
    ///
    /// # Errors
    /// There is no room for the mapping, or huge pages are required and the kernel has none
    /// (madvise(2), `MADV_HUGEPAGE`).
    pub fn anonymous_of(bytes: usize, pages: PageSize) -> io::Result<SharedBytes> {
        let advice = match pages {
            PageSize::Default => return SharedBytes::anonymous(bytes),
            PageSize::Small => libc::MADV_NOHUGEPAGE,
            PageSize::Huge | PageSize::HugeIfPossible => libc::MADV_HUGEPAGE,
        };
        // The kernel aligns a mapping of this size to huge pages if it can; an incomplete huge page
        // at either end consists of small pages.
        let memory = SharedBytes::anonymous(bytes)?;
        // SAFETY: the range is the whole of a new mapping; the advice changes its pages, never its
        // content.
        let refused = unsafe { libc::madvise(memory.start.as_ptr().cast(), memory.mapping.bytes, advice) } != 0;
        if refused && pages == PageSize::Huge {
            return Err(io::Error::last_os_error());
        }
        Ok(memory)
    }

    /// Allocates all pages of the window now and keeps their content, so that no later access waits
    /// for a page (madvise(2), `MADV_POPULATE_WRITE`).
    ///
    /// # Errors
    /// The kernel has too little memory, or does not know the call (before Linux 5.14).
    pub fn populate(&self) -> io::Result<()> {
        let start = self.at_mut(0, self.bytes, 1);
        let before = start as usize % 4096;
        let first = start.wrapping_sub(before).cast();
        // SAFETY: the range is the pages of this window, which stay mapped and keep their content.
        if unsafe { libc::madvise(first, before + self.bytes, libc::MADV_POPULATE_WRITE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Asks the processor to prefetch `bytes` from `offset`, as far as they are within the window.
    /// This is a hint: it changes nothing and does not wait.
    #[inline]
    pub fn prefetch(&self, offset: usize, bytes: usize) {
        const LINE: usize = 64;
        let end = offset.saturating_add(bytes).min(self.bytes);
        for at in (offset..end).step_by(LINE) {
            let at = self.start.as_ptr().wrapping_add(at);
            #[cfg(target_arch = "x86_64")]
            // SAFETY: prefetching has no effect that a program can see, even at an address that is
            // not mapped.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = at;
        }
    }

    /// Zeroes `bytes` from `offset`, and returns the whole pages among them to the kernel if it
    /// accepts them.
    pub fn discard(&self, offset: usize, bytes: usize) {
        const PAGE: usize = 4096;
        let start = self.at_mut(offset, bytes, 1) as usize;
        let (first, last) = (start.next_multiple_of(PAGE), (start + bytes) / PAGE * PAGE);
        let advice = if self.mapping.file.is_some() { libc::MADV_REMOVE } else { libc::MADV_DONTNEED };
        // SAFETY: these are whole pages of this mapping; both kinds of advice leave them mapped and
        // reading as zeroes.
        let given = last > first && unsafe { libc::madvise(first as *mut libc::c_void, last - first, advice) } == 0;
        if given {
            self.fill(offset, first - start, 0);
            self.fill(offset + (last - start), start + bytes - last, 0);
        } else {
            self.fill(offset, bytes, 0);
        }
    }
}
