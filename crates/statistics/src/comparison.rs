//! Is the candidate faster than the baseline, and by how much?
//!
//! Within a block every configuration ran once, near in time, so a block's ratio is free of what moves slowly. The ratios' logarithms are
//! what is analysed: their Hodges-Lehmann pseudo-median and the interval of the signed-rank test. Trials that were not measured in blocks are
//! compared by the rank-sum test instead. One verdict follows, and many verdicts of one matrix are corrected by Holm's method.

use serde::{Deserialize, Serialize};

use crate::{Interval, cliffs_delta, holm, rank_sum, rank_sum_interval, signed_rank, signed_rank_interval};

/// Which direction is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// As of IOPS.
    Higher,
    /// As of latencies.
    Lower,
}

/// What decides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Confidence of intervals; what is missing to 1 is the chance of a false alarm.
    pub confidence: f64,
    /// Differences up to this share do not matter: ratios from 1 / (1 + zone) to 1 + zone.
    pub zone: f64,
    /// With fewer blocks there is no verdict, only an interval.
    pub least_blocks: usize,
    /// More blocks than these are not proposed.
    pub most_blocks: usize,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { confidence: 0.95, zone: 0.02, least_blocks: 5, most_blocks: 30 }
    }
}

/// What the comparison comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate is better.
    Faster,
    /// It is worse.
    Slower,
    /// Whatever difference there is lies in the zone that does not matter.
    Equivalent,
    /// The data do not say.
    Inconclusive {
        /// How many more blocks would decide if they look like those so far; `None` when that is more than the rules want to spend.
        more_blocks: Option<usize>,
    },
}

/// What belongs to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Each trial of one has its trial of the other, of the same block: signed-rank test.
    #[default]
    Blocks,
    /// Nothing: rank-sum test.
    Unpaired,
}

impl Pairing {
    fn is_blocks(&self) -> bool {
        *self == Pairing::Blocks
    }

    /// The smallest p-value that `trials` of each can answer: 2^(1 - n) of blocks; 2 over the number of ways to choose n of 2n without them.
    fn least_p(self, trials: usize) -> f64 {
        match self {
            Pairing::Blocks => 0.5_f64.powf(trials as f64 - 1.0),
            Pairing::Unpaired => 2.0 * (1..=trials).map(|step| step as f64 / (trials + step) as f64).product::<f64>(),
        }
    }
}

/// Two configurations, in the same blocks unless told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Blocks that have both; trials of the side that has fewer where nothing is paired.
    pub blocks: usize,
    /// Whether trials were paired.
    #[serde(default, skip_serializing_if = "Pairing::is_blocks")]
    pub pairing: Pairing,
    /// Candidate over baseline.
    pub ratio: Interval,
    /// Of the test, before any correction; 1 when all ratios are 1.
    pub p_value: f64,
    /// After it.
    pub adjusted_p: f64,
    /// How often the candidate's values are above the baseline's.
    pub delta: f64,
    /// Which direction is good.
    pub better: Better,
    /// What it comes to.
    pub verdict: Verdict,
}

impl Comparison {
    /// Whether there are enough trials for a verdict.
    pub fn is_enough(&self, rules: &Rules) -> bool {
        self.blocks >= least_trials(self, rules) && self.ratio.confidence >= rules.confidence
    }
}

/// Compares values of the same blocks, in the same order, as if it were the only comparison; [`settle`] corrects for several.
///
/// `None` when the lengths differ, when there is nothing, or when a value is not a positive number: those have no ratio.
pub fn compare(baseline: &[f64], candidate: &[f64], better: Better, rules: &Rules) -> Option<Comparison> {
    if baseline.len() != candidate.len() || !is_sound(baseline) || !is_sound(candidate) {
        return None;
    }
    let logs: Vec<f64> = candidate.iter().zip(baseline).map(|(ours, theirs)| (ours / theirs).ln()).collect();
    let ratio = signed_rank_interval(&logs, rules.confidence)?.map(f64::exp);
    let p_value = signed_rank(&logs).map_or(1.0, |test| test.p_value);
    let of = Parts { blocks: logs.len(), pairing: Pairing::Blocks, ratio, p_value, better };
    of.compare(cliffs_delta(candidate, baseline)?, rules)
}

/// Compares values of trials that were not measured in blocks, as if it were the only comparison.
///
/// A drift of the machine between the two counts as a difference here. `None` when one is empty, or when a value is not a positive number.
pub fn compare_unpaired(baseline: &[f64], candidate: &[f64], better: Better, rules: &Rules) -> Option<Comparison> {
    if !is_sound(baseline) || !is_sound(candidate) {
        return None;
    }
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (theirs, ours) = (logs(baseline), logs(candidate));
    let ratio = rank_sum_interval(&ours, &theirs, rules.confidence)?.map(f64::exp);
    let p_value = rank_sum(&ours, &theirs)?.p_value;
    let blocks = ours.len().min(theirs.len());
    let of = Parts { blocks, pairing: Pairing::Unpaired, ratio, p_value, better };
    of.compare(cliffs_delta(candidate, baseline)?, rules)
}

fn is_sound(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite() && *value > 0.0)
}

/// What a comparison is made of, before it is judged.
struct Parts {
    blocks: usize,
    pairing: Pairing,
    ratio: Interval,
    p_value: f64,
    better: Better,
}

impl Parts {
    fn compare(self, delta: f64, rules: &Rules) -> Option<Comparison> {
        let Parts { blocks, pairing, ratio, p_value, better } = self;
        let verdict = Verdict::Inconclusive { more_blocks: None };
        let mut comparison =
            Comparison { blocks, pairing, ratio, p_value, adjusted_p: p_value, delta, better, verdict };
        comparison.verdict = judge(&comparison, 1, rules);
        Some(comparison)
    }
}

/// Corrects the p-values of comparisons that belong to one matrix, and judges them again.
pub fn settle(comparisons: &mut [Comparison], rules: &Rules) {
    let adjusted = holm(&comparisons.iter().map(|one| one.p_value).collect::<Vec<_>>());
    let tests = comparisons.len();
    for (comparison, adjusted_p) in comparisons.iter_mut().zip(adjusted) {
        comparison.adjusted_p = adjusted_p;
        comparison.verdict = judge(comparison, tests, rules);
    }
}

fn judge(comparison: &Comparison, tests: usize, rules: &Rules) -> Verdict {
    let Comparison { ratio, adjusted_p, better, .. } = comparison;
    let is_enough = comparison.is_enough(rules);
    if is_enough && ratio.low >= 1.0 / (1.0 + rules.zone) && ratio.high <= 1.0 + rules.zone {
        return Verdict::Equivalent;
    }
    if is_enough && *adjusted_p <= 1.0 - rules.confidence && !ratio.holds(1.0) {
        return if (ratio.estimate > 1.0) == (*better == Better::Higher) { Verdict::Faster } else { Verdict::Slower };
    }
    Verdict::Inconclusive { more_blocks: more_blocks(comparison, tests, rules) }
}

/// Unpaired samples may be one trial smaller than blocks: what their interval is worth decides.
fn least_trials(comparison: &Comparison, rules: &Rules) -> usize {
    rules.least_blocks - usize::from(!comparison.pairing.is_blocks() && rules.least_blocks > 1)
}

/// Widths of intervals shrink with the root of the number of blocks; and a rank test of few blocks cannot answer a small p-value.
fn more_blocks(comparison: &Comparison, tests: usize, rules: &Rules) -> Option<usize> {
    let logs = comparison.ratio.map(f64::ln);
    let zone = rules.zone.ln_1p();
    // Narrow enough to leave zero out, or narrow enough to lie within the zone: whichever is nearer.
    let wanted = logs.estimate.abs().max(zone - logs.estimate.abs());
    let by_width = (comparison.blocks as f64 * (logs.half_width() / wanted).powi(2)).ceil();
    let level = (1.0 - rules.confidence) / tests as f64;
    let by_ranks = (1..=rules.most_blocks).find(|trials| comparison.pairing.least_p(*trials) <= level)?;
    let least = by_ranks.max(comparison.blocks + 1).max(least_trials(comparison, rules));
    let needed = by_width.max(least as f64);
    (needed <= rules.most_blocks as f64).then(|| needed as usize - comparison.blocks)
}
