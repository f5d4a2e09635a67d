//! The functions of `libnfs` (`nfsc/libnfs.h`), loaded once.
//!
//! Unsafe code: the library's text of an error is read through its pointer.

use std::ffi::{c_char, c_int, c_void};

use iolab_c_library::{c_functions, copied_text, origin_of};
use iolab_engine::EngineLibrary;

/// What installs it.
pub(crate) const INSTALL: &str = "apt-get install libnfs13";

/// Called when an operation ends: bytes or a negative errno, context, data or text, our own value.
pub(crate) type Callback = unsafe extern "C" fn(c_int, *mut c_void, *mut c_void, *mut c_void);

/// `struct nfs_url`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ParsedUrl {
    pub(crate) server: *const c_char,
    pub(crate) path: *const c_char,
    pub(crate) file: *const c_char,
}

/// `struct nfs_stat_64`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileFacts {
    device: u64,
    inode: u64,
    pub(crate) mode: u64,
    unused: [u64; 4],
    pub(crate) size_bytes: u64,
    more: [u64; 9],
}

// Releases 13 and 14 have the same functions; those of 16 take other arguments.
c_functions! {
    Functions, "Functions of `libnfs`.", "libnfs.so.13", "libnfs.so.14":
    nfs_init_context: fn() -> *mut c_void;
    nfs_destroy_context: fn(*mut c_void);
    nfs_parse_url_dir: fn(*mut c_void, *const c_char) -> *mut ParsedUrl;
    nfs_destroy_url: fn(*mut ParsedUrl);
    nfs_set_autoreconnect: fn(*mut c_void, c_int);
    nfs_get_error: fn(*mut c_void) -> *const c_char;
    nfs_get_fd: fn(*mut c_void) -> c_int;
    nfs_which_events: fn(*mut c_void) -> c_int;
    nfs_service: fn(*mut c_void, c_int) -> c_int;
    nfs_mount_async: fn(*mut c_void, *const c_char, *const c_char, Callback, *mut c_void) -> c_int;
    nfs_open2_async: fn(*mut c_void, *const c_char, c_int, c_int, Callback, *mut c_void) -> c_int;
    nfs_stat64_async: fn(*mut c_void, *const c_char, Callback, *mut c_void) -> c_int;
    nfs_pread_async: fn(*mut c_void, *mut c_void, u64, u64, Callback, *mut c_void) -> c_int;
    nfs_pwrite_async: fn(*mut c_void, *mut c_void, u64, u64, *const c_void, Callback, *mut c_void) -> c_int;
    nfs_fsync_async: fn(*mut c_void, *mut c_void, Callback, *mut c_void) -> c_int;
}

/// What `iolab doctor` says of it.
pub(crate) fn described() -> EngineLibrary {
    let found = Functions::get().map_err(|error| error.to_string());
    let found = found.map(|functions| origin_of(functions.nfs_init_context as usize));
    EngineLibrary { file: "libnfs.so.13", found, install: INSTALL }
}

/// The library's text about the last error of a context.
pub(crate) fn error_text(functions: &Functions, context: *mut c_void) -> String {
    // SAFETY: an open context; its text is a C string, which stays until its next call.
    let text = unsafe { copied_text((functions.nfs_get_error)(context)) };
    text.map_or_else(|| "no reason given".to_owned(), |text| text.trim().to_owned())
}
