//! Loom's atomics and lock, and versions of them without ordering and exclusion for the canaries.
//!
//! Loom runs all threads of a model on one thread, so one flag selects the version.

use std::cell::Cell;
use std::sync::LockResult;

use loom::cell::UnsafeCell;

pub(crate) use loom::sync::atomic::Ordering;

thread_local! {
    static ORDERS: Cell<bool> = const { Cell::new(true) };
}

/// Tries `test` in every order.
pub(crate) fn model(test: impl Fn() + Send + Sync + 'static) {
    ORDERS.set(true);
    loom::model(test);
}

/// Tries `test` in every order with atomics that provide no ordering.
pub(crate) fn model_without_order(test: impl Fn() + Send + Sync + 'static) {
    ORDERS.set(false);
    loom::model(test);
}

fn kept(order: Ordering) -> Ordering {
    if ORDERS.get() { order } else { Ordering::Relaxed }
}

pub(crate) fn fence(order: Ordering) {
    if ORDERS.get() {
        loom::sync::atomic::fence(order);
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        #[derive(Debug)]
        pub(crate) struct $name(loom::sync::atomic::$name);

        impl $name {
            pub(crate) fn new(value: $value) -> $name {
                $name(loom::sync::atomic::$name::new(value))
            }

            pub(crate) fn load(&self, order: Ordering) -> $value {
                self.0.load(kept(order))
            }

            pub(crate) fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, kept(order));
            }
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);

/// Loom's lock around a cell that loom also watches: if the lock does not exclude other threads,
/// the cell detects it.
#[derive(Debug)]
pub(crate) struct Mutex<T> {
    lock: loom::sync::Mutex<T>,
    inside: UnsafeCell<()>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex { lock: loom::sync::Mutex::new(value), inside: UnsafeCell::new(()) }
    }

    pub(crate) fn lock(&self) -> LockResult<loom::sync::MutexGuard<'_, T>> {
        if !ORDERS.get() {
            self.inside.with_mut(|_| ());
        }
        let guard = self.lock.lock();
        self.inside.with_mut(|_| ());
        guard
    }
}
