//! The range lock of several exporters, with loom's mutex.

pub(crate) mod sync {
    pub(crate) use loom::model;
    pub(crate) use loom::sync::{Mutex, MutexGuard};
}

#[path = "../../src/shared_ranges.rs"]
#[allow(dead_code, unreachable_pub, reason = "not all of it is modelled, and nobody is outside of a test")]
pub(crate) mod shared_ranges;
