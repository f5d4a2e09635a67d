//! What messages and the ready list are made of, as loom has it; a cell that is set once, which
//! loom has not; and sleep that says when it would be for ever.
//!
//! Loom runs all threads of a model on one thread, so that one flag says whether fences do
//! anything.

use std::cell::Cell;

pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};
pub(crate) use loom::sync::mpsc::{Receiver, Sender, channel};
pub(crate) use loom::sync::{Mutex, MutexGuard};
pub(crate) use thread::Thread;

thread_local! {
    static HAS_FENCES: Cell<bool> = const { Cell::new(true) };
    /// How many cores post.
    static CORES: Cell<u64> = const { Cell::new(0) };
}

/// Tries `test` with so many cores that post in every order, with at most two switches of threads
/// that do not wait.
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

/// The same, with fences that do nothing.
pub(crate) fn model_without_fences(cores: u64, test: fn(u64)) {
    model_with(false, cores, test);
}

pub(crate) fn fence(order: Ordering) {
    if HAS_FENCES.get() {
        loom::sync::atomic::fence(order);
    }
}

/// A cell that one thread sets, once. What it holds is seen by whoever sees that it is set.
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

/// Sleeping of the one thread that reads.
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
            // A swap: loom lets a swap of the sleeper miss a store.
            IS_WOKEN.swap(true, Ordering::AcqRel);
        }
    }

    /// One of those who post is done: it wakes nobody any more.
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
