//! Objects of a pool before and after a run: whether they are there, who made them. Cold.
//!
//! Unsafe code: calls of librados with C strings and numbers of ours.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use iolab_engine::OpenError;
use iolab_options::Settings;

use crate::cluster::{Pool, c_text, check, missing};
use crate::libraries::{INSTALL_OBJECTS, Objects};
use crate::options::Asked;

/// The attribute of objects that iolab has made.
const MARK: &std::ffi::CStr = c"iolab";

/// What an object is after it was touched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touched {
    pub(crate) bytes: u64,
    /// Whether its end is a hole now.
    pub(crate) is_longer: bool,
}

/// A pool whose objects are reached.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) pool: Pool,
    pub(crate) objects: &'static Objects,
}

impl Store {
    /// # Errors
    /// A missing library, or what the cluster says.
    pub(crate) fn open(asked: &Asked) -> Result<Store, OpenError> {
        let objects = Objects::get().map_err(|error| missing(&error.to_string(), INSTALL_OBJECTS))?;
        Ok(Store { pool: Pool::open(asked)?, objects })
    }

    /// The size of an object, bytes; `None` if it is not there.
    fn size_bytes(&self, name: &CString) -> Result<Option<u64>, OpenError> {
        let (mut bytes, mut changed) = (0, 0);
        // SAFETY: an open pool, a C string, and two numbers of ours.
        let status = unsafe { (self.objects.rados_stat)(self.pool.handle, name.as_ptr(), &mut bytes, &mut changed) };
        if status == -libc::ENOENT {
            return Ok(None);
        }
        check(status, || format!("object {}", name.to_string_lossy()))?;
        Ok(Some(bytes))
    }

    fn is_marked(&self, name: &CString) -> bool {
        let mut text = [0; 8];
        // SAFETY: an open pool, C strings, and memory of this length.
        let length = unsafe {
            (self.objects.rados_getxattr)(self.pool.handle, name.as_ptr(), MARK.as_ptr(), text.as_mut_ptr(), text.len())
        };
        length >= 0
    }

    /// Makes an object that is not there, marks one that is empty, and makes one of iolab as long
    /// as the job needs it.
    pub(crate) fn touch(&self, name: &CString, bytes: u64) -> Result<Touched, OpenError> {
        let what = || format!("making object {}", name.to_string_lossy());
        let (objects, pool) = (self.objects, self.pool.handle);
        let found = self.size_bytes(name)?;
        if found.is_none() {
            // SAFETY: an open pool and C strings; nothing is read of the second.
            check(unsafe { (objects.rados_write)(pool, name.as_ptr(), c"".as_ptr(), 0, 0) }, what)?;
        }
        if found.is_none_or(|found| found == 0) {
            // SAFETY: an open pool and C strings; one byte is read of the last.
            check(unsafe { (objects.rados_setxattr)(pool, name.as_ptr(), MARK.as_ptr(), c"1".as_ptr(), 1) }, what)?;
        }
        let found = found.unwrap_or(0);
        if found >= bytes || (found > 0 && !self.is_marked(name)) {
            return Ok(Touched { bytes: found, is_longer: false });
        }
        // SAFETY: an open pool and a C string.
        check(unsafe { (objects.rados_trunc)(pool, name.as_ptr(), bytes) }, what)?;
        Ok(Touched { bytes, is_longer: true })
    }
}

/// Why a job must not write to the object of this name; `None` if it may, or if the cluster cannot
/// be asked, which the job's own opening will tell.
pub(crate) fn refusal(name: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
    if allowed.iter().any(|path| path == name) {
        return None;
    }
    let text = c_text(&name.to_string_lossy()).ok()?;
    let asked = Asked::of(options);
    let store = Store::open(&asked).ok()?;
    let bytes = store.size_bytes(&text).ok()?.filter(|bytes| *bytes > 0)?;
    if store.is_marked(&text) {
        return None;
    }
    let name = name.display();
    Some(format!(
        "object {name} of pool {} holds {bytes} bytes and was not made by iolab; job {job} would overwrite it. To allow \
         that, add --allow-destroy '{name}'",
        asked.pool
    ))
}
