//! Non-uniform distribution of random offsets: one block number per draw.
//!
//! Guarantees: every block is below the domain's count. The hot blocks follow from the seed of the
//! job, not of the pass: a hot spot that moved between passes would not be hot.

mod cells;
mod listed;
mod normal;
mod pareto;
mod zipf;
mod zoned;

use iolab_plan::Distribution;
use iolab_random::Permutation;

use crate::permutation::permutation;
use crate::random::Generator;

pub(crate) use cells::Cells;
use cells::Tables;
pub(crate) use listed::Listed;
pub(crate) use normal::Normal;
pub(crate) use pareto::Pareto;
pub(crate) use zipf::Zipf;
pub(crate) use zoned::Zoned;

/// Draws block numbers.
#[derive(Debug, Clone)]
pub(crate) enum Sampler {
    /// Every block equally likely.
    Uniform(u64),
    /// Ranks by Zipf's law.
    Zipf(Cells<Zipf>, Ranking),
    /// Ranks by a power.
    Pareto(Cells<Pareto>, Ranking),
    /// Around a mean.
    Normal(Normal),
    /// Given shares of the accesses to given ranges.
    Zoned(Zoned),
    /// A list of blocks.
    Listed(Listed),
}

/// The domain of a sampler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Domain {
    /// Number of blocks.
    pub(crate) count: u64,
    /// Bytes between the starts of two blocks.
    pub(crate) step_bytes: u64,
}

/// The tables of laws, which samplers of equal domains share.
#[derive(Debug)]
pub(crate) struct Laws {
    zipf: Tables<Zipf>,
    pareto: Tables<Pareto>,
}

impl Laws {
    /// No tables yet.
    pub(crate) fn new() -> Laws {
        Laws { zipf: Tables::new(), pareto: Tables::new() }
    }

    /// Memory of the tables, bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.zipf.memory_bytes() + self.pareto.memory_bytes()
    }
}

impl Sampler {
    /// Checks the parameters. The error is a reason for the user.
    pub(crate) fn new(
        distribution: &Distribution,
        domain: Domain,
        seed: u64,
        laws: &mut Laws,
    ) -> Result<Sampler, String> {
        let count = domain.count;
        let ranking = |center: &Option<f64>| Ranking::new(count, *center, seed);
        Ok(match distribution {
            Distribution::Uniform => Sampler::Uniform(count),
            Distribution::Zipf { theta, center } => {
                Sampler::Zipf(laws.zipf.cells(Zipf::new(*theta)?, count), ranking(center)?)
            }
            Distribution::Pareto { h, center } => {
                Sampler::Pareto(laws.pareto.cells(Pareto::new(count, *h)?, count), ranking(center)?)
            }
            Distribution::Normal { deviation_percent, center } => {
                Sampler::Normal(Normal::new(count, *deviation_percent, checked_center(*center)?.unwrap_or(0.5))?)
            }
            Distribution::Zoned(shares) => Sampler::Zoned(Zoned::relative(domain, shares)?),
            Distribution::ZonedAbsolute(shares) => Sampler::Zoned(Zoned::absolute(domain, shares)?),
            Distribution::Sequence { blocks, strides } => Sampler::Listed(Listed::new(count, blocks, *strides)?),
        })
    }

    /// The next block.
    #[inline(always)]
    pub(crate) fn draw(&mut self, generator: &mut Generator) -> u64 {
        match self {
            Sampler::Uniform(count) => generator.below(*count),
            Sampler::Zipf(zipf, ranking) => ranking.block(zipf.rank(generator)),
            Sampler::Pareto(pareto, ranking) => ranking.block(pareto.rank(generator)),
            Sampler::Normal(normal) => normal.draw(generator),
            Sampler::Zoned(zoned) => zoned.draw(generator),
            Sampler::Listed(listed) => listed.draw(),
        }
    }

    /// A pass begins.
    pub(crate) fn restart(&mut self) {
        if let Sampler::Listed(listed) = self {
            listed.restart();
        }
    }
}

/// Which block has which rank of popularity. Rank 0 is the hottest.
#[derive(Debug, Clone)]
pub(crate) struct Ranking {
    count: u64,
    order: Order,
}

#[derive(Debug, Clone)]
enum Order {
    /// Scattered over all blocks.
    Scattered(Permutation),
    /// Around this block, alternately to the right and the left, wrapping at the ends.
    Around(u64),
}

impl Ranking {
    fn new(count: u64, center: Option<f64>, seed: u64) -> Result<Ranking, String> {
        let order = match checked_center(center)? {
            None => Order::Scattered(permutation(count, seed)),
            Some(center) => Order::Around(((center * count as f64) as u64).min(count.saturating_sub(1))),
        };
        Ok(Ranking { count, order })
    }

    #[inline]
    fn block(&self, rank: u64) -> u64 {
        match &self.order {
            Order::Scattered(permutation) => permutation.image_below(rank, self.count),
            Order::Around(center) => {
                let away = rank.div_ceil(2);
                // A step to the left is a long step to the right. This selects instead of
                // branching, because the branch would be unpredictable.
                let step = if rank % 2 == 1 { away } else { self.count - away };
                let block = center + step;
                if block < self.count { block } else { block - self.count }
            }
        }
    }
}

fn checked_center(center: Option<f64>) -> Result<Option<f64>, String> {
    match center {
        Some(value) if !(0.0..=1.0).contains(&value) => Err(format!("the center {value} is not between 0 and 1")),
        _ => Ok(center),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rankings_are_bijections_around_their_center() {
        for count in [1, 2, 3, 10, 101, 128] {
            for center in [None, Some(0.0), Some(0.25), Some(0.5), Some(1.0)] {
                let ranking = Ranking::new(count, center, 9).expect("a good center");
                let mut blocks: Vec<u64> = (0..count).map(|rank| ranking.block(rank)).collect();
                if count == 101 && center == Some(0.25) {
                    assert_eq!(blocks[..5], [25, 26, 24, 27, 23]);
                }
                blocks.sort_unstable();
                assert!(blocks.iter().copied().eq(0..count), "{count} {center:?}");
            }
        }
        assert!(Ranking::new(10, Some(1.5), 0).is_err());
        assert!(Ranking::new(10, Some(f64::NAN), 0).is_err());
    }
}
