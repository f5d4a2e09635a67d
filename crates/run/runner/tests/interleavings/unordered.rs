//! The control words, over atomics that ignore the requested order.

pub(crate) mod sync {
    pub(crate) use std::sync::atomic::Ordering;

    pub(crate) use iolab_memory::SharedState;
    pub(crate) use loom::thread::yield_now as spin_loop;

    pub(crate) use crate::modelled::Region as SharedRegion;

    macro_rules! unordered {
        ($name:ident, $number:ty) => {
            /// Orders nothing.
            #[derive(Debug, Default)]
            pub(crate) struct $name(loom::sync::atomic::$name);

            #[allow(dead_code, reason = "both have what one of them needs")]
            impl $name {
                pub(crate) fn load(&self, _order: Ordering) -> $number {
                    self.0.load(Ordering::Relaxed)
                }

                pub(crate) fn store(&self, value: $number, _order: Ordering) {
                    self.0.store(value, Ordering::Relaxed);
                }

                pub(crate) fn fetch_add(&self, value: $number, _order: Ordering) -> $number {
                    self.0.fetch_add(value, Ordering::Relaxed)
                }

                pub(crate) fn fetch_max(&self, value: $number, _order: Ordering) -> $number {
                    self.0.fetch_max(value, Ordering::Relaxed)
                }

                pub(crate) fn fetch_or(&self, value: $number, _order: Ordering) -> $number {
                    self.0.fetch_or(value, Ordering::Relaxed)
                }
            }
        };
    }

    unordered!(AtomicU32, u32);
    unordered!(AtomicU64, u64);

    pub(crate) fn fence(_order: Ordering) {}

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
