//! One file and the part of it that is mapped.
//!
//! ```text
//! file     |----------------|----------------|------|
//! window                    |================|          one aligned piece of `window_bytes`, or the whole file
//! ```
//!
//! Bytes of a shared mapping may change under a reader when another process writes the file: a copy
//! is then a mix of old and new, as with `read(2)` across pages.
//!
//! The mapping is watched ([`FaultWatch`]): a copy from or to a part that was truncated, or that
//! its device cannot deliver, is an error of the operation.
//!
//! Unsafe: it maps, unmaps and copies from and to mappings; bounds are checked against the window
//! before each copy.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::NonNull;

use iolab_engine::TargetFile;
use iolab_engine::file_calls::{FileTarget, fdatasync, fsync, reopen_for_writing, retry};
use iolab_memory::{FaultWatch, Lost};

/// Files up to this size are mapped whole, larger ones this much at a time, bytes; a power of two.
pub(crate) const WINDOW_BYTES: u64 = 1 << 30;

/// Which way a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    FileToSlot,
    SlotToFile,
}

/// How the files of a lane are mapped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MappingPlan {
    pub(crate) window_bytes: u64,
    pub(crate) huge_pages: bool,
    pub(crate) page_bytes: u64,
}

/// Size of a page, bytes: the alignment of addresses for `msync(2)` and `madvise(2)`.
pub(crate) fn page_bytes() -> u64 {
    // SAFETY: sysconf takes a number and writes nothing.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// A file of the job, mapped.
#[derive(Debug)]
pub(crate) struct MappedFile {
    target: FileTarget,
    /// Keeps the descriptor in `target` open if the runner's own could not be mapped.
    _reopened: Option<File>,
    readable: bool,
    writable: bool,
    size: u64,
    plan: MappingPlan,
    window: Option<Window>,
}

#[derive(Debug)]
struct Window {
    watch: Option<FaultWatch>,
    base: NonNull<u8>,
    start: u64,
    length: usize,
}

// SAFETY: a window is owned by one file of one lane, which uses it from whichever thread owns the
// lane.
unsafe impl Send for Window {}

impl Drop for Window {
    fn drop(&mut self) {
        // Before the mapping is removed: its addresses may be reused then.
        self.watch = None;
        // SAFETY: address and length of the mapping made in `map`, unmapped once.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

impl MappedFile {
    /// Maps the file, or its first window.
    pub(crate) fn open(file: &TargetFile, plan: MappingPlan) -> io::Result<MappedFile> {
        let mode = access_mode(file.fd)?;
        // A shared mapping always needs read access (mmap(2), EACCES).
        let reopened = if mode == libc::O_WRONLY { reopen_for_writing(file.fd)? } else { None };
        let fd = reopened.as_ref().map_or(file.fd, AsRawFd::as_raw_fd);
        let size = if file.is_block_device { file.size_bytes } else { length_of(fd)? };
        let mut mapped = MappedFile {
            target: FileTarget::new(fd, file.is_block_device),
            _reopened: reopened,
            readable: mode != libc::O_WRONLY,
            writable: mode != libc::O_RDONLY,
            size,
            plan,
            window: None,
        };
        if size > 0 {
            mapped.move_window(0).map_err(io::Error::from_raw_os_error)?;
            mapped.advise_huge_pages()?;
        }
        Ok(mapped)
    }

    /// The descriptor and kind, for calls that bypass the mapping.
    pub(crate) fn target(&self) -> FileTarget {
        self.target
    }

    /// Copies between `length` bytes at `slot` and the file at `offset`: bytes moved or a negative
    /// errno.
    ///
    /// # Safety
    /// `length` bytes from `slot` are readable and writable and nobody else's during the call.
    #[inline]
    pub(crate) unsafe fn copy(&mut self, way: Way, slot: *mut u8, length: usize, offset: u64) -> i32 {
        let allowed = if way == Way::FileToSlot { self.readable } else { self.writable };
        if !allowed {
            return -libc::EBADF;
        }
        let wanted = self.size.saturating_sub(offset).min(length as u64) as usize;
        if wanted == 0 && length > 0 {
            return if way == Way::FileToSlot { 0 } else { -libc::ENOSPC };
        }
        let mut done = 0;
        while done < wanted {
            let (mapped, room) = match self.at(offset + done as u64) {
                Ok(place) => place,
                Err(errno) if done == 0 => return -errno,
                Err(_) => break,
            };
            let piece = room.min(wanted - done);
            let in_slot = slot.wrapping_add(done);
            // SAFETY: `piece` bytes from `mapped` are within the window and before the end that the
            // file had; as many from `in_slot` are the caller's promise. A slot is never part of a
            // mapping of the job's files.
            let copy = || unsafe {
                match way {
                    Way::FileToSlot => std::ptr::copy_nonoverlapping(mapped, in_slot, piece),
                    Way::SlotToFile => std::ptr::copy_nonoverlapping(in_slot, mapped, piece),
                }
            };
            match self.watched(mapped, piece, copy) {
                Ok(()) => done += piece,
                Err(Lost) if done == 0 => return -libc::EIO,
                Err(Lost) => break,
            }
        }
        i32::try_from(done).unwrap_or(i32::MAX)
    }

    /// Does a copy from or to `bytes` at an address in the window.
    #[inline]
    fn watched(&self, at: *const u8, bytes: usize, copy: impl FnMut()) -> Result<(), Lost> {
        let Some(Window { watch: Some(watch), base, .. }) = &self.window else { return Err(Lost) };
        watch.run(at as usize - base.as_ptr() as usize, bytes, copy)
    }

    /// Makes written data durable. 0 or a negative errno.
    pub(crate) fn sync(&self, data_only: bool) -> i32 {
        let written = match &self.window {
            Some(window) => write_out(window.base.as_ptr(), window.length),
            None => 0,
        };
        let windowed = self.window.as_ref().is_none_or(|window| (window.length as u64) < self.size);
        match (written, windowed) {
            // Pages of previous windows are dirty only in the page cache: msync no longer sees
            // them.
            (0, true) if data_only => fdatasync(self.target.fd),
            (0, true) => fsync(self.target.fd),
            _ => written,
        }
    }

    /// Writes the pages of a range out and drops them, as a substitute for `O_DIRECT`. 0 or a
    /// negative errno.
    pub(crate) fn leave_no_pages(&self, way: Way, offset: u64, length: usize) -> i32 {
        let end = offset.saturating_add(length as u64).min(self.size);
        if let Some(window) = &self.window {
            let from = (offset & !(self.plan.page_bytes - 1)).max(window.start);
            let to = end.min(window.start + window.length as u64);
            if from < to {
                let (address, bytes) = (window.base.as_ptr().wrapping_add((from - window.start) as usize), to - from);
                let written = if way == Way::SlotToFile { write_out(address, bytes as usize) } else { 0 };
                if written < 0 {
                    return written;
                }
                // SAFETY: a page-aligned range within the window; for a shared file mapping this
                // forgets page table entries only, the data being in the page cache. That it may
                // fail is no matter: it is advice.
                unsafe { libc::madvise(address.cast(), bytes as usize, libc::MADV_DONTNEED) };
            }
        }
        // SAFETY: takes numbers only. Advice, too.
        unsafe {
            libc::posix_fadvise(self.target.fd, offset as libc::off_t, length as libc::off_t, libc::POSIX_FADV_DONTNEED)
        };
        0
    }

    /// The mapped address of `offset`, and how many bytes of the window follow. Moves the window if
    /// necessary.
    #[inline]
    fn at(&mut self, offset: u64) -> Result<(*mut u8, usize), i32> {
        loop {
            if let Some(window) = &self.window {
                let within = offset.wrapping_sub(window.start);
                if within < window.length as u64 {
                    return Ok((window.base.as_ptr().wrapping_add(within as usize), window.length - within as usize));
                }
            }
            self.move_window(offset)?;
        }
    }

    /// Maps the window around `offset`, which lies before the end of the file. `Err` is an errno.
    #[cold]
    fn move_window(&mut self, offset: u64) -> Result<(), i32> {
        self.window = None;
        let start = if self.size <= self.plan.window_bytes { 0 } else { offset & !(self.plan.window_bytes - 1) };
        let length = (self.size - start).min(self.plan.window_bytes) as usize;
        let protection = if self.writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a fresh mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe {
            let (nowhere, start) = (std::ptr::null_mut(), start as libc::off_t);
            libc::mmap(nowhere, length, protection, libc::MAP_SHARED, self.target.fd, start)
        };
        let base = if address == libc::MAP_FAILED { None } else { NonNull::new(address.cast()) };
        let Some(base) = base else {
            return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOMEM));
        };
        // SAFETY: the mapping lives as long as the window, whose drop ends the watch first; the
        // descriptor is the runner's or `_reopened`, and outlives both. There are no references
        // into the mapping.
        let watch = unsafe { FaultWatch::new(base, length, protection, self.target.fd, start as i64) };
        self.window = Some(Window { watch: Some(watch), base, start, length });
        if self.size > self.plan.window_bytes {
            // The first window has shown whether the advice is understood.
            let _ = self.advise_huge_pages();
        }
        Ok(())
    }

    fn advise_huge_pages(&self) -> io::Result<()> {
        let Some(window) = self.window.as_ref().filter(|_| self.plan.huge_pages) else { return Ok(()) };
        // SAFETY: advice on a mapping of our own; it changes no contents.
        let answer = unsafe { libc::madvise(window.base.as_ptr().cast(), window.length, libc::MADV_HUGEPAGE) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// `msync(MS_SYNC)` of a page-aligned range of a mapping. 0 or a negative errno.
fn write_out(address: *mut u8, bytes: usize) -> i32 {
    // SAFETY: callers name a range of a live mapping; msync changes no memory.
    retry(|| unsafe { libc::msync(address.cast(), bytes, libc::MS_SYNC) } as isize)
}

/// `O_RDONLY`, `O_WRONLY` or `O_RDWR`.
fn access_mode(fd: RawFd) -> io::Result<i32> {
    // SAFETY: F_GETFL takes a number and writes nothing.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    if flags < 0 { Err(io::Error::last_os_error()) } else { Ok(flags & libc::O_ACCMODE) }
}

/// The length a file has now, which may differ from what the job laid out.
fn length_of(fd: RawFd) -> io::Result<u64> {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat fills the structure it is given the address of.
    if unsafe { libc::fstat(fd, status.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fstat succeeded, so it is filled.
    Ok(unsafe { status.assume_init() }.st_size.max(0) as u64)
}
