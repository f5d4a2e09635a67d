//! Where the threads of a load wait for each other, so that the measurement begins on all of them
//! at the same moment.
//!
//! A waiting thread occasionally lets its device and its file system work: their background work
//! ends before the begin. The last thread to arrive sets the moment, slightly in the future, so
//! that all have seen it in time. A thread that fails breaks the gate: no thread waits for it, and
//! threads already at work end as soon as possible.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use iolab_clock::Clock;

use crate::BenchError;

/// How long a waiting thread sleeps between two checks.
const NAP: Duration = Duration::from_micros(200);
/// From the last arrival to the begin: some naps.
const AHEAD_NS: u64 = 1_000_000;

/// One gate for all threads of a load.
#[derive(Debug)]
pub(crate) struct Gate {
    threads: usize,
    awaited: AtomicUsize,
    /// 0 until all threads have arrived.
    begin_ns: AtomicU64,
    is_broken: AtomicBool,
}

impl Gate {
    pub(crate) fn new(threads: usize) -> Gate {
        Gate {
            threads,
            awaited: AtomicUsize::new(threads),
            begin_ns: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    /// Wakes every waiting thread.
    pub(crate) fn break_open(&self) {
        self.is_broken.store(true, Ordering::Release);
    }

    /// Whether another thread has failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    /// Waits until every thread has arrived. Returns the moment at which all begin. Each thread
    /// passes it once.
    ///
    /// # Errors
    /// [`BenchError::Abandoned`] when another thread has failed.
    pub(crate) async fn pass(&self, clock: &Clock) -> Result<u64, BenchError> {
        if self.awaited.fetch_sub(1, Ordering::AcqRel) == 1 {
            let ahead_ns = if self.threads == 1 { 0 } else { AHEAD_NS };
            self.begin_ns.store(clock.now_ns().saturating_add(ahead_ns).max(1), Ordering::Release);
        }
        loop {
            let begin_ns = self.begin_ns.load(Ordering::Acquire);
            if self.is_broken() {
                return Err(BenchError::Abandoned);
            }
            if begin_ns > 0 && clock.now_ns() >= begin_ns {
                return Ok(begin_ns);
            }
            if begin_ns == 0 {
                std::thread::sleep(NAP);
            }
            pass().await;
        }
    }
}

/// Breaks a gate if it is dropped before its thread has ended successfully: after an error or a
/// panic.
pub(crate) struct Breaker<'gate> {
    gate: &'gate Gate,
    ended_well: bool,
}

impl Breaker<'_> {
    pub(crate) fn new(gate: &Gate) -> Breaker<'_> {
        Breaker { gate, ended_well: false }
    }

    pub(crate) fn end_well(mut self) {
        self.ended_well = true;
    }
}

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        if !self.ended_well {
            self.gate.break_open();
        }
    }
}

/// Lets every other ready task and the devices have a turn.
pub(crate) async fn pass() {
    let mut has_passed = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_passed, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use iolab_executor::{Driver, Executor, ReadyOrder};

    use super::*;

    /// Nothing to drive.
    struct Idle;

    impl Driver for Idle {
        fn turn(&mut self, _wait: bool) -> bool {
            true
        }
    }

    fn pass_on_a_thread(gate: &Gate) -> Result<u64, BenchError> {
        let clock = Clock::monotonic();
        let mut executor = Executor::new(ReadyOrder::Fair);
        executor.run(&mut Idle, async { gate.pass(&clock).await }).unwrap()
    }

    #[test]
    fn all_begin_at_the_same_moment() {
        let gate = Gate::new(3);
        let moments: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| pass_on_a_thread(&gate).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(moments[0] > 0 && moments.iter().all(|moment| *moment == moments[0]), "{moments:?}");
    }

    #[test]
    fn who_waits_for_one_that_fails_is_told() {
        let gate = Gate::new(2);
        let told = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pass_on_a_thread(&gate));
            drop(Breaker::new(&gate));
            waiting.join().unwrap()
        });
        assert!(matches!(told, Err(BenchError::Abandoned)), "{told:?}");
        let kept = Gate::new(1);
        Breaker::new(&kept).end_well();
        assert!(!kept.is_broken());
    }
}
