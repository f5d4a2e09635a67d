//! Shares of jobs: which of the waiting requests of a shard is sent next.
//!
//! Start-time fair queueing (Goyal, Vin, Cheng, 1996), as in Seastar's scheduler: a request
//! advances the virtual time of its job by its cost divided by the shares of the job, and the job
//! that is furthest behind sends next. The number of requests in flight is limited; without a limit
//! there would be nothing to choose from.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Requests in flight of a shard whose jobs have shares.
const IN_FLIGHT: usize = 4;
/// Bytes that cost as much as a request by itself.
const BYTES_OF_A_REQUEST: u64 = 16 << 10;
/// Shares of a job that has none where others have, as in Seastar.
const DEFAULT_SHARES: u32 = 100;

/// The queue of a shard.
pub(super) struct FairQueue(RefCell<State>);

struct State {
    in_flight: usize,
    /// The virtual time of the request that was sent last.
    now: f64,
    jobs: Vec<JobQueue>,
}

struct JobQueue {
    shares: f64,
    /// When its next request may be sent, in virtual time.
    virtual_time: f64,
    waiting: VecDeque<(f64, Rc<Waiter>)>,
}

#[derive(Default)]
struct Waiter {
    is_admitted: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A request in flight; the next is admitted when it is dropped.
pub(super) struct Admitted<'a>(&'a FairQueue);

impl FairQueue {
    /// A queue for these jobs, if any of them has shares.
    pub(super) fn new(shares: &[Option<u32>]) -> Option<FairQueue> {
        shares.iter().any(Option::is_some).then(|| {
            let job = |shares: &Option<u32>| JobQueue {
                shares: f64::from(shares.unwrap_or(DEFAULT_SHARES)),
                virtual_time: 0.0,
                waiting: VecDeque::new(),
            };
            FairQueue(RefCell::new(State { in_flight: 0, now: 0.0, jobs: shares.iter().map(job).collect() }))
        })
    }

    /// Waits until a request of this many bytes may be sent.
    pub(super) async fn admit(&self, job: usize, bytes: u64) -> Admitted<'_> {
        let waiter = Rc::<Waiter>::default();
        {
            let mut state = self.0.borrow_mut();
            let cost = 1.0 + bytes as f64 / BYTES_OF_A_REQUEST as f64;
            state.jobs[job].waiting.push_back((cost, Rc::clone(&waiter)));
            state.admit_waiting();
        }
        poll_fn(|context| {
            if waiter.is_admitted.get() {
                return Poll::Ready(());
            }
            *waiter.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        Admitted(self)
    }
}

impl State {
    fn admit_waiting(&mut self) {
        while self.in_flight < IN_FLIGHT {
            let now = self.now;
            let waiting = self.jobs.iter_mut().filter(|job| !job.waiting.is_empty());
            // A job that was idle for a while accumulates no credit.
            let start = |job: &JobQueue| job.virtual_time.max(now);
            let Some(job) = waiting.min_by(|one, other| start(one).total_cmp(&start(other))) else { return };
            let Some((cost, waiter)) = job.waiting.pop_front() else { return };
            self.now = start(job);
            job.virtual_time = self.now + cost / job.shares;
            self.in_flight += 1;
            waiter.is_admitted.set(true);
            waiter.waker.take().iter().for_each(Waker::wake_by_ref);
        }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.borrow_mut();
        state.in_flight -= 1;
        state.admit_waiting();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::Context;

    /// How many requests of each job are sent of `rounds`, when all jobs always ask.
    fn sent(shares: &[Option<u32>], bytes: &[u64], rounds: usize) -> Vec<usize> {
        let queue = FairQueue::new(shares).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let mut counts = vec![0; shares.len()];
        let mut asking: Vec<VecDeque<_>> = (0..shares.len())
            .map(|job| (0..rounds).map(|_| Box::pin(queue.admit(job, bytes[job]))).collect())
            .collect();
        // Every request asks before the first is done.
        let mut in_flight = VecDeque::new();
        for one in asking.iter_mut().flatten() {
            if let Poll::Ready(admitted) = one.as_mut().poll(&mut context) {
                in_flight.push_back(admitted);
            }
        }
        asking[0].drain(..in_flight.len());
        for _ in 0..rounds {
            drop(in_flight.pop_front());
            for (job, waiting) in asking.iter_mut().enumerate() {
                let Some(first) = waiting.front_mut() else { continue };
                if let Poll::Ready(admitted) = first.as_mut().poll(&mut context) {
                    waiting.pop_front();
                    counts[job] += 1;
                    in_flight.push_back(admitted);
                }
            }
        }
        counts
    }

    #[test]
    fn jobs_get_their_shares() {
        assert!(FairQueue::new(&[None, None]).is_none());
        let counts = sent(&[Some(300), Some(100)], &[4096, 4096], 400);
        assert!((counts[0] as f64 / counts[1] as f64 - 3.0).abs() < 0.2, "{counts:?}");
        // By what they cost: a request of 112 KiB is as much as eight without data.
        let counts = sent(&[Some(100), None], &[0, 112 << 10], 360);
        assert!((counts[0] as f64 / counts[1] as f64 - 8.0).abs() < 0.6, "{counts:?}");
    }

    #[test]
    fn a_job_alone_waits_for_nobody_and_saves_nothing_up() {
        let queue = FairQueue::new(&[Some(1), Some(1000)]).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..100 {
            let asking = pin!(queue.admit(0, 4096));
            assert!(asking.poll(&mut context).is_ready());
        }
        let (first, second) = (queue.0.borrow().now, queue.0.borrow().jobs[1].virtual_time);
        assert!(first > 50.0 && second == 0.0);
        assert!(pin!(queue.admit(1, 4096)).poll(&mut context).is_ready());
        assert!(queue.0.borrow().jobs[1].virtual_time >= first, "it begins where the others are");
    }
}
