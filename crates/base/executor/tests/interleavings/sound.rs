//! The list of ready tasks, with loom's lock and atomics.

pub(crate) mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};
    pub(crate) use loom::sync::{Mutex, MutexGuard};
}

#[path = "../../src/ready.rs"]
#[allow(dead_code, reason = "not all of it is modelled")]
pub(crate) mod ready;
