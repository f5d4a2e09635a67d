//! Work for all processors, for tests that would keep only one busy.

use std::sync::{Mutex, PoisonError};

/// Calls `work` once for each item, on as many threads as there are processors; each thread takes
/// the next item that is left. The items must not share state.
///
/// # Panics
/// When `work` panics for an item; items that other threads have taken are still finished.
pub fn for_each<I: IntoIterator<IntoIter: Send>>(items: I, work: impl Fn(I::Item) + Sync) {
    let left = Mutex::new(items.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take = || std::iter::from_fn(next).for_each(&work);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(take);
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_item_has_its_turn_once() {
        let counts: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
        for_each(0..100, |number| {
            counts[number].fetch_add(1, Ordering::Relaxed);
        });
        assert!(counts.into_iter().all(|count| count.into_inner() == 1));
        for_each(0..0, |_| panic!("there is nothing to do"));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_passed_on() {
        for_each(1..4, |number| assert_ne!(number, 2));
    }
}
