//! Two ways to run, in many short pairs: the cost of one relative to the other, with its interval.
//!
//! The two runs of a pair are neighbours in time and follow each other in random order, so that a
//! machine that becomes slower favours neither. The order comes from a fixed seed. The figures of
//! pairs are exchangeable, as the signed-rank interval requires.

use iolab_statistics::{Interval, Random, signed_rank_interval};

use crate::spread::Spread;

/// Share of experiments whose interval should hold the truth.
const CONFIDENCE: f64 = 0.95;
const SEED: u64 = 1;

/// Runs `one` and `other` `count` times each; their answers, pair by pair.
pub(super) fn take<T>(
    count: usize,
    mut one: impl FnMut() -> Result<T, String>,
    mut other: impl FnMut() -> Result<T, String>,
) -> Result<Vec<(T, T)>, String> {
    let mut random = Random::new(SEED);
    let mut pair = || {
        if random.below(2) == 0 {
            let first = one()?;
            Ok((first, other()?))
        } else {
            let first = other()?;
            Ok((one()?, first))
        }
    };
    (0..count).map(|_| pair()).collect()
}

/// The Hodges-Lehmann estimate of the middle with its exact interval of 95 %. With fewer than six
/// values, which is too few for that, the whole range is returned.
pub(super) fn middle(values: &[f64]) -> Option<Spread> {
    let Interval { estimate, low, high, .. } = signed_rank_interval(values, CONFIDENCE)?;
    Some(Spread { median: estimate, min: low, max: high })
}

/// The interval of ratios, whose logarithms are symmetric.
pub(super) fn middle_ratio(ratios: &[f64]) -> Option<Spread> {
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let Spread { median, min, max } = middle(&logarithms)?;
    Some(Spread { median: median.exp(), min: min.exp(), max: max.exp() })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn pairs_stay_pairs_in_either_order() {
        let order = RefCell::new(String::new());
        let runs = |name: char| {
            let order = &order;
            move || {
                order.borrow_mut().push(name);
                Ok(name)
            }
        };
        let pairs = take(40, runs('a'), runs('b')).unwrap();
        assert_eq!(pairs, [('a', 'b'); 40]);
        let order = order.into_inner();
        let in_turn = order.as_bytes().chunks(2).filter(|pair| pair == b"ab").count();
        assert!((10..30).contains(&in_turn), "{order}");
        assert_eq!(take(1, || Err::<(), _>("no".to_owned()), || Ok(())).unwrap_err(), "no");
    }

    #[test]
    fn a_loss_smaller_than_the_noise_is_found_by_many_pairs() {
        // Half a tenth of loss under noise of a fifth.
        let mut random = Random::new(7);
        let ratios: Vec<f64> = (0..400).map(|_| 0.95 * (0.2 * random.normal()).exp()).collect();
        let found = middle_ratio(&ratios).unwrap();
        assert!(found.min < 0.95 && 0.95 < found.max && found.max < 1.0, "{found:?}");
        assert_eq!(middle_ratio(&[]), None);
    }
}
