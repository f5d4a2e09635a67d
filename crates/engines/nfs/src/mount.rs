//! A connection to a server: the export mounted, files opened, each step bounded in time. Cold,
//! except for the turns of its socket.
//!
//! Unsafe code: calls of the library with its context, which one thread uses.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_int, c_void};
use std::os::fd::BorrowedFd;

use iolab_c_library::{c_text, copied_text};
use iolab_clock::Clock;
use iolab_engine::OpenError;
use iolab_engine::waiting::poll_for;
use rustix::event::{PollFd, PollFlags};

use crate::library::{Callback, FileFacts, Functions, INSTALL, error_text};
use crate::options::Asked;

/// Mode of files that the engine makes: for the owner to write, for all to read, and marked.
const MADE: c_int = 0o644 | MARK;
/// The mark by which a later job knows a file of iolab: version 3 of NFS has no attributes of
/// users, and the sticky bit has no meaning on regular files.
const MARK: c_int = 0o1000;

/// The answer to the one question that is asked at a time.
#[derive(Debug, Default)]
struct Answer {
    status: Cell<Option<c_int>>,
    handle: Cell<usize>,
    facts: Cell<Option<FileFacts>>,
    text: RefCell<Option<String>>,
}

/// A context with a mounted export.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) functions: Functions,
    pub(crate) context: *mut c_void,
    /// The handle of each file of the job that is open.
    pub(crate) handles: Vec<Option<*mut c_void>>,
    /// Since when it has been silent although it owes answers, as far as anybody looked.
    pub(crate) silent_since_ns: Option<u64>,
    pub(crate) timeout_ns: u64,
    url: String,
    answer: *mut Answer,
    clock: Clock,
}

/// What the server knows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub(crate) size_bytes: u64,
    pub(crate) is_marked: bool,
}

impl Mount {
    /// Connects to the server, and mounts the export.
    ///
    /// # Errors
    /// A missing library, a wrong URL, or what the server says.
    pub(crate) fn open(asked: &Asked, files: usize) -> Result<Mount, OpenError> {
        let functions = *Functions::get().map_err(|error| OpenError {
            message: format!("nfs: {error}; install it with: {INSTALL}"),
            errno: Some(libc::ENOENT),
        })?;
        // SAFETY: a function without arguments.
        let context = unsafe { (functions.nfs_init_context)() };
        let shown = asked.url.split('?').next().unwrap_or_default().to_owned();
        if context.is_null() {
            return Err(OpenError { message: format!("{shown}: no memory"), errno: Some(libc::ENOMEM) });
        }
        let mount = Mount {
            functions,
            context,
            handles: vec![None; files],
            silent_since_ns: None,
            timeout_ns: asked.timeout_ns,
            url: shown,
            answer: Box::into_raw(Box::default()),
            clock: Clock::best().0,
        };
        let wrong = |what| OpenError { message: format!("nfs: {what}"), errno: Some(libc::EINVAL) };
        let text = c_text(&asked.url).map_err(wrong)?;
        // SAFETY: our context and a C string. What it answers is freed below, after its texts have
        // been copied.
        let (server, path) = unsafe {
            let parsed = (functions.nfs_parse_url_dir)(context, text.as_ptr());
            if parsed.is_null() {
                return Err(mount.failed("it cannot be read", libc::EINVAL));
            }
            let texts = (c_copy((*parsed).server), c_copy((*parsed).path));
            (functions.nfs_destroy_url)(parsed);
            // A connection that is lost ends its operations, instead of being tried again.
            (functions.nfs_set_autoreconnect)(context, 0);
            texts
        };
        mount.ask("cannot mount it", |callback, private| {
            // SAFETY: our context and C strings; the answer stays until the context is destroyed.
            unsafe { (functions.nfs_mount_async)(context, server.as_ptr(), path.as_ptr(), callback, private) }
        })?;
        Ok(mount)
    }

    /// What the server knows of a file; `None` if there is none.
    ///
    /// # Errors
    /// What the server says.
    pub(crate) fn look_at(&self, name: &str) -> Result<Option<FoundFile>, OpenError> {
        let path = self.path_of(name)?;
        let asked = self.ask(&format!("cannot look at {name}"), |_, private| {
            // SAFETY: as in `open`.
            unsafe { (self.functions.nfs_stat64_async)(self.context, path.as_ptr(), looked_at, private) }
        });
        match asked {
            Err(error) if error.errno == Some(libc::ENOENT) => return Ok(None),
            other => other?,
        }
        let found =
            |facts: FileFacts| FoundFile { size_bytes: facts.size_bytes, is_marked: facts.mode & MARK as u64 != 0 };
        Ok(self.answer().facts.take().map(found))
    }

    /// Opens a file of the job, for writing if that is possible.
    ///
    /// # Errors
    /// `ENOENT` if it is not there and is not to be made; what the server says.
    pub(crate) fn open_file(&mut self, number: usize, name: &str, make: bool) -> Result<(), OpenError> {
        let path = self.path_of(name)?;
        let ways = match make {
            true => [libc::O_RDWR | libc::O_CREAT, libc::O_RDWR],
            false => [libc::O_RDWR, libc::O_RDONLY],
        };
        let open = |flags| {
            self.ask(&format!("cannot open {name}"), |callback, private| {
                // SAFETY: as in `open`.
                unsafe { (self.functions.nfs_open2_async)(self.context, path.as_ptr(), flags, MADE, callback, private) }
            })
        };
        match open(ways[0]) {
            Err(error) if matches!(error.errno, Some(libc::EACCES | libc::EROFS | libc::EPERM)) => {
                // The first error is the one that tells why.
                open(ways[1]).map_err(|_| error)?;
            }
            other => other?,
        }
        let handle = self.answer().handle.take() as *mut c_void;
        self.handles[number] = Some(handle);
        Ok(())
    }

    fn path_of(&self, name: &str) -> Result<CString, OpenError> {
        let wrong = |what| OpenError { message: format!("nfs: {what}"), errno: Some(libc::EINVAL) };
        c_text(&format!("/{}", name.trim_start_matches('/'))).map_err(wrong)
    }

    fn answer(&self) -> &Answer {
        // SAFETY: made in `open`, freed in `drop`, used only by shared references.
        unsafe { &*self.answer }
    }

    fn failed(&self, what: &str, errno: i32) -> OpenError {
        let why = error_text(&self.functions, self.context);
        OpenError { message: format!("{}: {what}: {why}", self.url), errno: Some(errno) }
    }

    /// Asks one question, and waits for its answer.
    fn ask(&self, what: &str, start: impl FnOnce(Callback, *mut c_void) -> c_int) -> Result<(), OpenError> {
        let answer = self.answer();
        answer.status.set(None);
        if start(answered, self.answer.cast()) != 0 {
            return Err(self.failed(what, libc::EIO));
        }
        let mut end_ns = self.clock.now_ns().saturating_add(self.timeout_ns);
        loop {
            if let Some(status) = answer.status.get() {
                return match status {
                    0.. => Ok(()),
                    _ => {
                        let why = answer.text.take().unwrap_or_else(|| error_text(&self.functions, self.context));
                        Err(OpenError { message: format!("{}: {what}: {why}", self.url), errno: Some(-status) })
                    }
                };
            }
            let now_ns = self.clock.now_ns();
            if now_ns >= end_ns {
                let message = format!("{}: {what}: the server has been silent for too long", self.url);
                return Err(OpenError { message, errno: Some(libc::ETIMEDOUT) });
            }
            match self.turn(end_ns - now_ns) {
                Ok(true) => {}
                Ok(false) => end_ns = end_ns.min(self.clock.now_ns().saturating_add(self.timeout_ns)),
                Err(errno) if answer.status.get().is_none() => return Err(self.failed(what, errno)),
                Err(_) => {}
            }
        }
    }

    /// Its socket and what it waits for; `None` if it is closed.
    pub(crate) fn waits_for(&self) -> Option<PollFd<'_>> {
        // SAFETY: our context, whose descriptor stays open until its next call.
        unsafe {
            let fd = (self.functions.nfs_get_fd)(self.context);
            let events = PollFlags::from_bits_truncate((self.functions.nfs_which_events)(self.context) as u16);
            (fd >= 0).then(|| PollFd::from_borrowed_fd(BorrowedFd::borrow_raw(fd), events))
        }
    }

    /// Whether the library has something to send.
    pub(crate) fn has_unsent(&self) -> bool {
        // SAFETY: our context.
        let events = unsafe { (self.functions.nfs_which_events)(self.context) };
        events & i32::from(libc::POLLOUT) != 0
    }

    /// Lets the library work on what its socket is ready for.
    ///
    /// # Errors
    /// The errno with which the connection is lost.
    pub(crate) fn serve(&self, ready: PollFlags) -> Result<(), i32> {
        // SAFETY: our context; its callbacks use shared references only.
        let status = unsafe { (self.functions.nfs_service)(self.context, i32::from(ready.bits())) };
        if status < 0 { Err(libc::ECONNRESET) } else { Ok(()) }
    }

    /// Waits for the socket, at most for so long, and lets the library work. Returns whether it was
    /// ready.
    fn turn(&self, timeout_ns: u64) -> Result<bool, i32> {
        let Some(place) = self.waits_for() else { return Err(libc::ECONNREFUSED) };
        let mut list = [place];
        if !poll_for(&mut list, timeout_ns).map_err(|error| error.errno)? {
            return Ok(false);
        }
        let ready = list[0].revents();
        self.serve(ready)?;
        Ok(true)
    }

    /// Why it is lost, for people.
    pub(crate) fn note(&self, why: &str) -> String {
        format!("{}: the connection is gone: {why}", self.url)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // SAFETY: the context is used for the last time; it calls back for what it still has, which
        // needs the answer, so that one goes afterwards.
        unsafe {
            (self.functions.nfs_destroy_context)(self.context);
            drop(Box::from_raw(self.answer));
        }
    }
}

/// A copy of a C string, empty for none.
///
/// # Safety
/// It is null, or a C string.
unsafe fn c_copy(text: *const std::ffi::c_char) -> CString {
    // SAFETY: the caller's promise.
    if text.is_null() { CString::default() } else { unsafe { CStr::from_ptr(text) }.to_owned() }
}

/// Takes the facts about a file.
///
/// # Safety
/// As for [`answered`]; the data are facts (`struct nfs_stat_64`).
unsafe extern "C" fn looked_at(status: c_int, context: *mut c_void, data: *mut c_void, private: *mut c_void) {
    if status >= 0 && !data.is_null() {
        // SAFETY: the caller's promise.
        unsafe { (*private.cast::<Answer>()).facts.set(Some(*data.cast::<FileFacts>())) };
    }
    // SAFETY: the caller's promise.
    unsafe { answered(status, context, data, private) }
}

/// Takes the answer to a question.
///
/// # Safety
/// `private` is the answer of a mount; the data are what libnfs.h says of the question: nothing, a
/// handle, or, with a negative status, a text.
unsafe extern "C" fn answered(status: c_int, _: *mut c_void, data: *mut c_void, private: *mut c_void) {
    // SAFETY: the caller's promise.
    let answer = unsafe { &*private.cast::<Answer>() };
    if status < 0 {
        // SAFETY: as above.
        answer.text.replace(unsafe { copied_text(data.cast()) });
    } else {
        answer.handle.set(data as usize);
    }
    answer.status.set(Some(status));
}
