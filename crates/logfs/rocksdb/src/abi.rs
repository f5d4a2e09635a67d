//! The C functions that the C++ part calls: `cpp/abi.h` says what they answer.
//!
//! Unsafe because what comes over such a boundary are addresses. The other side keeps these
//! promises: names and buffers are as long as it says and stay for the call; a handle is used
//! between its open and its close, and is one that was opened here.
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
    /// This number of bytes is readable, and does not change while the answer is used.
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

/// 0, or the negative errno of a failure, whose sentence is kept for who asks.
fn answer(result: Result<(), CallFailure>) -> i32 {
    result.map_or_else(|failure| refused(failure) as i32, |()| 0)
}

fn refused(failure: CallFailure) -> i64 {
    MESSAGE.with_borrow_mut(|message| *message = failure.message);
    -i64::from(failure.errno.max(1))
}

/// Copies the sentence of this thread's last failure, as far as there is room, and says how many
/// bytes that were.
///
/// # Safety
/// This number of bytes may be written there.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn iolab_logfs_message(into: *mut c_char, length: usize) -> usize {
    MESSAGE.with_borrow(|message| {
        let count = message.len().min(length);
        // SAFETY: the caller's promise; the text is somewhere else.
        unsafe { into.cast::<u8>().copy_from_nonoverlapping(message.as_ptr(), count) };
        count
    })
}
