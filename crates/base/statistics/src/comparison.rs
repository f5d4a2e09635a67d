//! Is the candidate better than the baseline, and by how much?
//!
//! Figures are compared by the logarithm of their ratio: its estimate with its standard error,
//! limits that hold simultaneously for all comparisons of a family, and one verdict from them. If
//! all configurations of a study were measured in the same blocks, [`Family`] has the estimate and
//! limits. Two sides alone are compared by Student's method within blocks, or by Welch's (1947) if
//! trials are not paired. The exact rank test of the pair is reported as well, as a check that
//! assumes less. With few blocks it cannot reach small p-values, so it does not affect the verdict.

use serde::{Deserialize, Serialize};

use crate::{Family, Interval, cliffs_delta, critical_bound, normal, rank_sum, signed_rank};

/// Which direction is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// For figures like IOPS.
    Higher,
    /// For figures like latencies.
    Lower,
}

/// The rules of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionRules {
    /// Confidence of intervals; one minus it is the probability of a false alarm.
    pub confidence: f64,
    /// Relative differences up to this one do not matter: ratios from 1 / (1 + zone) to 1 + zone.
    pub zone: f64,
    /// With fewer blocks there is no verdict, only an estimate and an interval.
    pub least_blocks: usize,
    /// No more blocks than this are proposed.
    pub most_blocks: usize,
}

impl Default for DecisionRules {
    fn default() -> DecisionRules {
        DecisionRules { confidence: 0.95, zone: 0.02, least_blocks: 3, most_blocks: 30 }
    }
}

/// The result of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate is better.
    Better,
    /// It is worse.
    Worse,
    /// The difference, if there is one, is in the zone that does not matter.
    Equivalent,
    /// The data do not decide it.
    Undecided {
        /// How many more repeats would decide, see [`more_repeats`]; `None` if that is more than
        /// the rules allow.
        more_repeats: Option<usize>,
    },
}

/// What belongs to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Whether trials are paired by block.
    #[default]
    Blocks,
    /// Nothing.
    Unpaired,
}

impl Pairing {
    fn is_blocks(&self) -> bool {
        *self == Pairing::Blocks
    }
}

/// The estimate of the logarithm of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The number of repeats behind it: blocks that have both, or trials of the side that has
    /// fewer.
    pub repeats: usize,
    /// Whether trials were paired.
    pub pairing: Pairing,
    /// The best single value.
    pub estimate: f64,
    /// Its standard error; infinite when it cannot be estimated.
    pub error: f64,
    /// Degrees of freedom of that error.
    pub freedom: f64,
    /// The distance of the limits in standard errors; `None` if there are no limits.
    pub critical: Option<f64>,
    /// The probability that any comparison of the family would be this far from zero if nothing
    /// differed.
    pub adjusted_p: f64,
}

/// Two configurations, or two groups of them, compared with each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Blocks that have both; if trials are not paired, trials of the side that has fewer.
    pub blocks: usize,
    /// Whether trials were paired.
    #[serde(default, skip_serializing_if = "Pairing::is_blocks")]
    pub pairing: Pairing,
    /// Candidate over baseline, with limits that hold simultaneously for the whole family.
    /// Confidence 0 means that there are no limits.
    pub ratio: Interval,
    /// Standard error of the ratio's logarithm, if there is one.
    pub error: Option<f64>,
    /// Degrees of freedom of that error.
    pub freedom: f64,
    /// The probability that any comparison of the family would be this far from 1 if nothing
    /// differed.
    pub adjusted_p: f64,
    /// The exact rank test of the two alone, uncorrected: a check that assumes less. 1 when all
    /// ratios are 1; `None` for groups of configurations.
    pub exact_p: Option<f64>,
    /// Cliff's delta: how often the candidate's values are above the baseline's. `None` for groups
    /// of configurations.
    pub delta: Option<f64>,
    /// Which direction is good.
    pub better: Better,
    /// The verdict.
    pub verdict: Verdict,
}

impl Comparison {
    /// Makes the comparison from the evidence.
    pub fn new(evidence: &Evidence, better: Better, rules: &DecisionRules) -> Comparison {
        let Evidence { repeats, pairing, estimate, error, freedom, critical, adjusted_p } = *evidence;
        let reach = critical.filter(|_| error.is_finite()).map(|critical| critical * error);
        let (low, high) = reach.map_or((estimate, estimate), |reach| (estimate - reach, estimate + reach));
        let confidence = reach.map_or(0.0, |_| rules.confidence);
        let mut comparison = Comparison {
            blocks: repeats,
            pairing,
            ratio: Interval { estimate, low, high, confidence }.map(f64::exp),
            error: Some(error).filter(|error| error.is_finite()),
            freedom,
            adjusted_p,
            exact_p: None,
            delta: None,
            better,
            verdict: Verdict::Undecided { more_repeats: None },
        };
        comparison.judge(rules);
        comparison
    }

    /// Adds the exact test and the effect size of the two, from their values in the same blocks.
    pub fn with_pairs(mut self, baseline: &[f64], candidate: &[f64]) -> Comparison {
        let ratios: Vec<f64> = candidate.iter().zip(baseline).map(|(ours, theirs)| (ours / theirs).ln()).collect();
        self.exact_p = (!ratios.is_empty()).then(|| signed_rank(&ratios).map_or(1.0, |test| test.p_value));
        self.delta = cliffs_delta(candidate, baseline);
        self
    }

    /// Replaces the ratio and its limits, and judges again.
    pub fn with_ratio(mut self, ratio: Interval, rules: &DecisionRules) -> Comparison {
        self.ratio = ratio;
        self.judge(rules);
        self
    }

    /// Whether there are enough repeats for a verdict, and limits.
    pub fn is_enough(&self, rules: &DecisionRules) -> bool {
        self.blocks >= rules.least_blocks && self.ratio.confidence >= rules.confidence - 1e-9
    }

    /// The distance of its limits from the estimate, in standard errors.
    pub fn critical(&self) -> Option<f64> {
        let error = self.error.filter(|error| *error > 0.0)?;
        Some(self.ratio.map(f64::ln).half_width() / error)
    }

    fn judge(&mut self, rules: &DecisionRules) {
        self.verdict = self.judged(rules);
    }

    fn judged(&self, rules: &DecisionRules) -> Verdict {
        let ratio = &self.ratio;
        if self.is_enough(rules) && ratio.low >= 1.0 / (1.0 + rules.zone) && ratio.high <= 1.0 + rules.zone {
            return Verdict::Equivalent;
        }
        if self.is_enough(rules) && !ratio.holds(1.0) {
            return if (ratio.estimate > 1.0) == (self.better == Better::Higher) {
                Verdict::Better
            } else {
                Verdict::Worse
            };
        }
        Verdict::Undecided { more_repeats: more_repeats(self, rules) }
    }
}

/// The 80 % quantile of the normal distribution: a study of the proposed size decides with that
/// probability.
pub(crate) const POWER: f64 = 0.841_621_233_572_914_4;

/// How many more repeats would decide with a probability of four in five, if they vary like those
/// so far and the difference is the estimated one. Limits must be narrow enough to exclude 1, or to
/// be within the zone of equivalence, whichever comes first. `None` if that is more than the rules
/// allow.
///
/// Limits shrink with the square root of the number of repeats, and because the spread is known
/// better: the critical value is that of Student's distribution at the level that gives today's
/// value with today's degrees of freedom. Without limits, only the smallest number of repeats for
/// any verdict is known.
pub fn more_repeats(comparison: &Comparison, rules: &DecisionRules) -> Option<usize> {
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
    // More repeats never decide less, so bisection finds the smallest number.
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

/// Compares values of the same blocks, in the same order, as if this were the only comparison.
/// [`settle`] corrects for several.
///
/// `None` if the lengths differ, if there are no values, or if a value is not a positive number and
/// so has no ratio.
pub fn compare(baseline: &[f64], candidate: &[f64], better: Better, rules: &DecisionRules) -> Option<Comparison> {
    if baseline.len() != candidate.len() || baseline.is_empty() || !is_sound(baseline) || !is_sound(candidate) {
        return None;
    }
    let logs: Vec<f64> = candidate.iter().zip(baseline).map(|(ours, theirs)| (ours / theirs).ln()).collect();
    let (estimate, variance) = moments(&logs);
    let evidence = Evidence {
        repeats: logs.len(),
        pairing: Pairing::Blocks,
        estimate,
        error: (variance / logs.len() as f64).sqrt(),
        freedom: logs.len() as f64 - 1.0,
        critical: None,
        adjusted_p: 1.0,
    };
    Some(alone(evidence, better, rules).with_pairs(baseline, candidate))
}

/// Compares values of trials that were not measured in blocks, as if this were the only comparison.
///
/// A drift of the machine between the two counts as a difference here. `None` if one is empty, or
/// if a value is not a positive number.
pub fn compare_unpaired(
    baseline: &[f64],
    candidate: &[f64],
    better: Better,
    rules: &DecisionRules,
) -> Option<Comparison> {
    if baseline.is_empty() || candidate.is_empty() || !is_sound(baseline) || !is_sound(candidate) {
        return None;
    }
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (theirs, ours) = (logs(baseline), logs(candidate));
    let part = |logs: &[f64]| {
        let (mean, variance) = moments(logs);
        (mean, variance / logs.len() as f64, logs.len() as f64 - 1.0)
    };
    let ((their_mean, their_part, their_freedom), (our_mean, our_part, our_freedom)) = (part(&theirs), part(&ours));
    let variance = their_part + our_part;
    let freedom = match variance > 0.0 && variance.is_finite() {
        true => variance.powi(2) / (their_part.powi(2) / their_freedom + our_part.powi(2) / our_freedom),
        false => their_freedom.min(our_freedom),
    };
    let evidence = Evidence {
        repeats: ours.len().min(theirs.len()),
        pairing: Pairing::Unpaired,
        estimate: our_mean - their_mean,
        error: variance.sqrt(),
        freedom,
        critical: None,
        adjusted_p: 1.0,
    };
    let mut comparison = alone(evidence, better, rules);
    comparison.exact_p = rank_sum(&ours, &theirs).map(|test| test.p_value);
    comparison.delta = cliffs_delta(candidate, baseline);
    Some(comparison)
}

fn is_sound(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite() && *value > 0.0)
}

/// The mean and variance; the variance of a single value is unknown.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if values.len() > 1 { squares / (count - 1.0) } else { f64::INFINITY })
}

/// The share of the probability of a false alarm that comparisons of two sides use. The rest is a
/// reserve for trials that do not vary as Student's method assumes: a drift within blocks produces
/// few ratios of two sizes, one for each order in the block.
const USED: f64 = 0.75;

fn alone(evidence: Evidence, better: Better, rules: &DecisionRules) -> Comparison {
    let evidence = Evidence {
        critical: evidence.error.is_finite().then(|| critical_bound(1, evidence.freedom, used(rules))),
        adjusted_p: (p_value(evidence.estimate, evidence.error, evidence.freedom) / USED).min(1.0),
        ..evidence
    };
    Comparison::new(&evidence, better, rules)
}

/// The confidence for which limits are calculated.
fn used(rules: &DecisionRules) -> f64 {
    1.0 - USED * (1.0 - rules.confidence)
}

fn p_value(estimate: f64, error: f64, freedom: f64) -> f64 {
    if estimate.abs() < 1e-12 || !error.is_finite() {
        return 1.0;
    }
    normal::student_two_sided(estimate / error, freedom)
}

/// Widens the limits of comparisons that belong to one matrix, so that they hold simultaneously
/// (Sidak 1967), and makes their verdicts again.
pub fn settle(comparisons: &mut [Comparison], rules: &DecisionRules) {
    let tests = comparisons.len();
    for comparison in comparisons {
        let Some(error) = comparison.error else { continue };
        let estimate = comparison.ratio.estimate.ln();
        let reach = critical_bound(tests, comparison.freedom, used(rules)) * error;
        let alone = p_value(estimate, error, comparison.freedom);
        comparison.adjusted_p = ((1.0 - (1.0 - alone).powf(tests as f64)) / USED).min(1.0);
        let confidence = rules.confidence;
        comparison.ratio =
            Interval { estimate, low: estimate - reach, high: estimate + reach, confidence }.map(f64::exp);
        comparison.judge(rules);
    }
}

/// The relative difference that the pairs of a family detect with a probability of four in five
/// when trials vary by `noise` (also relative). This is for planning, before anything is measured.
/// `None` if there are no limits.
pub fn decidable(family: &Family, statement: usize, noise: f64, rules: &DecisionRules) -> Option<f64> {
    let spreads = vec![noise.ln_1p(); family.own_freedom().len()];
    let error = family.variance(statement, &spreads)?.sqrt();
    Some(((family.critical(rules.confidence)? + POWER) * error).exp_m1())
}
