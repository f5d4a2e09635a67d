//! When bursts were submitted: one stamp for all operations that a flush made visible.
//!
//! A slot remembers the number of its burst. A burst's place is used again when its last operation has come back,
//! so numbers are compared among operations in flight only. Nothing is allocated after `new`.

/// One burst.
#[derive(Debug, Clone, Copy, Default)]
struct Burst {
    /// 0 until it is stamped, and for good where submission takes no time.
    submitted_ns: u64,
    /// Its operations in flight.
    held: usize,
}

/// The bursts of one worker that have operations in flight, and the one being handed over.
#[derive(Debug)]
pub(crate) struct Bursts {
    ring: Box<[Burst]>,
    current: usize,
}

impl Bursts {
    /// For a queue of this depth. Half of the places at least are free, so that the next free one is near.
    pub(crate) fn new(depth: usize) -> Bursts {
        Bursts { ring: vec![Burst::default(); 2 * depth.max(1)].into_boxed_slice(), current: 0 }
    }

    /// The number of the burst being handed over.
    #[inline(always)]
    pub(crate) fn current(&self) -> u32 {
        self.current as u32
    }

    /// So many operations more are in flight, as part of the current burst.
    #[inline(always)]
    pub(crate) fn grow(&mut self, operations: usize) {
        self.ring[self.current].held += operations;
    }

    /// So many operations of a burst have come back.
    #[inline(always)]
    pub(crate) fn shrink(&mut self, burst: u32, operations: usize) {
        let burst = &mut self.ring[burst as usize];
        debug_assert!(burst.held >= operations, "more operations of a burst came back than it had");
        burst.held -= operations;
    }

    /// The current burst was submitted at `now_ns`.
    #[inline(always)]
    pub(crate) fn stamp(&mut self, now_ns: u64) {
        self.ring[self.current].submitted_ns = now_ns;
    }

    /// The current burst is complete: what is handed over from here on belongs to another.
    #[inline(always)]
    pub(crate) fn begin_next(&mut self) {
        loop {
            self.current += 1;
            if self.current >= self.ring.len() {
                self.current = 0;
            }
            let burst = &mut self.ring[self.current];
            if burst.held == 0 {
                burst.submitted_ns = 0;
                return;
            }
        }
    }

    /// When an operation of this burst, begun at `begun_ns`, was submitted: when it began if that took no time.
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
        bursts.grow(2);
        bursts.stamp(10);
        bursts.shrink(slow, 1);
        for turn in 0..20 {
            bursts.begin_next();
            let burst = bursts.current();
            assert_ne!(burst, slow);
            assert_eq!(bursts.submitted_ns(burst, 7), 7, "not yet submitted");
            bursts.grow(2);
            bursts.stamp(100 + turn);
            assert_eq!(bursts.submitted_ns(burst, 7), 100 + turn);
            bursts.shrink(burst, 2);
        }
        assert_eq!(bursts.submitted_ns(slow, 5), 10);
        bursts.shrink(slow, 1);
    }

    #[test]
    fn there_is_a_place_for_as_many_bursts_as_operations() {
        for depth in [1, 2, 5] {
            let mut bursts = Bursts::new(depth);
            let mut numbers = Vec::new();
            for _ in 0..depth {
                bursts.grow(1);
                numbers.push(bursts.current());
                bursts.begin_next();
            }
            assert!(!numbers.contains(&bursts.current()), "the next burst is a new one");
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), depth);
        }
    }
}
