//! A simulated load generator that loses no time, beside the real one: it shows why an operation
//! began late.
//!
//! The ideal generator has the same schedule, the same queue and the same device: each of its
//! operations takes its measured time. It begins an operation when it is due, or, if all slots are
//! taken, when the first of them is free again: the recursion of Lindley (1952) for a queue, with
//! as many servers as there are slots. Its waiting is due to the device. Any further delay of the
//! real generator is its own: timers, scheduling, its own cost, and their consequences. So a loop
//! that did not run for 10 ms at depth 1 is not mistaken for a device that made nine operations
//! wait.
//!
//! Not modelled: `iodepth_low`, `serialize_overlap`, and lanes that are full below their depth.
//! Waiting for those counts as the generator's own delay.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When the slots of the ideal generator, and the generator itself, are free.
#[derive(Debug)]
pub(crate) struct IdealGenerator {
    /// When each free slot became free. Which slot it is in the real queue does not matter.
    free: BinaryHeap<Reverse<u64>>,
    /// Until when it is inside the submitting call, where the kernel or the device may delay it.
    busy_until_ns: u64,
    /// When it began the latest operation.
    latest_ns: u64,
}

impl IdealGenerator {
    /// A generator with an empty queue of `depth`.
    pub(crate) fn new(depth: usize) -> IdealGenerator {
        let mut free = BinaryHeap::with_capacity(depth);
        free.extend(std::iter::repeat_n(Reverse(0), depth));
        IdealGenerator { free, busy_until_ns: 0, latest_ns: 0 }
    }

    /// Begins the operation due at `intended_ns` and returns when, ns. The real generator began it
    /// at `begun_ns`.
    #[inline]
    pub(crate) fn begin(&mut self, intended_ns: u64, begun_ns: u64) -> u64 {
        let free_ns = self.free.pop().map_or(0, |Reverse(free_ns)| free_ns);
        self.latest_ns = intended_ns.max(free_ns).max(self.busy_until_ns).min(begun_ns);
        self.latest_ns
    }

    /// Submitting the operations begun last took this time.
    #[inline]
    pub(crate) fn handed_over(&mut self, took_ns: u64) {
        self.busy_until_ns = self.latest_ns + took_ns;
    }

    /// An operation that the real generator could have sent at `sendable_ns` completed after
    /// `took_ns`.
    #[inline]
    pub(crate) fn completed(&mut self, sendable_ns: u64, took_ns: u64) {
        self.free.push(Reverse(sendable_ns + took_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_generator_is_told_from_a_slow_device() {
        // One slot, one operation every 10. For each (begun, took): the wait of the ideal
        // generator, and the lateness caused by the real one.
        type Pair = (u64, u64);
        let check = |what: &str, cases: &[(Pair, Pair)]| {
            let mut ideal = IdealGenerator::new(1);
            for (number, ((begun_ns, took_ns), expected)) in cases.iter().enumerate() {
                let intended_ns = 100 + number as u64 * 10;
                let sendable_ns = ideal.begin(intended_ns, *begun_ns);
                assert_eq!((sendable_ns - intended_ns, begun_ns - sendable_ns), *expected, "{what}, {number}");
                ideal.completed(sendable_ns, *took_ns);
            }
        };
        check("all in time", &[((100, 5), (0, 0)), ((110, 5), (0, 0))]);
        check("a slow device", &[((100, 35), (0, 0)), ((135, 2), (25, 0)), ((138, 2), (17, 1)), ((140, 2), (9, 1))]);
        check("a late loop", &[((130, 5), (0, 30)), ((135, 5), (0, 25)), ((140, 5), (0, 20)), ((145, 5), (0, 15))]);
        check("both", &[((120, 15), (0, 20)), ((136, 5), (5, 21)), ((142, 1), (0, 22))]);
    }

    #[test]
    fn any_free_slot_will_do() {
        let mut ideal = IdealGenerator::new(2);
        let (one, other) = (ideal.begin(100, 100), ideal.begin(100, 100));
        ideal.completed(one, 50);
        ideal.completed(other, 5);
        assert_eq!(ideal.begin(103, 150), 105, "the slot that is free first");
        assert_eq!(ideal.begin(110, 151), 150);
    }

    #[test]
    fn being_held_in_the_call_that_hands_over_is_the_devices_doing() {
        let mut ideal = IdealGenerator::new(8);
        let first = ideal.begin(100, 102);
        ideal.handed_over(1_000);
        ideal.completed(first, 1_000);
        assert_eq!(ideal.begin(110, 1_103), 1_100);
    }
}
