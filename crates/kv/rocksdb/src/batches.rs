//! One batch of the library for each thread that writes, used again and again.
#![allow(unsafe_code, reason = "island: calls of the library")]

use std::cell::Cell;

use crate::symbols::{Object, Symbols};

/// An unused batch; it is returned to the library when its thread ends.
struct Spare(Cell<Option<(Object, &'static Symbols)>>);

thread_local! {
    static SPARE: Spare = const { Spare(Cell::new(None)) };
}

impl Drop for Spare {
    fn drop(&mut self) {
        if let Some((batch, symbols)) = self.0.take() {
            // SAFETY: made by this library, which is never unloaded, and used by nobody.
            unsafe { (symbols.writebatch_destroy)(batch) };
        }
    }
}

/// Calls `work` with an empty batch that only this thread has.
#[inline]
pub(crate) fn with<T>(symbols: &'static Symbols, work: impl FnOnce(Object) -> T) -> T {
    let spare = SPARE.try_with(|spare| spare.0.take()).ok().flatten();
    let batch = match spare {
        Some((batch, _)) => batch,
        // SAFETY: makes an object.
        None => unsafe { (symbols.writebatch_create)() },
    };
    let answer = work(batch);
    // SAFETY: the batch is alive and this thread's; clearing keeps its memory.
    unsafe { (symbols.writebatch_clear)(batch) };
    let kept = SPARE.try_with(|spare| spare.0.replace(Some((batch, symbols))));
    // A displaced batch was put there by `work`; when the thread is ending, nothing is kept.
    let unkept = match kept {
        Ok(displaced) => displaced,
        Err(_) => Some((batch, symbols)),
    };
    if let Some((batch, symbols)) = unkept {
        // SAFETY: made by this library, and used by nobody.
        unsafe { (symbols.writebatch_destroy)(batch) };
    }
    answer
}
