//! Mapped files that another program may shorten: an access to a missing page becomes an error.
//!
//! The kernel answers such an access with SIGBUS (mmap(2)), which ends a process. A device that
//! cannot read a page and a full file system cause it as well. Checking the size of the file before
//! each access would not help, because the size may change in between. Therefore, a signal handler
//! maps an empty page in place of the missing one and counts the fault. The access continues with
//! meaningless bytes, and the caller checks the count afterwards:
//!
//! ```text
//! run: is the mapping whole? ── access ── has anything been noted since? ── no ─▶ done
//!          ▲      │ no                        │ yes
//!          │      ▼                           ▼
//!          └─ map the file again ◀────────────┘   at most a few times, then the bytes are lost
//! ```
//!
//! After its first fault, a mapping is checked before each access, and bytes beyond the end of its
//! file are not touched. Every other SIGBUS of the process has its usual effect.
//!
//! Unsafe because it handles a signal and maps pages at addresses of other mappings.

use std::os::fd::RawFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use libc::{c_int, c_void, siginfo_t};

/// How many times an access is tried while pages are missing.
const ATTEMPTS: usize = 3;
const PAGE: usize = 4096;

/// The bytes are lost: the file was shortened, its device cannot read them, or there is no space
/// for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost;

impl std::fmt::Display for Lost {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("part of the mapped file is not accessible: the file was truncated, or its storage failed")
    }
}

impl std::error::Error for Lost {}

/// One watched range. It is never freed, only reused, because a handler may read it at any time.
struct Place {
    start: AtomicUsize,
    end: AtomicUsize,
    /// The number of faults whose handling has begun, and of those whose handling has ended.
    begun: AtomicU64,
    done: AtomicU64,
    is_taken: AtomicBool,
    next: Option<&'static Place>,
}

/// All watched ranges; each is added once and never removed.
static PLACES: AtomicPtr<Place> = AtomicPtr::new(null_mut());
static HANDLER: Once = Once::new();
static EARLIER: OnceLock<libc::sigaction> = OnceLock::new();

fn places() -> impl Iterator<Item = &'static Place> {
    // SAFETY: the pointer is null, or to a place that was leaked.
    let first = unsafe { PLACES.load(Ordering::Acquire).as_ref() };
    std::iter::successors(first, |place| place.next)
}

/// A mapping of a file that is being watched.
#[derive(Debug)]
pub struct FaultWatch {
    place: &'static Place,
    base: NonNull<u8>,
    bytes: usize,
    protection: c_int,
    file: RawFd,
    offset: i64,
    /// The number of faults after which the file was mapped again. It equals the number of all
    /// faults while the mapping is intact.
    mended: AtomicU64,
    mending: Mutex<()>,
}

// SAFETY: these are addresses and numbers; the kernel acts at these addresses, and the thread does
// not matter.
unsafe impl Send for FaultWatch {}
// SAFETY: as above; only atomics change, and mapping again is done under a lock.
unsafe impl Sync for FaultWatch {}

impl std::fmt::Debug for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Place({} faults)", self.begun.load(Ordering::Relaxed))
    }
}

impl FaultWatch {
    /// Watches the `bytes` from `base`, a shared mapping of `file` from `offset` with `protection`.
    ///
    /// # Safety
    /// The mapping and the descriptor exist until the watch is dropped, and no Rust reference into
    /// the mapping exists.
    pub unsafe fn new(base: NonNull<u8>, bytes: usize, protection: c_int, file: RawFd, offset: i64) -> FaultWatch {
        HANDLER.call_once(install);
        let place = take_place();
        let start = base.as_ptr() as usize;
        let begun = place.begun.load(Ordering::Acquire);
        place.start.store(start, Ordering::Release);
        place.end.store(start + bytes.next_multiple_of(PAGE), Ordering::Release);
        let (mended, mending) = (AtomicU64::new(begun), Mutex::new(()));
        FaultWatch { place, base, bytes, protection, file, offset, mended, mending }
    }

    /// Calls `access`, possibly several times. It must touch nothing of the mapping except `bytes`
    /// from `offset`.
    ///
    /// # Errors
    /// Some of these bytes are missing. In this case, the bytes that `access` has read are
    /// meaningless, and those that it wrote are lost.
    #[inline]
    pub fn run<T>(&self, offset: usize, bytes: usize, mut access: impl FnMut() -> T) -> Result<T, Lost> {
        let before = self.place.begun.load(Ordering::Acquire);
        if before == self.mended.load(Ordering::Acquire) && before == 0 {
            let answer = access();
            if self.place.begun.load(Ordering::Acquire) == before {
                return Ok(answer);
            }
        }
        self.run_with_care(offset, bytes, access)
    }

    #[cold]
    fn run_with_care<T>(&self, offset: usize, bytes: usize, mut access: impl FnMut() -> T) -> Result<T, Lost> {
        for _ in 0..ATTEMPTS {
            let before = self.mend()?;
            if !self.reaches(offset, bytes) {
                return Err(Lost);
            }
            let answer = access();
            if self.place.begun.load(Ordering::Acquire) == before {
                return Ok(answer);
            }
        }
        // The empty pages of the last attempt must be removed; others would take them for the
        // content of the file.
        let _ = self.mend();
        Err(Lost)
    }

    /// Whether the file contains these bytes, or has no meaningful size.
    fn reaches(&self, offset: usize, bytes: usize) -> bool {
        let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: fstat fills the structure that is passed to it.
        if unsafe { libc::fstat(self.file, status.as_mut_ptr()) } != 0 {
            return false;
        }
        // SAFETY: fstat succeeded, so it is filled.
        let status = unsafe { status.assume_init() };
        let end = self.offset as i128 + offset as i128 + bytes as i128;
        status.st_mode & libc::S_IFMT != libc::S_IFREG || end <= i128::from(status.st_size)
    }

    /// Maps the file again if pages were replaced. Returns the number of faults so far.
    fn mend(&self) -> Result<u64, Lost> {
        let _alone = self.mending.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let begun = self.place.begun.load(Ordering::Acquire);
            if begun == self.mended.load(Ordering::Acquire) {
                return Ok(begun);
            }
            // A running handler will soon replace a page; it needs the time of one system call.
            if self.place.done.load(Ordering::Acquire) != begun {
                std::thread::yield_now();
                continue;
            }
            let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED;
            // SAFETY: the range is the mapping whose validity the caller of `new` guarantees, and
            // it is replaced by the same bytes of the same file.
            let mapped = unsafe {
                libc::mmap(self.base.as_ptr().cast(), self.bytes, self.protection, flags, self.file, self.offset)
            };
            if mapped == libc::MAP_FAILED {
                return Err(Lost);
            }
            self.mended.store(begun, Ordering::Release);
        }
    }
}

impl Drop for FaultWatch {
    fn drop(&mut self) {
        self.place.end.store(0, Ordering::Release);
        self.place.start.store(0, Ordering::Release);
        self.place.begun.store(0, Ordering::Release);
        self.place.done.store(0, Ordering::Release);
        self.place.is_taken.store(false, Ordering::Release);
    }
}

fn take_place() -> &'static Place {
    let free = places()
        .find(|place| place.is_taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok());
    if let Some(place) = free {
        return place;
    }
    loop {
        let first = PLACES.load(Ordering::Acquire);
        let place = Box::leak(Box::new(Place {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
            is_taken: AtomicBool::new(true),
            // SAFETY: the pointer is null, or to a place that was leaked.
            next: unsafe { first.as_ref() },
        }));
        let mine: *mut Place = place;
        if PLACES.compare_exchange(first, mine, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            // SAFETY: it was leaked just now, and is only shared from here on.
            return unsafe { &*mine };
        }
        // SAFETY: no other thread has seen it.
        drop(unsafe { Box::from_raw(mine) });
    }
}

fn install() {
    // SAFETY: the structure consists of numbers and a function pointer, for which zero bytes are
    // valid. sigaction reads and fills structures of this function. The handler does only what
    // signal-safety(7) allows, and mmap, which is a plain system call.
    unsafe {
        let mut wanted: libc::sigaction = std::mem::zeroed();
        let mut earlier: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_fault;
        wanted.sa_sigaction = handler as usize;
        wanted.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut wanted.sa_mask);
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut earlier) == 0 {
            // It is set once, here.
            let _ = EARLIER.set(earlier);
        }
        libc::sigaction(libc::SIGBUS, &raw const wanted, null_mut());
    }
}

extern "C" fn on_fault(signal: c_int, information: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a structure that is valid during the call (sigaction(2)).
    let address = unsafe { (*information).si_addr() } as usize;
    let within =
        |place: &&Place| (place.start.load(Ordering::Acquire)..place.end.load(Ordering::Acquire)).contains(&address);
    if let Some(place) = places().find(within) {
        place.begun.fetch_add(1, Ordering::AcqRel);
        if replace(address & !(PAGE - 1)) {
            place.done.fetch_add(1, Ordering::AcqRel);
            return;
        }
    }
    pass_on(signal, information, context);
}

/// Maps an empty page at an address within a watched mapping.
fn replace(page: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: errno belongs to the interrupted code, so it is restored. The page belongs to a
    // watched mapping, into which no reference exists. A page of zeroes is as good as any other
    // content that its peer could have left.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let mapped = libc::mmap(page as *mut c_void, PAGE, protection, flags, -1, 0);
        *errno = before;
        mapped != libc::MAP_FAILED
    }
}

/// Does what would have happened without this handler.
fn pass_on(signal: c_int, information: *mut siginfo_t, context: *mut c_void) {
    let earlier = EARLIER.get().map_or(libc::SIG_DFL, |earlier| earlier.sa_sigaction);
    let takes_information = EARLIER.get().is_some_and(|earlier| earlier.sa_flags & libc::SA_SIGINFO != 0);
    // SAFETY: an earlier handler is called as the kernel would call it. Otherwise the default is
    // restored, and the access that faulted faults again when this returns.
    unsafe {
        if earlier == libc::SIG_DFL || earlier == libc::SIG_IGN {
            libc::signal(signal, libc::SIG_DFL);
        } else if takes_information {
            let earlier: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(earlier);
            earlier(signal, information, context);
        } else {
            let earlier: extern "C" fn(c_int) = std::mem::transmute(earlier);
            earlier(signal);
        }
    }
}
