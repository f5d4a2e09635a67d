//! The primitives under messages and the ready list, from loom; a cell that is set once, which loom
//! lacks; and a sleep that reports when it would last forever.
//!
//! Loom runs all threads of a model on one thread, so that one flag controls whether fences do
//! anything.

use std::cell::Cell;

pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};
pub(crate) use loom::sync::mpsc::{Receiver, Sender, channel};
pub(crate) use loom::sync::{Mutex, MutexGuard};
pub(crate) use thread::Thread;

thread_local! {
    static HAS_FENCES: Cell<bool> = const { Cell::new(true) };
    /// Number of cores that send.
    static CORES: Cell<u64> = const { Cell::new(0) };
}

/// Checks `test` with this number of sending cores in every order, with at most two preemptions.
fn model_with(fences: bool, cores: u64, test: fn(u64)) {
    HAS_FENCES.set(fences);
    CORES.set(cores);
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || test(cores));
}

pub(crate) fn model(cores: u64, test: fn(u64)) {
    model_with(true, cores, test);
}

/// As `model_with`, with fences that do nothing.
pub(crate) fn model_without_fences(cores: u64, test: fn(u64)) {
    model_with(false, cores, test);
}

pub(crate) fn fence(order: Ordering) {
    if HAS_FENCES.get() {
        loom::sync::atomic::fence(order);
    }
}

/// A cell that one thread sets, once. A thread that sees that it is set also sees its value.
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    is_set: AtomicBool,
    value: std::sync::OnceLock<T>,
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock { is_set: AtomicBool::new(false), value: std::sync::OnceLock::new() }
    }
}

impl<T> OnceLock<T> {
    pub(crate) fn get(&self) -> Option<&T> {
        if self.is_set.load(Ordering::Acquire) { self.value.get() } else { None }
    }

    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        let value = self.value.get_or_init(make);
        self.is_set.store(true, Ordering::Release);
        value
    }
}

/// The sleep of the one thread that receives.
pub(crate) mod thread {
    use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    pub(crate) use loom::thread::yield_now;

    loom::lazy_static! {
        static ref IS_WOKEN: AtomicBool = AtomicBool::new(false);
        static ref POSTED: AtomicU64 = AtomicU64::new(0);
    }

    #[derive(Debug)]
    pub(crate) struct Thread;

    pub(crate) fn current() -> Thread {
        Thread
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            // A swap: otherwise loom lets the sleeper's swap miss a store.
            IS_WOKEN.swap(true, Ordering::AcqRel);
        }
    }

    /// A sending core is done: it wakes no thread any more.
    pub(crate) fn has_posted() {
        POSTED.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn park() {
        loop {
            let all_sent = POSTED.load(Ordering::Acquire) == super::CORES.get();
            if IS_WOKEN.swap(false, Ordering::AcqRel) {
                return;
            }
            assert!(!all_sent, "a message is lost: the receiver sleeps forever");
            yield_now();
        }
    }
}
