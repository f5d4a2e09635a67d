//! The control words, over loom's atomics.

pub(crate) mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    pub(crate) use loom::thread::yield_now as spin_loop;

    pub(crate) use iolab_memory::SharedState;

    pub(crate) use crate::modelled::Region as SharedRegion;

    pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, _timeout_ns: u64) {
        crate::modelled::sleep_while(|| word.load(Ordering::Relaxed) == expected);
    }

    pub(crate) fn futex_wake_all(_word: &AtomicU32) {
        crate::modelled::wake_all();
    }
}

#[path = "../../src/control.rs"]
#[allow(dead_code, reason = "not all of it is modelled")]
pub(crate) mod control;
