//! Simultaneous statements about one block design: all of their intervals are true at once with the
//! stated confidence.
//!
//! A statement is a weighted sum of the configurations' effects: one minus another, or the mean of
//! some minus the mean of others. Its distance from zero is measured in its own standard error, to
//! which each configuration contributes the variance of its own trials, but at least half of the
//! pooled variance (the variance of a few trials may be small by chance). A simulation with the
//! same layout and the same estimators shows how large the largest of these distances becomes by
//! chance. It runs with equal spreads, with every other spread four times as large, and with a
//! machine whose speed drifts by a factor of three; the widest limits are used (the max-T method,
//! Westfall and Young 1993; Hothorn, Bretz and Westfall 2008). With equal spreads and no outliers
//! this is the joint distribution of Tukey and Dunnett. docs/decisions/0013 describes the methods
//! that were tried ([`Method`]) and the simulation that decided between them.

use crate::far_trials::{FarTrial, draw_in};
use crate::layout::Layout;
use crate::{Random, normal};

/// A weighted sum of effects: number of the configuration, weight. Weights add up to zero.
pub type Weights = Vec<(usize, f64)>;

/// The number of simulated layouts, unless they are so large that it would take long.
const MOST_DRAWS: usize = 10_000;
const LEAST_DRAWS: usize = 1_000;
/// The approximate number of trials and statements that are simulated in total.
const WORK: usize = 40_000_000;
const SEED: u64 = 1;
/// The hard case of unequal spreads: every other configuration is noisier by this factor.
const NOISIER: f64 = 4.0;
/// The hard case of a drift: the noise of trials in addition to it.
const NOISE_IN_DRIFT: f64 = 0.05;
/// A configuration with fewer degrees of freedom of its own uses the pooled spread.
const LEAST_OWN_FREEDOM: f64 = 0.5;

/// How effects, spreads and limits are estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Method {
    /// Trials that are further than this many spreads from the value that the others predict are
    /// moved to that distance; infinity leaves all trials unchanged.
    pub far: f64,
    /// Which spread the standard error uses.
    pub spread: Spread,
    /// Whether limits must also hold in the hard cases, and not only with equal spreads.
    pub hard_cases: bool,
}

/// Whose spread is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    /// The pooled spread of all trials.
    Common,
    /// Each configuration's own, but at least this share of the pooled variance.
    Own {
        /// The share.
        floor: f64,
    },
}

impl Default for Method {
    fn default() -> Method {
        Method { far: 3.0, spread: Spread::Own { floor: 0.5 }, hard_cases: true }
    }
}

impl Method {
    /// Textbook analysis of variance: Tukey's method for all pairs, Dunnett's for all against one.
    pub const TEXTBOOK: Method = Method { far: f64::INFINITY, spread: Spread::Common, hard_cases: false };
}

/// The statements about one layout, and how much they vary by chance.
#[derive(Debug, Clone)]
pub struct Family {
    layout: Layout,
    method: Method,
    /// The weights of the effects and of the variances; `None` if missing trials leave the sum
    /// unknown.
    statements: Vec<Option<(Weights, Weights)>>,
    /// The largest distance of each simulated layout, ascending; one list for each kind of trials.
    largest: [Vec<f64>; 3],
}

/// The estimate of a weighted sum of effects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stated {
    /// The sum.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    /// The probability that any statement of the family would be this far from zero if nothing
    /// differed.
    pub adjusted_p: f64,
}

/// The estimates from the trials of one figure.
#[derive(Debug, Clone)]
pub struct Statements {
    /// Effects of the configurations: logarithms minus their mean.
    pub effects: Vec<f64>,
    /// The standard deviation of a trial of each configuration: its own, but with at least half of
    /// the variance of all trials.
    pub spreads: Vec<f64>,
    /// Standard deviation of a trial, all trials together.
    pub spread: f64,
    /// Outliers that were moved.
    pub far: Vec<FarTrial>,
    /// The estimate of each statement; `None` if trials are missing that it needs.
    pub stated: Vec<Option<Stated>>,
}

impl Family {
    /// The family of some statements; `present` says which trials exist, by configuration and
    /// block.
    pub fn new(present: &[Vec<bool>], statements: &[Weights]) -> Family {
        Family::with(present, statements, Method::default())
    }

    /// The same with another method.
    pub fn with(present: &[Vec<bool>], statements: &[Weights], method: Method) -> Family {
        let mut family = Family::made(present, statements, method);
        family.largest = family.simulated(MOST_DRAWS);
        family
    }

    /// With limits that are known to a few percent: enough to say before any measurement what a
    /// design can detect, in a tenth of the time.
    pub fn for_plan(present: &[Vec<bool>], statements: &[Weights]) -> Family {
        let mut family = Family::made(present, statements, Method::default());
        family.largest = family.simulated(LEAST_DRAWS);
        family
    }

    /// Only estimates and errors, without the simulation from which limits and probabilities come.
    pub fn without_limits(present: &[Vec<bool>], statements: &[Weights]) -> Family {
        Family::made(present, statements, Method::default())
    }

    fn made(present: &[Vec<bool>], statements: &[Weights], method: Method) -> Family {
        let layout = Layout::new(present.to_vec());
        let prepare =
            |weights: &Weights| layout.can_know(weights).then(|| (weights.clone(), layout.variance_weights(weights)));
        let statements = statements.iter().map(prepare).collect();
        Family { layout, method, statements, largest: Default::default() }
    }

    /// Degrees of freedom of the spread of all trials.
    pub fn freedom(&self) -> usize {
        self.layout.freedom()
    }

    /// Degrees of freedom for the own spread of each configuration.
    pub fn own_freedom(&self) -> &[f64] {
        self.layout.own_freedom()
    }

    /// The variance of a statement if trials of each configuration have these standard deviations;
    /// `None` if trials are missing that it needs.
    pub fn variance(&self, statement: usize, spreads: &[f64]) -> Option<f64> {
        let (_, of_variances) = self.statements.get(statement)?.as_ref()?;
        Some(of_variances.iter().map(|(place, weight)| weight * spreads[*place].powi(2)).sum())
    }

    /// The distance of interval limits from the estimate, in standard errors, with which all
    /// intervals hold simultaneously with `confidence`. `None` if no spread can be estimated.
    pub fn critical(&self, confidence: f64) -> Option<f64> {
        let at = |largest: &Vec<f64>| {
            let draws = largest.len() as f64;
            // The simulation has an error, too; its standard error is added to be safe.
            let place = (confidence * draws + (confidence * (1.0 - confidence) * draws).sqrt()).ceil() as usize;
            largest.get(place.clamp(1, largest.len().max(1)) - 1).copied()
        };
        self.largest.iter().filter_map(at).reduce(f64::max)
    }

    /// The estimates from these values: logarithms, by configuration and block, where the layout
    /// has trials.
    pub fn state(&self, values: &[Vec<f64>]) -> Statements {
        let mut values = values.to_vec();
        let far = draw_in(&self.layout, &mut values, self.method.far);
        let fit = self.layout.fit(&values);
        let (variances, common) = self.variances(&fit.residuals, &far);
        let stated = self.statements.iter().map(|statement| {
            let (weights, of_variances) = statement.as_ref()?;
            let estimate = sum(weights, &fit.effects);
            let error = sum(of_variances, &variances).sqrt();
            Some(Stated { estimate, error, adjusted_p: self.chance(estimate, error) })
        });
        let stated = stated.collect();
        let spreads = variances.iter().map(|variance| variance.sqrt()).collect();
        Statements { effects: fit.effects, spreads, spread: common.sqrt(), far, stated }
    }

    /// The probability of a largest distance of at least this size; the largest of all kinds of
    /// trials.
    fn chance(&self, estimate: f64, error: f64) -> f64 {
        let distance = distance(estimate, error);
        let of = |largest: &Vec<f64>| {
            let beyond = largest.len() - largest.partition_point(|one| *one < distance);
            (beyond + 1) as f64 / (largest.len() + 1) as f64
        };
        self.largest.iter().filter(|one| !one.is_empty()).map(of).fold(0.0, f64::max)
    }

    /// The variance of a trial of each configuration, and of all of them together.
    fn variances(&self, residuals: &[Vec<f64>], far: &[FarTrial]) -> (Vec<f64>, f64) {
        let own: Vec<f64> = (0..residuals.len())
            .map(|row| {
                let trials = self.layout.present()[row].iter().filter(|is| **is).count().max(1) as f64;
                let drawn_in = far.iter().filter(|one| one.configuration == row).count() as f64;
                // Moved outliers carry less information about the spread (Yuen 1974).
                let kept = (1.0 - drawn_in / trials).max(0.2);
                residuals[row].iter().map(|residual| residual * residual).sum::<f64>() / (kept * kept)
            })
            .collect();
        let common = own.iter().sum::<f64>() / self.layout.freedom().max(1) as f64;
        let of = |(sum, freedom): (&f64, &f64)| match self.method.spread {
            Spread::Own { floor } if *freedom >= LEAST_OWN_FREEDOM => (sum / freedom).max(floor * common),
            _ => common,
        };
        (own.iter().zip(self.layout.own_freedom()).map(of).collect(), common)
    }

    /// The largest distances of layouts in which nothing differs: of at most this many of them.
    fn simulated(&self, most_draws: usize) -> [Vec<f64>; 3] {
        let known: Vec<&(Weights, Weights)> = self.statements.iter().flatten().collect();
        let mut largest: [Vec<f64>; 3] = Default::default();
        if self.layout.freedom() == 0 || known.is_empty() {
            return largest;
        }
        let present = self.layout.present();
        let cells = present.iter().map(Vec::len).sum::<usize>();
        let size = 10 * cells + known.iter().map(|one| one.0.len() + one.1.len()).sum::<usize>();
        let draws = (WORK / size).clamp(LEAST_DRAWS, most_draws);
        let mut random = Random::new(SEED);
        for _ in 0..draws {
            let equal: Vec<Vec<f64>> =
                present.iter().map(|row| row.iter().map(|_| random.normal()).collect()).collect();
            if self.method.hard_cases {
                let mut noisier = equal.clone();
                noisier.iter_mut().step_by(2).flatten().for_each(|value| *value *= NOISIER);
                largest[1].push(self.largest_of(noisier, &known));
                let mut drifting = equal.clone();
                drifting.iter_mut().flatten().for_each(|value| *value *= NOISE_IN_DRIFT);
                drift(&mut random, &mut drifting);
                largest[2].push(self.largest_of(drifting, &known));
            }
            largest[0].push(self.largest_of(equal, &known));
        }
        largest.iter_mut().for_each(|one| one.sort_unstable_by(f64::total_cmp));
        largest
    }

    fn largest_of(&self, mut values: Vec<Vec<f64>>, known: &[&(Weights, Weights)]) -> f64 {
        let far = draw_in(&self.layout, &mut values, self.method.far);
        let fit = self.layout.fit(&values);
        let (variances, _) = self.variances(&fit.residuals, &far);
        let distances = known.iter().map(|one| distance(sum(&one.0, &fit.effects), sum(&one.1, &variances).sqrt()));
        distances.fold(0.0, f64::max)
    }
}

/// The machine becomes between one and three times as fast, along half a wave that begins anywhere;
/// the trials of a block run in random order.
fn drift(random: &mut Random, values: &mut [Vec<f64>]) {
    let (rows, blocks) = (values.len(), values[0].len());
    let phase = random.unit() * std::f64::consts::TAU;
    let mut order: Vec<usize> = (0..rows).collect();
    for block in 0..blocks {
        random.shuffle(&mut order);
        for (place, row) in order.iter().enumerate() {
            let part = (block * rows + place) as f64 / (rows * blocks) as f64;
            let speed = 2.0 + (phase + std::f64::consts::PI * part).sin();
            values[*row].iter_mut().skip(block).take(1).for_each(|value| *value += speed.ln());
        }
    }
}

/// The limits of one statement among `statements` whose joint distribution is unknown: Sidak's
/// bound on Student's distribution (1967). [`Family::critical`] gives the same if a joint treatment
/// has no advantage. It needs no simulation.
pub fn critical_bound(statements: usize, freedom: f64, confidence: f64) -> f64 {
    let each = confidence.powf(1.0 / statements.max(1) as f64);
    normal::student_quantile((1.0 - each) / 2.0, freedom)
}

fn sum(weights: &[(usize, f64)], values: &[f64]) -> f64 {
    weights.iter().map(|(place, weight)| weight * values[*place]).sum()
}

/// The distance from zero in standard errors. It is 0 for values that never differ, which have no
/// error.
fn distance(estimate: f64, error: f64) -> f64 {
    if estimate.abs() < 1e-12 { 0.0 } else { estimate.abs() / error }
}
