//! What the control words need besides atomics: memory, and the kernel's sleep on a word. The sleep
//! has no time limit, so a missing wake-up is a deadlock.

use std::ops::Index;

use loom::sync::{Condvar, Mutex};

/// Shared memory, here of threads only.
#[derive(Debug)]
pub(crate) struct Region<T>(Box<[T]>);

impl<T: Default> Region<T> {
    pub(crate) fn new(count: usize) -> std::io::Result<Region<T>> {
        Ok(Region((0..count).map(|_| T::default()).collect()))
    }
}

impl<T> Index<usize> for Region<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        &self.0[index]
    }
}

loom::lazy_static! {
    /// The kernel compares the word and goes to sleep under a lock that wakers take, too.
    static ref SLEEPERS: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
}

pub(crate) fn sleep_while(holds: impl Fn() -> bool) {
    let locked = SLEEPERS.0.lock().unwrap();
    if holds() {
        drop(SLEEPERS.1.wait(locked).unwrap());
    }
}

pub(crate) fn wake_all() {
    let _locked = SLEEPERS.0.lock().unwrap();
    SLEEPERS.1.notify_all();
}
