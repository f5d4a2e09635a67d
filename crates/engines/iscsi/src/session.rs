//! A session with a target: logged in, and the capacity of the unit known. Cold.
//!
//! Unsafe code: calls of the library with its context, and the task of a capacity, read and freed.

use std::ffi::{CString, c_int, c_void};

use iolab_engine::OpenError;
use iolab_options::Settings;

use crate::library::{Capacity, Functions, INSTALL, error_text};
use crate::options::Asked;
use crate::url::UnitUrl;

/// `ISCSI_SESSION_NORMAL`.
const SESSION_NORMAL: c_int = 2;
/// `ISCSI_HEADER_DIGEST_NONE_CRC32C`: none, but CRC-32C where the target demands it.
const DIGEST_NONE_CRC32C: c_int = 1;

/// A session. It is used by one thread.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) functions: Functions,
    pub(crate) context: *mut c_void,
    pub(crate) url: UnitUrl,
    pub(crate) block_bytes: u32,
    blocks: u64,
    /// Whether the target still answers, so that leaving does not wait for it.
    pub(crate) answers: bool,
}

impl Session {
    /// Logs in to the target that a URL names.
    ///
    /// # Errors
    /// A missing library, a wrong URL, or what the target says.
    pub(crate) fn open(name: &str, options: &Settings) -> Result<Session, OpenError> {
        let asked = Asked::of(options);
        let url: UnitUrl = name.parse().map_err(|what| OpenError { message: what, errno: Some(libc::EINVAL) })?;
        let functions = Functions::get().map_err(|error| OpenError {
            message: format!("libiscsi: {error}; install it with: {INSTALL}"),
            errno: Some(libc::ENOENT),
        })?;
        let initiator = c_text(&asked.initiator)?;
        // SAFETY: a C string, which the library copies.
        let context = unsafe { (functions.iscsi_create_context)(initiator.as_ptr()) };
        if context.is_null() {
            return Err(OpenError { message: format!("{url}: no memory"), errno: Some(libc::ENOMEM) });
        }
        let mut session = Session { functions: *functions, context, url, block_bytes: 0, blocks: 0, answers: false };
        session.log_in(&asked)?;
        session.ask_capacity()?;
        Ok(session)
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.blocks.saturating_mul(u64::from(self.block_bytes))
    }

    fn failed(&self, what: &str) -> OpenError {
        let why = error_text(&self.functions, self.context);
        OpenError { message: format!("{}: {what}: {why}", self.url), errno: Some(libc::EIO) }
    }

    fn log_in(&mut self, asked: &Asked) -> Result<(), OpenError> {
        let (target, portal) = (c_text(&self.url.target)?, c_text(&self.url.portal)?);
        let Functions {
            iscsi_set_session_type,
            iscsi_set_header_digest,
            iscsi_set_targetname,
            iscsi_set_noautoreconnect,
            iscsi_set_timeout,
            iscsi_full_connect_sync,
            iscsi_set_initiator_username_pwd,
            ..
        } = self.functions;
        let seconds = asked.timeout_ns.div_ceil(1_000_000_000).min(3600) as c_int;
        let user = match &self.url.user {
            Some((name, word)) => Some((c_text(name)?, c_text(word)?)),
            None => None,
        };
        // SAFETY: a context of ours that no other thread uses, and C strings, which are copied.
        let status = unsafe {
            iscsi_set_session_type(self.context, SESSION_NORMAL);
            iscsi_set_header_digest(self.context, DIGEST_NONE_CRC32C);
            iscsi_set_targetname(self.context, target.as_ptr());
            // A session that is lost ends the operations, instead of being tried again for ever.
            iscsi_set_noautoreconnect(self.context, 1);
            iscsi_set_timeout(self.context, seconds);
            if let Some((name, word)) = &user {
                iscsi_set_initiator_username_pwd(self.context, name.as_ptr(), word.as_ptr());
            }
            iscsi_full_connect_sync(self.context, portal.as_ptr(), self.url.lun)
        };
        if status != 0 {
            return Err(self.failed("cannot log in"));
        }
        self.answers = true;
        Ok(())
    }

    fn ask_capacity(&mut self) -> Result<(), OpenError> {
        // SAFETY: a context that is logged in.
        let task = unsafe { (self.functions.iscsi_readcapacity16_sync)(self.context, self.url.lun) };
        if task.is_null() || status_of(task) != 0 {
            free(&self.functions, task);
            return Err(self.failed("it has no capacity"));
        }
        // SAFETY: a task that has ended well; what it was answered belongs to it.
        let capacity: *mut Capacity = unsafe { (self.functions.scsi_datain_unmarshall)(task) }.cast();
        let capacity = if capacity.is_null() {
            None
        } else {
            // SAFETY: the library has made this structure, whose beginning is as declared.
            Some(unsafe { *capacity })
        };
        free(&self.functions, task);
        let Some(Capacity { last_lba, block_bytes }) = capacity else { return Err(self.failed("it has no capacity")) };
        if !block_bytes.is_power_of_two() || !(512..=65_536).contains(&block_bytes) {
            let message = format!("{}: it has blocks of {block_bytes} bytes", self.url);
            return Err(OpenError { message, errno: Some(libc::EINVAL) });
        }
        (self.blocks, self.block_bytes) = (last_lba.saturating_add(1), block_bytes);
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the context is used for the last time. A target that does not answer is not told.
        unsafe {
            if self.answers {
                (self.functions.iscsi_logout_sync)(self.context);
            }
            (self.functions.iscsi_destroy_context)(self.context);
        }
    }
}

/// The status of a task: its first member.
pub(crate) fn status_of(task: *mut c_void) -> c_int {
    // SAFETY: a task of the library, which has not been freed.
    unsafe { *task.cast::<c_int>() }
}

/// Frees a task, if there is one.
pub(crate) fn free(functions: &Functions, task: *mut c_void) {
    if !task.is_null() {
        // SAFETY: a task of the library that has ended, used for the last time.
        unsafe { (functions.scsi_free_scsi_task)(task) };
    }
}

fn c_text(text: &str) -> Result<CString, OpenError> {
    let wrong = |what| OpenError { message: format!("libiscsi: {what}"), errno: Some(libc::EINVAL) };
    iolab_c_library::c_text(text).map_err(wrong)
}
