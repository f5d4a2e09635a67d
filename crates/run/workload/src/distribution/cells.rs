//! Ranks by a law given as a function, drawn in constant time and exactly.
//!
//! Ranks are grouped into cells that widen with the rank; the first cells have one rank each. A
//! draw chooses a cell from a table (the alias method: Walker, "An efficient method for generating
//! discrete random variables with general distributions", ACM TOMS 3(3), 1977; built as in Vose, "A
//! linear algorithm for generating random numbers with a given distribution", IEEE TSE 17(9),
//! 1991). It then chooses a rank within the cell uniformly, and keeps it with the probability that
//! corrects for the difference to the cell's likeliest rank (rejection: von Neumann 1951). Cells
//! are so narrow that hardly any draw has to evaluate the law itself.
//!
//! ```text
//! rank    0 1 2 …  31 | 32 33 | 34 35 | …  | 64 65 66 67 | …      each at most a sixteenth wider than far from 0
//! ```
//!
//! Probabilities are exact except for the 32 bits of the last comparison and rounding in the 16th
//! digit.

use std::sync::Arc;

use crate::random::Generator;

/// The width of a cell is this fraction of its first rank.
const FRACTION: u64 = 16;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
const TWO_TO_32: f64 = 4_294_967_296.0;

/// This number of files have tables of their own before files of similar sizes share one.
const OWN_TABLES: usize = 32;

/// How likely each rank is, up to a common factor.
pub(crate) trait Law: Clone {
    /// The weight of a rank: above 0, and monotonic over all ranks. The law of fewer ranks has the
    /// same weights.
    fn weight(&self, rank: u64) -> f64;
}

/// Some neighbouring ranks, and the entry of the alias table at this place.
#[derive(Debug, Clone, Copy)]
struct Cell {
    /// Below this, of 2^64, the place means this cell, otherwise the other.
    own: u64,
    first: u64,
    width: u64,
    other: u32,
    /// Below this, of 2^32, every rank of the cell is kept.
    sure: u32,
}

/// The table of one law and number of ranks.
#[derive(Debug, Clone)]
pub(crate) struct Cells<L> {
    law: L,
    /// Ranks from here on are rejected.
    count: u64,
    /// Shared by files of one size.
    table: Arc<[Cell]>,
    /// The weight of each cell's likeliest rank.
    tops: Arc<[f64]>,
}

impl<L: Law> Cells<L> {
    /// The table of the ranks below `count`.
    pub(crate) fn new(law: L, count: u64) -> Cells<L> {
        let count = count.max(1);
        let (mut table, mut tops, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let mut first = 0;
        while first < count {
            let width = (first / FRACTION).clamp(1, count - first);
            let ends = [law.weight(first), law.weight(first + width - 1)];
            let (least, top) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            let (own, other) = (u64::MAX, table.len() as u32);
            table.push(Cell { own, first, width, other, sure: (least / top * TWO_TO_32) as u32 });
            tops.push(top);
            weights.push(top * width as f64);
            first += width;
        }
        share_out(&mut table, &mut weights);
        Cells { law, count, table: table.into(), tops: tops.into() }
    }

    /// Draws a rank; 0 is the first.
    #[inline(always)]
    pub(crate) fn rank(&self, generator: &mut Generator) -> u64 {
        loop {
            let (place, rest) = scale(generator.next(), self.table.len() as u64);
            let cell = &self.table[place as usize];
            // A selection without a branch, which would be unpredictable.
            let own = u64::from(rest < cell.own).wrapping_neg();
            let chosen = (u64::from(cell.other) ^ ((place ^ u64::from(cell.other)) & own)) as usize;
            let cell = &self.table[chosen];
            let (inside, rest) = scale(generator.next(), cell.width);
            let rank = cell.first + inside;
            let kept = rest >> 32 < u64::from(cell.sure) || self.keeps(chosen, rank, rest);
            if kept && rank < self.count {
                return rank;
            }
        }
    }

    /// The exact test, which evaluates the law.
    #[cold]
    #[inline(never)]
    fn keeps(&self, cell: usize, rank: u64, rest: u64) -> bool {
        rest as f64 <= self.law.weight(rank) / self.tops[cell] * TWO_TO_64
    }
}

/// The tables of one law made so far, so that a thousand files do not need a thousand.
#[derive(Debug)]
pub(crate) struct Tables<L>(Vec<Cells<L>>);

impl<L: Law + PartialEq> Tables<L> {
    pub(crate) fn new() -> Tables<L> {
        Tables(Vec::new())
    }

    /// Memory of all of them, bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.iter().map(|cells| size_of_val(&*cells.table) + size_of_val(&*cells.tops)).sum()
    }

    /// The table of the ranks below `count`. Beyond a number of tables, it may be one for up to
    /// twice as many ranks.
    pub(crate) fn cells(&mut self, law: L, count: u64) -> Cells<L> {
        let falls = law.weight(0) >= law.weight(1);
        let room = if self.0.len() < OWN_TABLES || !falls { count } else { count.next_power_of_two() };
        let same = self.0.iter().find(|cells| cells.law == law && (cells.count == count || cells.count == room));
        let cells = match same {
            Some(cells) => cells.clone(),
            None => {
                self.0.push(Cells::new(law, room));
                self.0[self.0.len() - 1].clone()
            }
        };
        Cells { count: count.max(1), ..cells }
    }
}

/// A random number as a whole number below `bound` and a fraction of 2^64.
#[inline(always)]
fn scale(random: u64, bound: u64) -> (u64, u64) {
    let product = u128::from(random) * u128::from(bound);
    ((product >> 64) as u64, product as u64)
}

/// Gives each place the same weight: the unused part of a light cell's place goes to a heavy cell.
fn share_out(table: &mut [Cell], weights: &mut [f64]) {
    let total: f64 = weights.iter().sum();
    let per_place = table.len() as f64 / total;
    weights.iter_mut().for_each(|weight| *weight *= per_place);
    let (mut light, mut heavy): (Vec<usize>, Vec<usize>) = (0..table.len()).partition(|cell| weights[*cell] < 1.0);
    while let (Some(giver), Some(taker)) = (light.pop(), heavy.last().copied()) {
        table[giver].own = (weights[giver] * TWO_TO_64) as u64;
        table[giver].other = taker as u32;
        weights[taker] -= 1.0 - weights[giver];
        if weights[taker] < 1.0 {
            heavy.pop();
            light.push(taker);
        }
    }
    // The remaining cells have a whole place, except for rounding, as new cells do.
}

#[cfg(test)]
impl<L: Law> Cells<L> {
    /// The probability of each rank according to the table.
    pub(crate) fn probabilities(&self) -> Vec<f64> {
        let mut shares = vec![0.0; self.table.len()];
        for (place, cell) in self.table.iter().enumerate() {
            let own = if cell.other as usize == place { 1.0 } else { cell.own as f64 / TWO_TO_64 };
            shares[place] += own;
            shares[cell.other as usize] += 1.0 - own;
        }
        let kept = self.table.iter().enumerate().flat_map(|(number, cell)| {
            let share = shares[number] / cell.width as f64 / self.tops[number];
            (cell.first..cell.first + cell.width).map(move |rank| share * self.law.weight(rank))
        });
        let kept: Vec<f64> = kept.collect();
        let sum: f64 = kept.iter().sum();
        kept.into_iter().map(|share| share / sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, PartialEq)]
    struct Falling(f64);
    impl Law for Falling {
        fn weight(&self, rank: u64) -> f64 {
            (rank as f64 + 1.0).powf(-self.0)
        }
    }

    #[test]
    fn the_table_holds_the_law() {
        for count in [1, 2, 3, 16, 33, 1000, 100_003] {
            for exponent in [0.0, 0.3, 1.0, 3.0, -2.0] {
                let law = Falling(exponent);
                let sum: f64 = (0..count).map(|rank| law.weight(rank)).sum();
                let found = Cells::new(Falling(exponent), count).probabilities();
                assert_eq!(found.len() as u64, count);
                for (rank, found) in found.iter().enumerate() {
                    let expected = law.weight(rank as u64) / sum;
                    let allowed = 1e-9 * expected + 1e-16;
                    assert!((found - expected).abs() < allowed, "{count}, {exponent}: rank {rank}: {found}");
                }
            }
        }
    }

    #[test]
    fn many_files_share_tables_and_keep_their_ranks() {
        let mut tables = Tables::new();
        let mut generator = Generator::new(5);
        for count in 1000..3000 {
            let cells = tables.cells(Falling(0.5), count);
            let ranks: Vec<u64> = (0..300).map(|_| cells.rank(&mut generator)).collect();
            assert!(ranks.iter().all(|rank| *rank < count) && ranks.iter().any(|rank| *rank > count * 9 / 10));
        }
        assert!(tables.0.len() <= OWN_TABLES + 2, "{} tables", tables.0.len());
        let before = tables.0.len();
        tables.cells(Falling(0.7), 2048);
        assert_eq!(tables.0.len(), before + 1, "another law has another table");
    }

    #[test]
    fn what_is_drawn_within_wide_cells_follows_the_law() {
        let cells = Cells::new(Falling(1.5), 4096);
        let mut generator = Generator::new(11);
        let draws = 400_000;
        let mut seen = vec![0_u32; 4096];
        (0..draws).for_each(|_| seen[cells.rank(&mut generator) as usize] += 1);
        // Groups of ranks that cut through cells.
        let expected = cells.probabilities();
        for group in [0..1, 1..7, 30..70, 65..71, 100..333, 1001..1003, 3000..4000, 4095..4096] {
            let probability: f64 = expected[group.clone()].iter().sum();
            let mean = probability * f64::from(draws);
            let found: u32 = seen[group.clone()].iter().sum();
            let allowed = 4.5 * (mean * (1.0 - probability)).max(1.0).sqrt();
            assert!((f64::from(found) - mean).abs() <= allowed, "{group:?}: {found}, not {mean}");
        }
    }
}
