//! The list of ready tasks, with atomics that ignore the requested ordering.

pub(crate) mod sync {
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic::Ordering;

    /// Orders nothing.
    #[derive(Debug)]
    pub(crate) struct AtomicBool(loom::sync::atomic::AtomicBool);

    impl AtomicBool {
        pub(crate) fn new(value: bool) -> AtomicBool {
            AtomicBool(loom::sync::atomic::AtomicBool::new(value))
        }

        pub(crate) fn swap(&self, value: bool, _order: Ordering) -> bool {
            self.0.swap(value, Ordering::Relaxed)
        }
    }
}

#[path = "../../src/ready.rs"]
#[allow(dead_code, reason = "not all of it is modelled")]
pub(crate) mod ready;
