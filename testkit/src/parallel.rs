//! Work for all processors, for tests that would keep only one busy.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` once for each item, on as many threads as there are processors; each thread takes
/// the next item that is left. The items must not share state.
///
/// # Panics
/// When `work` panics for an item; items that other threads have taken are still finished.
pub fn for_each<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item);
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors.min(items.len()) {
            scope.spawn(take);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_has_its_turn_once() {
        let counts: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
        for_each(&counts, |count| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert!(counts.into_iter().all(|count| count.into_inner() == 1));
        for_each(&[] as &[u8], |_| panic!("there is nothing to do"));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_passed_on() {
        for_each(&[1, 2, 3], |number| assert_ne!(*number, 2));
    }
}
