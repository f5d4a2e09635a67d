//! Burning: useless work, until a time has passed.
//!
//! It allocates only when created. It reads the clock after every round of work, so a burn may last
//! up to one round too long.

use std::hint::black_box;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_options::Settings;

/// Numbers sorted in one round: a few tens of kilobytes, more than registers hold and less than a
/// second-level cache.
const NUMBERS: usize = 4096;
/// Counts of one round of `noop`.
const COUNTS: u32 = 1024;

/// One way of burning, and its memory.
#[derive(Debug)]
pub(crate) enum Burner {
    Noop,
    Sort { numbers: Box<[u64]>, state: u64 },
}

impl Burner {
    pub(crate) fn from_options(options: &Settings, seed: u64) -> Burner {
        match options.choice("cpumode") {
            // An xorshift sequence must not start from zero.
            Some("qsort") => Burner::Sort { numbers: vec![0; NUMBERS].into_boxed_slice(), state: seed | 1 },
            _ => Burner::Noop,
        }
    }

    /// Works until `length` has passed, at least one round.
    pub(crate) fn burn(&mut self, clock: &Clock, length: Duration) {
        let end_ns = clock.now_ns().saturating_add(nanoseconds(length));
        loop {
            self.round();
            if clock.now_ns() >= end_ns {
                return;
            }
        }
    }

    fn round(&mut self) {
        match self {
            Burner::Noop => (0..COUNTS).for_each(|count| {
                black_box(count);
            }),
            Burner::Sort { numbers, state } => {
                numbers.fill_with(|| next(state));
                // Sorts in place, without allocation.
                numbers.sort_unstable();
                black_box(&numbers[0]);
            }
        }
    }
}

/// A duration in the clock's unit; more than five centuries means forever.
pub(crate) fn nanoseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// The next number of a xorshift sequence (Marsaglia 2003).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_sorts_other_numbers() {
        let mut burner = Burner::Sort { numbers: vec![0; NUMBERS].into_boxed_slice(), state: 1 };
        let mut smallest = Vec::new();
        for _ in 0..3 {
            burner.burn(&Clock::monotonic(), Duration::ZERO);
            let Burner::Sort { numbers, .. } = &burner else { panic!("another way of burning") };
            assert!(numbers.is_sorted() && numbers[0] != numbers[NUMBERS - 1]);
            smallest.push(numbers[0]);
        }
        smallest.dedup();
        assert_eq!(smallest.len(), 3);
    }
}
