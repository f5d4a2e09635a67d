//! The entry points for programs that load this library: an environment for RocksDB's C interface.
//! The scheme `logfs:` is registered with RocksDB when the library is loaded (`cpp/entry.cc`).
//!
//! Unsafe because the entry points call C++ and take pointers.
#![allow(
    unsafe_code,
    reason = "island: call the C++ part, and give its entry points to programs that load this library"
)]

use std::ffi::{c_char, c_void};

unsafe extern "C" {
    fn iolab_shim_env_open(uri: *const c_char, error: *mut *mut c_char) -> *mut c_void;
    fn iolab_shim_env_close(env: *mut c_void);
}

/// A `rocksdb_env_t` whose files are in the image that the URI names, for
/// `rocksdb_options_set_env`. Null when it cannot be opened; `error` then has a message, to be
/// freed by `rocksdb_free`.
///
/// # Safety
/// `uri` ends with a zero byte; `error` is a place for a pointer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_rocksdb_env_open(uri: *const c_char, error: *mut *mut c_char) -> *mut c_void {
    // SAFETY: the caller's promise, passed on.
    unsafe { iolab_shim_env_open(uri, error) }
}

/// Closes the environment, and with it the image.
///
/// # Safety
/// From [`iolab_rocksdb_env_open`], passed only once, after every database that uses it is closed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_rocksdb_env_close(env: *mut c_void) {
    // SAFETY: the caller's promise, passed on.
    unsafe { iolab_shim_env_close(env) };
}
