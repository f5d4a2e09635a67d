//! How many more repeats would decide.

use crate::{Comparison, Family, Rules, normal};

/// The normal distribution up to which four of five lie: a study of the size that is named decides
/// with that chance.
const POWER: f64 = 0.841_621_233_572_914_4;

/// How many more repeats would decide with a chance of four in five, if they look like those so far
/// and the difference is what it looks like: limits narrow enough to leave 1 out, or to lie within
/// the zone of equivalence, whichever comes first. `None` when that is more than the rules want to
/// spend.
///
/// Limits shrink with the root of the number of repeats, and because the spread is known better:
/// the critical value is that of Student's distribution at the level that gives today's with
/// today's degrees of freedom. Without limits only the fewest repeats for any verdict can be named.
pub fn more_repeats(comparison: &Comparison, rules: &Rules) -> Option<usize> {
    let repeats = comparison.blocks;
    let least = rules.least_blocks.max(repeats + 1);
    let (Some(error), Some(critical)) = (comparison.error, comparison.critical()) else { return Some(least - repeats) };
    let level = normal::student_two_sided(critical, comparison.freedom);
    let estimate = comparison.ratio.estimate.ln().abs();
    let wanted = estimate.max(rules.zone.ln_1p() - estimate);
    let decides = |count: usize| {
        let freedom = comparison.freedom * (count as f64 - 1.0) / (repeats as f64 - 1.0);
        let error = error * (repeats as f64 / count as f64).sqrt();
        (normal::student_quantile(level / 2.0, freedom) + POWER) * error <= wanted
    };
    // More repeats never decide less, so halving finds the fewest.
    let (mut fewest, mut most) = (least, rules.most_blocks);
    if most < least || !decides(most) {
        return None;
    }
    while fewest < most {
        let middle = (fewest + most) / 2;
        if decides(middle) { most = middle } else { fewest = middle + 1 }
    }
    Some(fewest - repeats)
}

/// The difference, as a share, that the pairs of a family decide with a chance of four in five,
/// when trials differ by `noise` (a share, too): for plans, before anything is measured. `None`
/// where there are no limits.
pub fn decidable(family: &Family, statement: usize, noise: f64, rules: &Rules) -> Option<f64> {
    let spreads = vec![noise.ln_1p(); family.own_freedom().len()];
    let error = family.variance(statement, &spreads)?.sqrt();
    Some(((family.critical(rules.confidence)? + POWER) * error).exp_m1())
}
