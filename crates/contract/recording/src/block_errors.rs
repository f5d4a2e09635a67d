//! Trims and errors of each block (`block_error_percentiles`).

use serde::{Deserialize, Serialize};

/// How many trims the blocks of a worker have had, by their end. Blocks that were neither trimmed
/// nor failed are not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockErrors {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Without an error.
    pub intact: BlockTrims,
    /// A write failed.
    pub write_failed: BlockTrims,
    /// A trim failed.
    pub trim_failed: BlockTrims,
}

/// Blocks by the number of their successful trims: (trims, blocks), ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockTrims(pub Vec<(u32, u64)>);

impl BlockTrims {
    /// Adds blocks that were trimmed so often.
    pub fn add(&mut self, trims: u32, blocks: u64) {
        match self.0.binary_search_by_key(&trims, |entry| entry.0) {
            Ok(at) => self.0[at].1 += blocks,
            Err(at) => self.0.insert(at, (trims, blocks)),
        }
    }

    /// How many blocks.
    pub fn blocks(&self) -> u64 {
        self.0.iter().map(|entry| entry.1).sum()
    }

    /// The smallest number of trims that this share (percent) of the blocks did not exceed; `None`
    /// without blocks.
    pub fn percentile(&self, percent: f64) -> Option<u32> {
        let rank = (self.blocks() as f64 * percent / 100.0).ceil().max(1.0);
        let mut seen = 0;
        let reached = self.0.iter().find(|entry| {
            seen += entry.1;
            seen as f64 >= rank
        });
        reached.or(self.0.last()).map(|entry| entry.0)
    }
}

impl BlockErrors {
    /// The three ends, with the words for them.
    pub fn ends(&self) -> [(&'static str, &BlockTrims); 3] {
        [("intact", &self.intact), ("write failed", &self.write_failed), ("trim failed", &self.trim_failed)]
    }

    /// Adds the blocks of another worker.
    pub fn join(&mut self, other: &BlockErrors) {
        self.block_bytes = self.block_bytes.max(other.block_bytes);
        let own = [&mut self.intact, &mut self.write_failed, &mut self.trim_failed];
        for (own, (_, more)) in own.into_iter().zip(other.ends()) {
            more.0.iter().for_each(|(trims, blocks)| own.add(*trims, *blocks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_numbers_of_trims() {
        let mut trims = BlockTrims::default();
        assert_eq!(trims.percentile(50.0), None);
        [(7, 1), (3, 8), (3, 1), (9, 1)].into_iter().for_each(|(count, blocks)| trims.add(count, blocks));
        assert_eq!(trims.0, [(3, 9), (7, 1), (9, 1)]);
        let found = [0.0, 50.0, 81.0, 90.0, 100.0].map(|percent| trims.percentile(percent).unwrap());
        assert_eq!(found, [3, 3, 3, 7, 9]);
    }
}
