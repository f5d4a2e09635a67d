//! A client of a volume, and files open on it. Cold.
//!
//! Unsafe code: calls of the library with the handles that it gave, each freed once.

use std::ffi::{CString, c_int, c_void};
use std::io;
use std::path::{Path, PathBuf};

use iolab_engine::{LaneRequest, OpenError};
use iolab_options::Settings;

use crate::library::{Functions, INSTALL};
use crate::options::Asked;

/// The mark by which a later job knows a file of iolab: the sticky bit has no meaning on regular
/// files.
const MARK: libc::mode_t = 0o1000;
/// Mode of files that the engines make.
const MADE: libc::mode_t = 0o644 | MARK;

/// A client.
#[derive(Debug)]
pub(crate) struct Volume {
    pub(crate) functions: &'static Functions,
    handle: *mut c_void,
    name: String,
}

// SAFETY: the library allows its handles to be used by any thread.
unsafe impl Send for Volume {}

impl Volume {
    /// Connects to the volume of the options.
    ///
    /// # Errors
    /// A missing library, or what the servers say.
    pub(crate) fn open(options: &Settings) -> Result<Volume, OpenError> {
        let asked = Asked::of(options).map_err(|what| wrong(&what))?;
        let functions = Functions::get().map_err(|error| OpenError {
            message: format!("gfapi: {error}; install it with: {INSTALL}"),
            errno: Some(libc::ENOENT),
        })?;
        let (name, host) = (c_text(&asked.volume)?, c_text(&asked.host)?);
        // SAFETY: a C string.
        let handle = unsafe { (functions.glfs_new)(name.as_ptr()) };
        if handle.is_null() {
            return Err(last(&format!("volume {}", asked.volume)));
        }
        let volume = Volume { functions, handle, name: asked.volume };
        // SAFETY: a client that is not connected yet, and C strings. Errors are told by errno.
        let status = unsafe {
            (functions.glfs_set_logging)(handle, c"/dev/null".as_ptr(), 0);
            match (functions.glfs_set_volfile_server)(handle, c"tcp".as_ptr(), host.as_ptr(), c_int::from(asked.port)) {
                0 => (functions.glfs_init)(handle),
                failed => failed,
            }
        };
        if status != 0 {
            return Err(last(&format!("volume {} of {}:{}", volume.name, asked.host, asked.port)));
        }
        Ok(volume)
    }

    /// What is known of a file; `None` if it is not there.
    fn look_at(&self, path: &CString) -> Result<Option<libc::stat>, OpenError> {
        // SAFETY: all zeroes are a value of this structure of numbers.
        let mut facts: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: a connected client, a C string, and a structure of ours.
        match unsafe { (self.functions.glfs_stat)(self.handle, path.as_ptr(), &mut facts) } {
            0 => Ok(Some(facts)),
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::ENOENT) => Ok(None),
            _ => Err(last(&format!("{} of volume {}", path.to_string_lossy(), self.name))),
        }
    }

    /// Opens a file, which is made if it is not there. One that iolab made gets the size that the
    /// job needs. Returns whether its end is a hole now.
    fn open_file(&self, path: &CString, bytes: u64) -> Result<(*mut c_void, bool), OpenError> {
        let what = || format!("{} of volume {}", path.to_string_lossy(), self.name);
        let functions = self.functions;
        let found = self.look_at(path)?;
        // SAFETY: a connected client and a C string.
        let handle = unsafe {
            match found {
                Some(_) => (functions.glfs_open)(self.handle, path.as_ptr(), libc::O_RDWR),
                None => (functions.glfs_creat)(self.handle, path.as_ptr(), libc::O_RDWR | libc::O_EXCL, MADE),
            }
        };
        if handle.is_null() {
            return Err(last(&what()));
        }
        let is_short = found.is_none_or(|facts| facts.st_mode & MARK != 0 && (facts.st_size as u64) < bytes);
        if !is_short || bytes == 0 {
            return Ok((handle, false));
        }
        let (bytes, none) = (bytes.min(i64::MAX as u64) as i64, std::ptr::null_mut());
        // SAFETY: an open file; null stands for facts that nobody wants. It is closed where it is
        // of no use.
        unsafe {
            if (functions.glfs_ftruncate)(handle, bytes, none, none) != 0 {
                let error = last(&what());
                (functions.glfs_close)(handle);
                return Err(error);
            }
        }
        Ok((handle, true))
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // SAFETY: a handle of glfs_new, which is used for the last time.
        unsafe { (self.functions.glfs_fini)(self.handle) };
    }
}

/// The files of a job on a volume.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) handles: Box<[*mut c_void]>,
    pub(crate) volume: Volume,
    pub(crate) notes: Vec<String>,
}

// SAFETY: as for `Volume`.
unsafe impl Send for Opened {}

impl Opened {
    pub(crate) fn of(request: &LaneRequest<'_>) -> Result<Opened, OpenError> {
        let volume = Volume::open(request.options)?;
        let mut opened = Opened { handles: Box::new([]), volume, notes: Vec::new() };
        let (mut handles, mut holes) = (Vec::new(), 0);
        for target in request.files {
            let path = c_text(&target.path.to_string_lossy());
            match path.and_then(|path| opened.volume.open_file(&path, target.size_bytes)) {
                Ok((handle, is_hole)) => {
                    handles.push(handle);
                    holes += usize::from(is_hole);
                }
                Err(error) => {
                    // Those that are open are closed.
                    opened.handles = handles.into();
                    return Err(error);
                }
            }
        }
        opened.handles = handles.into();
        if holes > 0 {
            let all = request.files.len();
            let what = "were made longer for this job: a read before the first write finds a hole.";
            opened.notes.push(format!("{holes} of {all} files {what}"));
        }
        Ok(opened)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        for handle in &self.handles {
            // SAFETY: an open file of the volume, which is used for the last time.
            unsafe { (self.volume.functions.glfs_close)(*handle) };
        }
    }
}

/// Why a job must not write to the file of this name; `None` if it may, or if the servers cannot be
/// asked, which the job's own opening will tell.
pub(crate) fn refusal(name: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
    if allowed.iter().any(|path| path == name) {
        return None;
    }
    let path = c_text(&name.to_string_lossy()).ok()?;
    let volume = Volume::open(options).ok()?;
    let (found, volume_name) = (volume.look_at(&path), volume.name.clone());
    // The library takes seconds to end a client. This one has written nothing, so nobody waits.
    std::thread::spawn(move || drop(volume));
    let facts = found.ok()??;
    if facts.st_size == 0 || facts.st_mode & MARK != 0 {
        return None;
    }
    let name = name.display();
    Some(format!(
        "{name} of volume {} holds {} bytes and was not made by iolab; job {job} would overwrite it. To allow that, add \
         --allow-destroy '{name}'",
        volume_name, facts.st_size
    ))
}

fn wrong(what: &str) -> OpenError {
    OpenError { message: format!("gfapi: {what}"), errno: Some(libc::EINVAL) }
}

fn c_text(text: &str) -> Result<CString, OpenError> {
    iolab_c_library::c_text(text).map_err(|what| wrong(&what))
}

/// The error that the library's last call left.
fn last(what: &str) -> OpenError {
    let error = io::Error::last_os_error();
    // The library leaves nothing where a server does not answer.
    let errno = error.raw_os_error().filter(|errno| *errno != 0).unwrap_or(libc::ENOTCONN);
    OpenError { message: format!("gfapi: {what}: {}", io::Error::from_raw_os_error(errno)), errno: Some(errno) }
}
