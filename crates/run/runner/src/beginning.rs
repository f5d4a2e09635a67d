//! Between the last gate and the first operation of a worker.

use std::num::NonZeroU64;

use iolab_clock::Clock;
use iolab_process::{thread_id, thread_usage};
use iolab_random::SplitMix64;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity, sched_yield};

use crate::control::Order;
use crate::task::Task;
use crate::watch::Stop;

/// How long before the moment a worker wakes up, ns: at least, and at most.
const SPIN_NS: [u64; 2] = [60_000, 1_000_000];
/// In the last part of the wait, the worker wakes up this many times, this many ns apart, to learn
/// how late the machine wakes it.
const TRIES: u64 = 12;
const TRY_NS: u64 = 5_000_000;
/// How long before the moment it has to be woken, ns.
pub(crate) const LEARNING_NS: u64 = TRIES * TRY_NS;
/// After each, it looks for this long whether it has its processor for itself, this often.
const LOOKING_NS: u64 = 300_000;
const LOOK_NS: u64 = 10_000;
/// If it woke up so late, others want the processors, too: who lets them have one may get it back
/// too late.
const BUSY_NS: u64 = 1_000_000;

/// What an order that comes before the first operation means.
pub(crate) fn stopped(order: Order) -> Option<Stop> {
    match order {
        Order::None => None,
        Order::Finish => Some(Stop::Finish),
        Order::Interrupt | Order::Abandon => Some(Stop::Interrupt),
    }
}

/// `startdelay`. Returns a reason if the run ended meanwhile.
pub(crate) fn delay(task: &Task<'_>) -> Option<Stop> {
    if task.plan.limits.start_delay_ns == 0 {
        return None;
    }
    let from_ns = task.clock.now_ns().max(task.worker_control.origin_ns());
    let until_ns = from_ns.saturating_add(task.plan.limits.start_delay_ns);
    while task.clock.now_ns() < until_ns {
        if let Some(stop) = stopped(task.worker_control.order()) {
            return Some(stop);
        }
        task.clock.sleep_until(until_ns.min(task.clock.now_ns() + 20_000_000), 0);
    }
    None
}

/// Waits for the moment at which all begin, if it has been agreed on and is still ahead. The kernel
/// may make timers late by the slack of their thread, 50 us unless somebody has changed it, to save
/// energy; not this one. Waking up takes some ten microseconds all the same, and some hundred where
/// the processor sleeps deeply or belongs to a virtual machine, so the worker wakes up before, and
/// spins for no longer than it has to.
pub(crate) fn wait_for_the_beginning(clock: &Clock, origin_ns: u64) {
    if clock.now_ns() >= origin_ns {
        return;
    }
    let slack_ns = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
    // Without it, the worker begins a little later.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let allowed = sched_getaffinity(None).ok().filter(|cpus| cpus.count() > 1);
    let mut latest_ns = 0;
    for left in (1..=TRIES).rev() {
        let Some(late_ns) = lateness_ns(clock, origin_ns.saturating_sub(left * TRY_NS)) else { continue };
        latest_ns = late_ns.max(latest_ns);
        if latest_ns < BUSY_NS
            && let Some(allowed) = &allowed
        {
            settle_on_processor(clock, allowed, clock.now_ns() + LOOKING_NS);
        }
    }
    let [least_ns, most_ns] = SPIN_NS;
    let spin_ns = latest_ns.saturating_mul(2).clamp(least_ns, most_ns);
    clock.sleep_until(origin_ns.saturating_sub(spin_ns), 0);
    // Done before the moment, because it takes microseconds. A wider set moves no running thread.
    if let Some(allowed) = allowed {
        let _ = sched_setaffinity(None, &allowed);
    }
    while clock.now_ns() < origin_ns {
        clock.sleep_until(origin_ns, spin_ns);
    }
    let _ = rustix::thread::set_current_timer_slack(slack_ns);
}

/// Moves this worker to another processor if it shares its own with one that waits for the same
/// moment, so that neither has to wait for the other then. All look at the same time, so each moves
/// at random, and looks again. Then it stays where it is until it spins: otherwise the kernel may
/// wake two workers on one processor although they went to sleep on two.
fn settle_on_processor(clock: &Clock, allowed: &CpuSet, until_ns: u64) {
    let mut random = SplitMix64::new(clock.now_ns() ^ u64::from(thread_id()));
    while clock.now_ns() < until_ns {
        let before = thread_usage().context_switches;
        sched_yield();
        let is_shared = thread_usage().context_switches > before;
        if is_shared && random.below(2) == 0 {
            let mut others = *allowed;
            others.unset(sched_getcpu() as usize);
            // Whoever may not move stays.
            let _ = sched_setaffinity(None, &others);
        }
        let mut this = CpuSet::new();
        this.set(sched_getcpu() as usize);
        let _ = sched_setaffinity(None, &this);
        clock.sleep_until(clock.now_ns() + LOOK_NS, LOOK_NS);
    }
}

/// Sleeps until `wake_ns`, and returns how late it woke up; `None` if that time is over.
fn lateness_ns(clock: &Clock, wake_ns: u64) -> Option<u64> {
    (clock.now_ns() < wake_ns).then(|| {
        clock.sleep_until(wake_ns, 0);
        clock.now_ns().saturating_sub(wake_ns)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_moment_or_at_once() {
        for (now_ns, origin_ns) in [(0, 500_000_000), (0, 7_000_000), (0, 10), (900, 900), (900, 10)] {
            let clock = Clock::simulated(now_ns);
            wait_for_the_beginning(&clock, origin_ns);
            assert_eq!(clock.now_ns(), now_ns.max(origin_ns));
        }
        let clock = Clock::simulated(5);
        assert_eq!((lateness_ns(&clock, 9), lateness_ns(&clock, 9)), (Some(0), None));
    }
}
