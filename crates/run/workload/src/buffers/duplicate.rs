//! Which write repeats which earlier content.
//!
//! Without a working set, a repeating write has the content of the preceding write. With a working
//! set of W percent, it has any of the first W percent of the contents so far. This set grows with
//! the run and costs no memory. fio draws the whole working set in advance from the size of the
//! file. The share of repetitions is the same, but here the first repetitions come from fewer
//! contents.
//!
//! Workers that share their working sets repeat contents of each other, all equally often. A
//! content follows from the seed of the worker that it belongs to and its number, so nothing is
//! exchanged: a worker takes the sets of the others to be as large as its own.

use crate::random::{Chance, Generator};

/// Numbers of contents to come, separate from those of set-up.
const FIRST: u64 = 1 << 40;

#[derive(Debug, Clone)]
pub(super) struct Duplicates {
    chance: Chance,
    working_set_percent: Option<u64>,
    /// The seeds of the workers whose contents are repeated, if there are others.
    among: Box<[u64]>,
    generator: Generator,
    /// Number of new contents so far.
    contents: u64,
}

impl Duplicates {
    pub(super) fn new(percent: u32, working_set_percent: Option<u32>, seed: u64) -> Duplicates {
        Duplicates {
            chance: Chance::percent(percent),
            working_set_percent: working_set_percent.map(u64::from),
            among: Box::new([]),
            generator: Generator::new(seed),
            contents: 0,
        }
    }

    /// Repeats contents of workers with these seeds, too.
    pub(super) fn among(mut self, seeds: Box<[u64]>) -> Duplicates {
        self.among = seeds;
        self
    }

    /// The seed of the worker whose content the next write has, if it need not be its own, and the
    /// number of that content.
    #[inline]
    pub(super) fn next_of_all(&mut self) -> (Option<u64>, u64) {
        let before = self.contents;
        let number = self.next();
        if self.contents > before || self.among.is_empty() {
            return (None, number);
        }
        (Some(self.among[self.generator.below(self.among.len() as u64) as usize]), number)
    }

    /// Number of the content of the next write.
    #[inline]
    fn next(&mut self) -> u64 {
        let repeats = self.generator.chance(self.chance);
        if !repeats || self.contents == 0 {
            self.contents += 1;
            return FIRST + self.contents - 1;
        }
        match self.working_set_percent {
            None => FIRST + self.contents - 1,
            Some(percent) => {
                let set = (self.contents.saturating_mul(percent) / 100).clamp(1, self.contents);
                FIRST + self.generator.below(set)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_sources_are_as_asked() {
        for (percent, set) in [(0, None), (30, None), (100, None), (50, Some(10)), (80, Some(100))] {
            let mut duplicates = Duplicates::new(percent, set, 1);
            let mut newest = 0;
            let mut repeated = 0;
            let writes = 20_000;
            for _ in 0..writes {
                let number = duplicates.next() - FIRST + 1;
                if number > newest {
                    assert_eq!(number, newest + 1);
                    newest = number;
                    continue;
                }
                repeated += 1;
                match set {
                    None => assert_eq!(number, newest),
                    Some(set) => assert!(number <= (newest * u64::from(set) / 100).max(1)),
                }
            }
            assert!(duplicates.among.is_empty() && duplicates.next_of_all().0.is_none());
            let share = f64::from(repeated) * 100.0 / f64::from(writes);
            assert!((share - f64::from(percent)).abs() < 1.5, "{percent} {set:?}: {share}");
        }
    }

    #[test]
    fn repetitions_are_spread_over_all_who_share() {
        let mut duplicates = Duplicates::new(50, Some(10), 1).among(Box::new([7, 8, 9, 10]));
        let mut counts = [0; 4];
        for _ in 0..20_000 {
            if let (Some(seed), _) = duplicates.next_of_all() {
                counts[seed as usize - 7] += 1;
            }
        }
        // 2500 each, within five deviations.
        assert!(counts.iter().all(|count| (2280..2720).contains(count)), "{counts:?}");
    }
}
