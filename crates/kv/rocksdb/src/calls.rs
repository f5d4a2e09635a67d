//! The shape of the library's calls: errors through a pointer, text that it allocated, slices.
#![allow(unsafe_code, reason = "island: memory that the library allocated")]

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::symbols::{ErrorPlace, Symbols};

/// Makes a call that reports errors through its last argument; the text of the error.
pub(crate) fn checked<T>(symbols: &Symbols, call: impl FnOnce(ErrorPlace) -> T) -> Result<T, String> {
    let mut failure: *mut c_char = std::ptr::null_mut();
    let answer = call(&raw mut failure);
    match owned_text(symbols, failure) {
        None => Ok(answer),
        Some(text) => Err(text),
    }
}

/// A text that the library allocated, copied and given back; `None` for null.
pub(crate) fn owned_text(symbols: &Symbols, text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the library answers with a C string of its own allocation, which nobody else has.
    let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: as above; it is not used afterwards.
    unsafe { (symbols.free)(text.cast()) };
    Some(copy)
}

/// The bytes at `start`, or none for null.
///
/// # Safety
/// The library lends these bytes for `'a`.
pub(crate) unsafe fn slice<'a>(start: *const c_char, length: usize) -> &'a [u8] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: the caller says that the bytes are lent.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

/// A path for the library; a zero byte, which no path has, ends it.
pub(crate) fn c_path(path: &Path) -> CString {
    c_text(path.as_os_str().as_bytes())
}

/// A text for the library, up to its first zero byte.
pub(crate) fn c_text(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).unwrap_or_default()
}
