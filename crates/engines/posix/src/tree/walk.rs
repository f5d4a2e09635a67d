//! A walk over all entries of a tree, in the order in which directories list them.
//!
//! Unsafe: directory streams of the C library are raw pointers; each is owned by one [`Listing`].

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr::NonNull;

use crate::tree::calls::last_errno;
use crate::tree::owned::MARK;

/// An open directory stream.
#[derive(Debug)]
pub(super) struct Listing {
    stream: NonNull<libc::DIR>,
}

impl Listing {
    /// Opens the directory at `path`, seen from the directory `from` (`AT_FDCWD`: from the working
    /// folder). Links are not followed. The error is a negative errno.
    pub(super) fn open(from: RawFd, path: &CStr) -> Result<Listing, i32> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: a C string that outlives the call.
        let fd = unsafe { libc::openat(from, path.as_ptr(), flags) };
        if fd < 0 {
            return Err(-last_errno());
        }
        // SAFETY: a descriptor that nobody else has; the stream owns it from now on.
        match NonNull::new(unsafe { libc::fdopendir(fd) }) {
            Some(stream) => Ok(Listing { stream }),
            None => {
                let errno = last_errno();
                // SAFETY: no stream took the descriptor.
                unsafe { libc::close(fd) };
                Err(-errno)
            }
        }
    }

    fn fd(&self) -> RawFd {
        // SAFETY: the stream is open until this is dropped.
        unsafe { libc::dirfd(self.stream.as_ptr()) }
    }

    /// Reads all entries, and returns how many there are.
    pub(super) fn read_all(&mut self) -> Result<u64, i32> {
        let mut count = 0;
        while self.entry()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// The next entry and its type (`DT_…`); neither `.` and `..`, nor the mark of the tree.
    fn entry(&mut self) -> Result<Option<(&CStr, u8)>, i32> {
        loop {
            // SAFETY: errno belongs to this thread.
            unsafe { *libc::__errno_location() = 0 };
            // SAFETY: the stream is open, and only this thread uses it.
            let Some(entry) = NonNull::new(unsafe { libc::readdir(self.stream.as_ptr()) }) else {
                // SAFETY: as above.
                return match unsafe { *libc::__errno_location() } {
                    0 => Ok(None),
                    errno => Err(-errno),
                };
            };
            // SAFETY: the entry stays until the next call on this stream, which needs `&mut self`.
            let (name, kind) = unsafe {
                let entry = entry.as_ptr();
                (CStr::from_ptr((&raw const (*entry).d_name).cast()), (*entry).d_type)
            };
            if !matches!(name.to_bytes(), b"." | b".." | MARK) {
                return Ok(Some((name, kind)));
            }
        }
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        // SAFETY: opened once, closed once.
        unsafe { libc::closedir(self.stream.as_ptr()) };
    }
}

/// A walk, and how far it is.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Directories from the root to where the walk is.
    open: Vec<Listing>,
    /// The number of the entry that comes next.
    position: u64,
    begun: bool,
}

impl Walk {
    /// Looks up the entry with this number below `root`: `false` if there are not so many. Entries
    /// before it are read, but not looked up. The error is a negative errno.
    pub(super) fn look_up(&mut self, root: &CStr, number: u64) -> Result<bool, i32> {
        if !self.begun || number < self.position {
            self.open.clear();
            self.open.push(Listing::open(libc::AT_FDCWD, root)?);
            (self.position, self.begun) = (0, true);
        }
        while let Some(innermost) = self.open.last_mut() {
            let fd = innermost.fd();
            let Some((name, kind)) = innermost.entry()? else {
                self.open.pop();
                continue;
            };
            let is_asked_for = self.position == number;
            self.position += 1;
            let is_directory = match kind {
                libc::DT_UNKNOWN => status(fd, name)?,
                kind if is_asked_for => status(fd, name).map(|_| kind == libc::DT_DIR)?,
                kind => kind == libc::DT_DIR,
            };
            if is_directory {
                let below = Listing::open(fd, name)?;
                self.open.push(below);
            }
            if is_asked_for {
                return Ok(true);
            }
        }
        // A later number is not there either; an earlier one begins again.
        Ok(false)
    }
}

/// `fstatat(2)` without following links: whether it is a directory.
fn status(from: RawFd, name: &CStr) -> Result<bool, i32> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a C string that outlives the call, and a structure to fill.
    if unsafe { libc::fstatat(from, name.as_ptr(), found.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW) } < 0 {
        return Err(-last_errno());
    }
    // SAFETY: the call has succeeded, so it is filled.
    Ok(unsafe { found.assume_init() }.st_mode & libc::S_IFMT == libc::S_IFDIR)
}
