//! The C functions that the C++ part calls; `cpp/abi.h` documents their results.
//!
//! Unsafe because addresses come over this boundary. The other side promises: names and buffers
//! have the stated length and stay valid for the call; a handle is used between its open and its
//! close, and was opened here.
#![allow(unsafe_code, reason = "island: take pointers that C++ hands over")]

mod files;
mod names;

use std::cell::RefCell;
use std::ffi::c_char;

use crate::CallFailure;

/// `iolab_name`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name {
    bytes: *const u8,
    length: usize,
}

impl Name {
    /// # Safety
    /// This number of bytes is readable, and does not change while the result is used.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.bytes.is_null() {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.bytes, self.length) }
    }
}

thread_local! {
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// 0, or the negative errno of a failure, whose message is kept for `iolab_logfs_message`.
fn answer(result: Result<(), CallFailure>) -> i32 {
    result.map_or_else(|failure| refused(failure) as i32, |()| 0)
}

fn refused(failure: CallFailure) -> i64 {
    MESSAGE.with_borrow_mut(|message| *message = failure.message);
    -i64::from(failure.errno.max(1))
}

/// Copies the message of this thread's last failure, as far as there is room; returns the number of
/// bytes.
///
/// # Safety
/// This number of bytes may be written there.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_message(into: *mut c_char, length: usize) -> usize {
    MESSAGE.with_borrow(|message| {
        let count = message.len().min(length);
        // SAFETY: the caller's promise; the text does not overlap.
        unsafe { into.cast::<u8>().copy_from_nonoverlapping(message.as_ptr(), count) };
        count
    })
}
