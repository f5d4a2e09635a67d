//! The list of ready tasks under a model checker (loom): every order in which two threads can
//! access it, and every value that a weakly ordered processor may return.
//!
//! The source of the list is compiled a second time here, with loom's lock and atomics. The canary
//! compiles it with atomics that give no ordering.
#![allow(clippy::duplicate_mod, reason = "the source is compiled twice: over loom, and as the canary")]

mod sound;
mod unordered;

/// The test for both variants: a thread that makes a condition true and then wakes the task is
/// never missed.
macro_rules! a_wake_is_not_lost {
    ($list:path, $wakers:expr) => {
        loom::model(|| {
            use $list::{Queue, Ready, Token};
            let ready = std::sync::Arc::<Ready>::default();
            let mut queue = Queue::new(&ready);
            let token = Token::new(7, &ready);
            std::task::Waker::from(std::sync::Arc::clone(&token)).wake();
            let happened = loom::sync::Arc::new([(); 2].map(|()| loom::sync::atomic::AtomicBool::new(false)));
            let wakers: Vec<_> = (0..$wakers)
                .map(|number: usize| {
                    let (happened, waker) = (happened.clone(), std::task::Waker::from(token.clone()));
                    loom::thread::spawn(move || {
                        happened[number].store(true, loom::sync::atomic::Ordering::Relaxed);
                        waker.wake();
                    })
                })
                .collect();
            let mut seen = [false; 2];
            let mut turn = |queue: &mut Queue| {
                let mut batch = Vec::new();
                queue.take(&mut batch);
                assert!(batch.len() <= 1, "one task has one turn in a batch");
                for id in batch {
                    assert_eq!(id, 7);
                    token.seen();
                    for (seen, happened) in seen.iter_mut().zip(happened.iter()) {
                        *seen |= happened.load(loom::sync::atomic::Ordering::Relaxed);
                    }
                }
            };
            turn(&mut queue);
            for waker in wakers {
                waker.join().unwrap();
            }
            while !queue.is_empty() {
                turn(&mut queue);
            }
            assert!(seen.iter().take($wakers).all(|seen| *seen), "a wake is lost");
        })
    };
}

#[test]
fn no_wake_is_lost() {
    a_wake_is_not_lost!(crate::sound::ready, 1);
    a_wake_is_not_lost!(crate::sound::ready, 2);
}

/// The canary.
#[test]
#[should_panic = "a wake is lost"]
fn atomics_that_order_nothing_are_found_out() {
    a_wake_is_not_lost!(crate::unordered::ready, 1);
}
