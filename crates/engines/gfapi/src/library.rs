//! The functions of `libgfapi` (`glusterfs/api/glfs.h`), loaded once: those of version 6 and later,
//! whose calls say how a file was before and after.
//!
//! Unsafe code: none of its own; the table's calls are made by its users.

use std::ffi::{c_char, c_int, c_void};

use iolab_c_library::{c_functions, origin_of};
use iolab_engine::EngineLibrary;

/// What installs it.
pub(crate) const INSTALL: &str = "apt-get install libgfapi0";

/// What is called back when an operation has completed, on a thread of the library.
pub(crate) type Callback = unsafe extern "C" fn(
    file: *mut c_void,
    result: isize,
    before: *mut c_void,
    after: *mut c_void,
    argument: *mut c_void,
);

c_functions! {
    Functions, "Functions of `libgfapi`.", "libgfapi.so.0":
    glfs_new: fn(*const c_char) -> *mut c_void;
    glfs_set_volfile_server: fn(*mut c_void, *const c_char, *const c_char, c_int) -> c_int;
    glfs_set_logging: fn(*mut c_void, *const c_char, c_int) -> c_int;
    glfs_init: fn(*mut c_void) -> c_int;
    glfs_fini: fn(*mut c_void) -> c_int;
    glfs_stat: fn(*mut c_void, *const c_char, *mut libc::stat) -> c_int;
    glfs_open: fn(*mut c_void, *const c_char, c_int) -> *mut c_void;
    glfs_creat: fn(*mut c_void, *const c_char, c_int, libc::mode_t) -> *mut c_void;
    glfs_close: fn(*mut c_void) -> c_int;
    glfs_pread: fn(*mut c_void, *mut c_void, usize, i64, c_int, *mut c_void) -> isize;
    glfs_pwrite: fn(*mut c_void, *const c_void, usize, i64, c_int, *mut c_void, *mut c_void) -> isize;
    glfs_fsync: fn(*mut c_void, *mut c_void, *mut c_void) -> c_int;
    glfs_fdatasync: fn(*mut c_void, *mut c_void, *mut c_void) -> c_int;
    glfs_ftruncate: fn(*mut c_void, i64, *mut c_void, *mut c_void) -> c_int;
    glfs_discard: fn(*mut c_void, i64, usize) -> c_int;
    glfs_pread_async: fn(*mut c_void, *mut c_void, usize, i64, c_int, Callback, *mut c_void) -> c_int;
    glfs_pwrite_async: fn(*mut c_void, *const c_void, c_int, i64, c_int, Callback, *mut c_void) -> c_int;
    glfs_fsync_async: fn(*mut c_void, Callback, *mut c_void) -> c_int;
    glfs_fdatasync_async: fn(*mut c_void, Callback, *mut c_void) -> c_int;
    glfs_discard_async: fn(*mut c_void, i64, usize, Callback, *mut c_void) -> c_int;
}

/// What `iolab doctor` says of it.
pub(crate) fn described() -> EngineLibrary {
    let found = Functions::get().map_err(|error| error.to_string());
    let found = found.map(|functions| format!("libgfapi from {}", origin_of(functions.glfs_new as usize)));
    EngineLibrary { file: "libgfapi.so.0", found, install: INSTALL }
}
