//! Bytes that two parties read and write at the same time: a host and a device, or two processes.
//!
//! A [`SharedBytes`] is a window into one mapping and keeps that mapping alive; cloning and
//! narrowing it are cheap. No Rust reference into the mapping ever exists. Words are moved by
//! atomic loads and stores, and longer pieces by plain copies. A peer that writes during a copy
//! makes the copied bytes arbitrary, but never the program unsound, because the memory contains
//! only plain bytes. The memory orderings of the words give the order between the parties (a
//! doorbell is stored with `Release`, a phase bit is loaded with `Acquire`).
//!
//! Every access is checked against the window and panics outside it, like indexing a slice. If an
//! offset comes from a peer, check it first with [`SharedBytes::window`].
//!
//! Unsafe because it maps memory and copies through raw pointers.

mod pages;
mod sealed;
mod word;
mod words;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::fault_watch::{FaultWatch, Lost};
pub use pages::PageSize;
pub use sealed::is_sealed;
pub use word::SharedWord;

/// What a mapping may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MappingAccess {
    /// Reading only. The caller's own check refuses a write, and after that the processor does.
    Read,
    /// Reading and writing.
    ReadWrite,
}

impl MappingAccess {
    fn protection(self) -> libc::c_int {
        match self {
            MappingAccess::Read => libc::PROT_READ,
            MappingAccess::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        }
    }
}

/// A window into shared memory.
#[derive(Clone)]
pub struct SharedBytes {
    mapping: Arc<Mapping>,
    start: NonNull<u8>,
    bytes: usize,
    /// Equal to `bytes` if they may be written, otherwise 0, so that a write, too, needs only one
    /// comparison.
    writable_bytes: usize,
}

/// One mapping, which is unmapped with its last window.
struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    access: MappingAccess,
    /// Whether the last window unmaps it. Otherwise its owner does so after the last window is
    /// gone.
    owned: bool,
    /// The mapped file and the offset in it, if another process could map it too.
    file: Option<(OwnedFd, u64)>,
    /// Set if others may shorten the file.
    watch: Option<FaultWatch>,
}

// SAFETY: a mapping consists of addresses and a descriptor; it does not matter which thread unmaps
// it.
unsafe impl Send for Mapping {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Mapping {}
// SAFETY: the window is an address that stays mapped as long as the window lives. All access is
// through atomics and copies, for which the thread does not matter.
unsafe impl Send for SharedBytes {}
// SAFETY: as above; there is no state besides the shared bytes.
unsafe impl Sync for SharedBytes {}

impl SharedBytes {
    /// Maps zeroed pages of this process, which the kernel allocates when they are first touched.
    /// They cannot be shared.
    pub fn anonymous(bytes: usize) -> io::Result<SharedBytes> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | pages::UNRESERVED;
        Mapping::make(bytes, flags, MappingAccess::ReadWrite, None)
    }

    /// Maps zeroed pages in a `memfd_create(2)` file, which other processes can map once they have
    /// its descriptor. It is sealed, so that nobody can change its size ([`is_sealed`]).
    pub fn memfd(name: &str, bytes: usize) -> io::Result<SharedBytes> {
        #[cfg(miri)] // has one process, and no such files
        return SharedBytes::anonymous(bytes);
        let name = std::ffi::CString::new(name)?;
        // SAFETY: the name is a C string; the call touches nothing else.
        let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and has no other owner.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        std::fs::File::from(file.try_clone()?).set_len(bytes as u64)?;
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: the call takes numbers and touches no memory.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
            return Err(io::Error::last_os_error());
        }
        SharedBytes::of_file(file, 0, bytes, MappingAccess::ReadWrite)
    }

    /// Maps `bytes` of a file or device from `offset`, which must be a multiple of the page size.
    pub fn of_file(file: OwnedFd, offset: u64, bytes: usize, access: MappingAccess) -> io::Result<SharedBytes> {
        Mapping::make(bytes, libc::MAP_SHARED | pages::UNRESERVED, access, Some((file, offset)))
    }

    /// Like [`SharedBytes::of_file`], for a file that others may shorten, or whose device may fail.
    /// Access its bytes within [`SharedBytes::watched`].
    pub fn of_watched_file(file: OwnedFd, offset: u64, bytes: usize, access: MappingAccess) -> io::Result<SharedBytes> {
        let mut shared = SharedBytes::of_file(file, offset, bytes, access)?;
        if let Some(mapping) = Arc::get_mut(&mut shared.mapping)
            && let Some((file, offset)) = &mapping.file
        {
            // SAFETY: the mapping was just made from this descriptor. Both live as long as the
            // watch, which is dropped before them, and nobody makes references into the mapping.
            let watch = unsafe {
                FaultWatch::new(
                    mapping.base,
                    mapping.bytes,
                    mapping.access.protection(),
                    file.as_raw_fd(),
                    *offset as i64,
                )
            };
            mapping.watch = Some(watch);
        }
        Ok(shared)
    }

    /// Maps `bytes` from `offset` of a file that another process has sent. The descriptor is not
    /// kept.
    ///
    /// # Errors
    /// The sender could shorten the file ([`is_sealed`]), the file is too small, or mmap(2) fails.
    pub fn of_peer(file: BorrowedFd<'_>, offset: u64, bytes: usize, access: MappingAccess) -> io::Result<SharedBytes> {
        sealed::check(file, offset, bytes)?;
        let mut shared = SharedBytes::of_file(file.try_clone_to_owned()?, offset, bytes, access)?;
        if let Some(mapping) = Arc::get_mut(&mut shared.mapping) {
            mapping.file = None;
        }
        Ok(shared)
    }

    /// Calls `access`, possibly several times. It must touch nothing of this mapping except `bytes`
    /// from `offset`.
    ///
    /// # Errors
    /// Some of these bytes are lost. This happens only for [`SharedBytes::of_watched_file`].
    #[inline]
    pub fn watched<T>(&self, offset: usize, bytes: usize, mut access: impl FnMut() -> T) -> Result<T, Lost> {
        match &self.mapping.watch {
            None => Ok(access()),
            Some(watch) => {
                let within = self.start.as_ptr() as usize - self.mapping.base.as_ptr() as usize;
                watch.run(within + offset, bytes, access)
            }
        }
    }

    /// A window into memory that its owner maps and unmaps, backed by `file` if it can be shared.
    ///
    /// # Safety
    /// `bytes` from `base` are mapped for reading and writing until the last clone of the window is
    /// gone, and nobody holds a Rust reference to bytes that are accessed through the window at
    /// that time.
    pub(crate) unsafe fn borrowed(base: NonNull<u8>, bytes: usize, file: Option<OwnedFd>) -> SharedBytes {
        let file = file.map(|file| (file, 0));
        let mapping = Mapping { base, bytes, access: MappingAccess::ReadWrite, owned: false, file, watch: None };
        SharedBytes { mapping: Arc::new(mapping), start: base, bytes, writable_bytes: bytes }
    }

    /// The number of bytes in this window.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether the window is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Whether its bytes may be lost, so that they must be accessed within
    /// [`SharedBytes::watched`].
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.mapping.watch.is_some()
    }

    /// What the mapping may be used for.
    #[inline]
    pub fn access(&self) -> MappingAccess {
        self.mapping.access
    }

    /// The part of `bytes` from `offset`; `None` if it is not within this window.
    #[inline]
    pub fn window(&self, offset: usize, bytes: usize) -> Option<SharedBytes> {
        if offset.checked_add(bytes)? > self.bytes {
            return None;
        }
        let start = NonNull::new(self.start.as_ptr().wrapping_add(offset))?;
        let writable_bytes = if self.access() == MappingAccess::ReadWrite { bytes } else { 0 };
        Some(SharedBytes { mapping: Arc::clone(&self.mapping), start, bytes, writable_bytes })
    }

    /// The address of the first byte, for calls that pass the window to the kernel. It is valid
    /// while a window lives.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The file behind the window, if there is one, and the offset of the window's first byte in
    /// it. Another process needs both to map the same bytes.
    pub fn file(&self) -> Option<(BorrowedFd<'_>, u64)> {
        let (file, offset) = self.mapping.file.as_ref()?;
        let within = self.start.as_ptr() as usize - self.mapping.base.as_ptr() as usize;
        Some((file.as_fd(), offset + within as u64))
    }

    /// The 32-bit word at `offset`, to be loaded only.
    #[inline(always)]
    fn word_u32(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the word is in the mapping, which lives as long as this window. It is aligned,
        // and accessed through atomics while it is shared.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4, 4).cast()) }
    }

    /// The 32-bit word at `offset`, to be stored too.
    #[inline(always)]
    fn word_u32_mut(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: as in word_u32, and it is writable.
        unsafe { AtomicU32::from_ptr(self.at_mut(offset, 4, 4).cast()) }
    }

    /// The `N` 64-bit words from `offset`, to be loaded only.
    #[inline(always)]
    fn words<const N: usize>(&self, offset: usize) -> &[AtomicU64; N] {
        // SAFETY: as in word_u32, for all N words, which are adjacent.
        unsafe { &*self.at(offset, N * 8, 8).cast::<[AtomicU64; N]>() }
    }

    /// The `N` 64-bit words from `offset`, to be stored too.
    #[inline(always)]
    fn words_mut<const N: usize>(&self, offset: usize) -> &[AtomicU64; N] {
        // SAFETY: as in words, and they are writable.
        unsafe { &*self.at_mut(offset, N * 8, 8).cast::<[AtomicU64; N]>() }
    }

    /// Copies from `offset` into `to`.
    #[inline]
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        let from = self.at(offset, to.len(), 1);
        // SAFETY: the source is in the mapping. The target is exclusive memory that cannot overlap
        // it, because no reference into the mapping exists. A peer may write meanwhile: see the
        // head of this file.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
    }

    /// Copies `from` to `offset`.
    #[inline]
    pub fn write(&self, offset: usize, from: &[u8]) {
        let to = self.at_mut(offset, from.len(), 1);
        // SAFETY: as in read, in the other direction.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    }

    /// Copies `bytes` from `offset` to `to_offset` of another window, which may be of the same
    /// memory.
    #[inline]
    pub fn copy_to(&self, offset: usize, to: &SharedBytes, to_offset: usize, bytes: usize) {
        let from = self.at(offset, bytes, 1);
        let target = to.at_mut(to_offset, bytes, 1);
        // SAFETY: both ranges are in their mappings; `copy` allows them to overlap.
        unsafe { std::ptr::copy(from, target, bytes) };
    }

    /// Sets `bytes` from `offset` to `value`; nobody else may use them meanwhile.
    #[inline]
    pub fn fill(&self, offset: usize, bytes: usize, value: u8) {
        let at = self.at_mut(offset, bytes, 1);
        // SAFETY: the range is in the mapping.
        unsafe { std::ptr::write_bytes(at, value, bytes) };
    }

    #[inline(always)]
    fn at(&self, offset: usize, bytes: usize, align: usize) -> *mut u8 {
        self.within(self.bytes, offset, bytes, align)
    }

    #[inline(always)]
    fn at_mut(&self, offset: usize, bytes: usize, align: usize) -> *mut u8 {
        self.within(self.writable_bytes, offset, bytes, align)
    }

    /// The address of `bytes` at `offset`, which must end within the first `limit` bytes of the
    /// window.
    #[inline(always)]
    fn within(&self, limit: usize, offset: usize, bytes: usize, align: usize) -> *mut u8 {
        let at = self.start.as_ptr().wrapping_add(offset);
        // The last offset at which this number of bytes fits. This takes one comparison, and no
        // addition that could overflow.
        match limit.checked_sub(bytes) {
            Some(last) if offset <= last => {}
            _ => self.refuse(offset, bytes, limit),
        }
        if !(at as usize).is_multiple_of(align) {
            misaligned(offset, align);
        }
        at
    }

    /// This is a separate function with arguments by value, so that it costs a valid access
    /// nothing.
    #[cold]
    #[inline(never)]
    fn refuse(&self, offset: usize, bytes: usize, limit: usize) -> ! {
        assert!(limit == self.bytes, "a write to a window that may only be read");
        panic!("{bytes} bytes at {offset} of a window of {}", self.bytes);
    }
}

#[cold]
#[inline(never)]
fn misaligned(offset: usize, align: usize) -> ! {
    panic!("a word at {offset} is not aligned to {align}");
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SharedBytes({} bytes, {:?})", self.bytes, self.mapping.access)
    }
}

impl Mapping {
    fn make(bytes: usize, flags: i32, access: MappingAccess, file: Option<(OwnedFd, u64)>) -> io::Result<SharedBytes> {
        let protection = access.protection();
        let (fd, offset) = file.as_ref().map_or((-1, 0), |(fd, offset)| (fd.as_raw_fd(), *offset));
        let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping at an address that the kernel chooses touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes.max(1), protection, flags, fd, offset) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast::<u8>()).ok_or_else(io::Error::last_os_error)?;
        let mapping = Arc::new(Mapping { base, bytes: bytes.max(1), access, owned: true, file, watch: None });
        let writable_bytes = if access == MappingAccess::ReadWrite { bytes } else { 0 };
        Ok(SharedBytes { mapping, start: base, bytes, writable_bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // The watch ends before unmapping, because another mapping may have these addresses
        // afterwards.
        self.watch = None;
        if self.owned {
            // SAFETY: base and length are those of the mapping made in `make`, which is unmapped
            // once, with the last window.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
        }
    }
}

#[cfg(test)]
mod tests;
