//! Between the last gate and the first operation of a worker.

use std::num::NonZeroU64;

use iolab_clock::Clock;

use crate::control::Order;
use crate::task::Task;
use crate::watch::Stop;

/// How long before the moment a worker wakes up, ns.
const SPIN_NS: u64 = 60_000;

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
/// energy; not this one. Waking up takes some ten microseconds all the same, so the worker wakes up
/// before, and spins for no longer than that: on a machine with more ranks than processors, one
/// that spins keeps others from beginning.
pub(crate) fn wait_for_the_beginning(clock: &Clock, origin_ns: u64) {
    if clock.now_ns() >= origin_ns {
        return;
    }
    let slack_ns = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
    // Without it, the worker begins a little later.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    while clock.now_ns() < origin_ns {
        clock.sleep_until(origin_ns, SPIN_NS);
    }
    let _ = rustix::thread::set_current_timer_slack(slack_ns);
}
