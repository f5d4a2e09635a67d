//! When bursts were submitted: one stamp for all operations that a flush made visible.
//!
//! A slot remembers the number of its burst. The place of a burst is reused when its last operation
//! has completed, so numbers are only compared among operations in flight. Nothing is allocated
//! after `new`.

/// One burst.
#[derive(Debug, Clone, Copy, Default)]
struct Burst {
    /// 0 if submission took no time.
    submitted_ns: u64,
    /// The number of its operations in flight.
    held: usize,
}

/// The bursts of one worker that have operations in flight, and the one being handed over.
#[derive(Debug)]
pub(crate) struct Bursts {
    ring: Box<[Burst]>,
    current: usize,
}

impl Bursts {
    /// Creates the places for a queue of this depth. At least half of them are free, so that a free
    /// one is found quickly.
    pub(crate) fn new(depth: usize) -> Bursts {
        Bursts { ring: vec![Burst::default(); 2 * depth.max(1)].into_boxed_slice(), current: 0 }
    }

    /// The number of the burst being handed over.
    #[inline(always)]
    pub(crate) fn current(&self) -> u32 {
        self.current as u32
    }

    /// This number of operations of a burst have completed.
    #[inline(always)]
    pub(crate) fn shrink(&mut self, burst: u32, operations: usize) {
        let burst = &mut self.ring[burst as usize];
        debug_assert!(burst.held >= operations, "more operations of a burst came back than it had");
        burst.held -= operations;
    }

    /// The current burst, with this number of operations, was submitted at `submitted_ns` (0: when
    /// each began). Later operations belong to another burst.
    #[inline(always)]
    pub(crate) fn end(&mut self, operations: usize, submitted_ns: u64) {
        let mut number = self.current;
        self.ring[number] = Burst { submitted_ns, held: operations };
        loop {
            number += 1;
            if number >= self.ring.len() {
                number = 0;
            }
            if self.ring[number].held == 0 {
                self.current = number;
                return;
            }
        }
    }

    /// When an operation of this burst, begun at `begun_ns`, was submitted: at `begun_ns` if
    /// submission took no time.
    #[inline(always)]
    pub(crate) fn submitted_ns(&self, burst: u32, begun_ns: u64) -> u64 {
        self.ring[burst as usize].submitted_ns.max(begun_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_of_a_slow_operation_outlives_the_bursts_around_it() {
        let mut bursts = Bursts::new(3);
        let slow = bursts.current();
        bursts.end(2, 10);
        bursts.shrink(slow, 1);
        for turn in 0..20 {
            let burst = bursts.current();
            assert_ne!(burst, slow);
            bursts.end(2, 100 + turn);
            assert_eq!(bursts.submitted_ns(burst, 7), 100 + turn);
            bursts.shrink(burst, 2);
        }
        assert_eq!(bursts.submitted_ns(slow, 5), 10);
        bursts.shrink(slow, 1);
    }

    #[test]
    fn where_submission_takes_no_time_each_operation_was_submitted_when_it_began() {
        let mut bursts = Bursts::new(1);
        let burst = bursts.current();
        bursts.end(1, 0);
        assert_eq!(bursts.submitted_ns(burst, 7), 7);
    }

    #[test]
    fn there_is_a_place_for_as_many_bursts_as_operations() {
        for depth in [1, 2, 5] {
            let mut bursts = Bursts::new(depth);
            let mut numbers = Vec::new();
            for _ in 0..depth {
                numbers.push(bursts.current());
                bursts.end(1, 0);
            }
            assert!(!numbers.contains(&bursts.current()), "the next burst is a new one");
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), depth);
        }
    }
}
