//! All comparisons of one figure over the whole design: every configuration against every other,
//! the effect of each axis, and interactions of axes.
//!
//! They form one family: the limits of all statements about a figure hold together (see
//! `iolab_statistics::Family`), so that a reader may pick the largest difference after having seen
//! them all.

use iolab_order::Arrange;
use iolab_statistics::{
    Comparison, DecisionRules, Evidence, Family, FarTrial, Interval, Pairing, Stated, Statements, VERY_FAR, Verdict,
    Weights,
};
use serde::{Deserialize, Serialize};

use crate::conditions::GivenCondition;
use crate::rows::FigureValues;
use crate::statements::{About, Grid};
use crate::{Design, Figure, Study};

/// The comparison of two configurations in one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contrast {
    /// Number of the figure.
    pub figure: usize,
    /// The configuration that the candidate is compared with.
    pub baseline: usize,
    /// The candidate.
    pub candidate: usize,
    /// The result.
    pub comparison: Comparison,
}

/// The effect of a point of an axis, over all other axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PointEffect {
    /// The point that `point` is compared with.
    pub baseline: String,
    /// The candidate.
    pub point: String,
    /// The mean of the configurations with one point against the mean of those with the other that
    /// differ in nothing else.
    pub comparison: Comparison,
}

/// The effect of one axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisEffect {
    /// Number of the axis.
    pub axis: usize,
    /// Its share of the variance between configurations; `None` if combinations are missing, or if
    /// there is no variance.
    pub share: Option<f64>,
    /// Points against the axis' baseline.
    pub points: Vec<PointEffect>,
}

/// An interaction: the effect of one axis depends on the point of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interaction {
    /// Numbers of the axes.
    pub axes: [usize; 2],
    /// Two points of the first axis, from and to.
    pub of: [String; 2],
    /// Two points of the second.
    pub at: [String; 2],
    /// The ratio between the two points of the first axis, at each of the two points of the second.
    pub ratios: [f64; 2],
    /// The second of these ratios over the first.
    pub comparison: Comparison,
}

/// The result of one figure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Standing {
    /// Number of the figure.
    pub figure: usize,
    /// The configuration that others are compared with.
    pub baseline: usize,
    /// The best configuration; `None` without values, and where axes are given.
    pub best: Option<usize>,
    /// Where axes are given: the result under each condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<GivenCondition>,
    /// The typical deviation of a trial, as a share; `None` when it cannot be determined.
    pub noise: Option<f64>,
    /// The distance of the limits, in standard errors.
    pub critical: Option<f64>,
    /// The effect of each varied axis, the most important first.
    pub axes: Vec<AxisEffect>,
    /// Interactions for which the data decide.
    pub interactions: Vec<Interaction>,
    /// Trials far from what the others predict.
    pub far: Vec<FarValue>,
}

impl Standing {
    /// The configuration that this one is compared with.
    pub fn baseline_of(&self, configuration: usize) -> usize {
        self.condition_of(configuration).map_or(self.baseline, |condition| condition.baseline)
    }

    /// The best configuration that this one may be compared with.
    pub fn best_for(&self, configuration: usize) -> Option<usize> {
        self.condition_of(configuration).map_or(self.best, |condition| condition.best)
    }

    fn condition_of(&self, configuration: usize) -> Option<&GivenCondition> {
        self.conditions.iter().find(|condition| condition.configurations.contains(&configuration))
    }
}

/// A trial that is far from what its block and its configuration predict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FarValue {
    /// Number of the configuration.
    pub configuration: usize,
    /// Block, from 0.
    pub block: u32,
    /// Its value over the predicted one.
    pub ratio: f64,
}

/// A trial that deviates by less than this factor is not reported, however little the others vary.
const LEAST_TOLD: f64 = 1.1;
/// With more configurations, not every pair is kept.
const MOST_KEPT: usize = 30;

/// The families of a study's figures. Figures with the same trials share a family, because
/// computing its limits takes long.
pub(crate) struct Families<'a> {
    grid: Grid<'a>,
    statements: Vec<(About, Weights)>,
    known: Vec<(Vec<Vec<bool>>, Family)>,
}

impl<'a> Families<'a> {
    pub(crate) fn new(study: &Study, design: &'a Design) -> Families<'a> {
        let grid = Grid::new(study, design);
        let statements = grid.statements();
        Families { grid, statements, known: Vec::new() }
    }

    /// The family for trials that are all there, for the plan of a study.
    pub(crate) fn planned(&self, blocks: u32) -> Family {
        let present = vec![vec![true; blocks as usize]; self.grid.design.configurations.len()];
        Family::for_plan(&present, &self.weights())
    }

    fn weights(&self) -> Vec<Weights> {
        self.statements.iter().map(|statement| statement.1.clone()).collect()
    }

    fn of(&mut self, present: Vec<Vec<bool>>) -> &Family {
        let place = self.known.iter().position(|one| one.0 == present).unwrap_or_else(|| {
            let family = Family::new(&present, &self.weights());
            self.known.push((present, family));
            self.known.len() - 1
        });
        &self.known[place].1
    }

    /// All results for one figure.
    pub(crate) fn judge(
        &mut self,
        number: usize,
        figure: &Figure,
        rows: &[FigureValues],
        rules: &DecisionRules,
    ) -> (Vec<Contrast>, Standing) {
        let (present, logs) = logarithms(rows);
        let family = self.of(present).clone();
        let said = family.state(&logs);
        let judged = Judged { grid: &self.grid, family: &family, said: &said, rows, figure, rules };
        let standing = judged.standing(number, &self.statements);
        let mut contrasts = judged.contrasts(number, &self.statements);
        if self.grid.points.len() > MOST_KEPT {
            let mut kept = self.grid.planned();
            kept.arrange();
            contrasts.retain(|one| {
                let pair = [(one.baseline, one.candidate), (one.candidate, one.baseline)];
                let is_best = |number: usize| standing.best_for(number) == Some(number);
                pair.iter().any(|pair| kept.binary_search(pair).is_ok() || is_best(pair.0))
            });
        }
        (contrasts, standing)
    }
}

/// Which trials have a positive value, and its logarithm; 0 for the others.
pub(crate) fn logarithms(rows: &[FigureValues]) -> (Vec<Vec<bool>>, Vec<Vec<f64>>) {
    let log = |value: &Option<f64>| value.filter(|value| value.is_finite() && *value > 0.0).map(f64::ln);
    let logs: Vec<Vec<Option<f64>>> = rows.iter().map(|row| row.values.iter().map(log).collect()).collect();
    let present = logs.iter().map(|row| row.iter().map(Option::is_some).collect()).collect();
    (present, logs.into_iter().map(|row| row.into_iter().map(|value| value.unwrap_or(0.0)).collect()).collect())
}

/// One figure with its estimates.
struct Judged<'a> {
    grid: &'a Grid<'a>,
    family: &'a Family,
    said: &'a Statements,
    rows: &'a [FigureValues],
    figure: &'a Figure,
    rules: &'a DecisionRules,
}

impl Judged<'_> {
    fn comparison(&self, stated: &Stated, repeats: usize) -> Comparison {
        let freedom = self.family.freedom();
        let evidence = Evidence {
            repeats,
            pairing: Pairing::Blocks,
            estimate: stated.estimate,
            error: if freedom == 0 { f64::INFINITY } else { stated.error },
            freedom: freedom as f64,
            critical: self.family.critical(self.rules.confidence),
            adjusted_p: if freedom == 0 { 1.0 } else { stated.adjusted_p },
        };
        Comparison::new(&evidence, self.figure.better(), self.rules)
    }

    /// Number of blocks behind a statement: the smallest number of trials of a configuration in it.
    fn repeats(&self, weights: &Weights) -> usize {
        let trials = |(number, _): &(usize, f64)| self.rows[*number].values.iter().flatten().count();
        weights.iter().map(trials).min().unwrap_or(0)
    }

    fn contrasts(&self, number: usize, statements: &[(About, Weights)]) -> Vec<Contrast> {
        let of = |((about, weights), stated): (&(About, Weights), &Option<Stated>)| {
            let (About::Pair(baseline, candidate), Some(stated)) = (*about, stated) else { return None };
            let both = self.rows[baseline].values.iter().zip(&self.rows[candidate].values);
            let (theirs, ours): (Vec<f64>, Vec<f64>) = both
                .filter_map(|(one, other)| Some(((*one)?, (*other)?)))
                .filter(|both| both.0 > 0.0 && both.1 > 0.0)
                .unzip();
            let comparison = self.comparison(stated, self.repeats(weights)).with_pairs(&theirs, &ours);
            Some(Contrast { figure: number, baseline, candidate, comparison })
        };
        statements.iter().zip(&self.said.stated).filter_map(of).collect()
    }

    fn standing(&self, number: usize, statements: &[(About, Weights)]) -> Standing {
        let far = |one: &&FarTrial| one.spreads >= VERY_FAR && one.distance.abs() >= LEAST_TOLD.ln();
        let value = |one: &FarTrial| FarValue {
            configuration: one.configuration,
            block: one.block as u32,
            ratio: one.distance.exp(),
        };
        let both = || statements.iter().zip(&self.said.stated);
        let interactions = both().filter_map(|((about, weights), stated)| match about {
            About::Interaction { axes, of, at } => self.interaction(*axes, *of, *at, weights, stated.as_ref()?),
            _ => None,
        });
        let conditions = self.conditions();
        let all: Vec<usize> = (0..self.rows.len()).collect();
        Standing {
            figure: number,
            baseline: self.grid.baseline(),
            best: if conditions.is_empty() { self.best(&all) } else { None },
            conditions,
            noise: (self.family.freedom() > 0).then(|| self.said.spread.exp_m1()),
            critical: self.family.critical(self.rules.confidence),
            axes: self.axes(both().map(|((about, weights), stated)| (*about, weights, stated))),
            interactions: largest_of_each(interactions.collect()),
            far: self.said.far.iter().filter(far).map(value).collect(),
        }
    }

    fn conditions(&self) -> Vec<GivenCondition> {
        let given = self.grid.given_axes();
        let of = |configurations: Vec<usize>| {
            let points = &self.grid.design.configurations[configurations[0]].points;
            GivenCondition {
                points: given.iter().map(|axis| (*axis, points[*axis].clone())).collect(),
                baseline: self.grid.baseline_of(configurations[0]),
                best: self.best(&configurations),
                configurations,
            }
        };
        self.grid.conditions().into_iter().map(of).collect()
    }

    /// The configuration with the best effect, among those of these that have values.
    fn best(&self, among: &[usize]) -> Option<usize> {
        use iolab_statistics::Better;
        let known = among.iter().copied().filter(|number| self.rows[*number].median.is_some());
        let effect = |number: &usize| match self.figure.better() {
            Better::Higher => self.said.effects[*number],
            Better::Lower => -self.said.effects[*number],
        };
        known.reduce(|one, other| if effect(&other) > effect(&one) { other } else { one })
    }

    fn axes<'s>(&self, statements: impl Iterator<Item = (About, &'s Weights, &'s Option<Stated>)>) -> Vec<AxisEffect> {
        let shares = self.grid.shares(&self.said.effects);
        let empty = |(number, axis): (usize, &usize)| AxisEffect {
            axis: *axis,
            share: shares.as_ref().map(|shares| shares[number]),
            points: Vec::new(),
        };
        let mut axes: Vec<AxisEffect> = self.grid.axes.iter().enumerate().map(empty).collect();
        for (about, weights, stated) in statements {
            let (About::Point { axis, baseline, point }, Some(stated)) = (about, stated) else { continue };
            let name = |point: usize| self.grid.names[axis][point].to_owned();
            let comparison = self.comparison(stated, self.repeats(weights));
            axes[axis].points.push(PointEffect { baseline: name(baseline), point: name(point), comparison });
        }
        let size = |axis: &AxisEffect| {
            let largest = axis.points.iter().map(|point| point.comparison.ratio.estimate.ln().abs());
            axis.share.unwrap_or_else(|| largest.fold(0.0, f64::max))
        };
        axes.arrange_by(|one, other| size(other).total_cmp(&size(one)));
        axes
    }

    /// An interaction, if the data decide that there is one.
    fn interaction(
        &self,
        axes: [usize; 2],
        of: [usize; 2],
        at: [usize; 2],
        weights: &Weights,
        stated: &Stated,
    ) -> Option<Interaction> {
        let comparison = self.comparison(stated, self.repeats(weights));
        if !matches!(comparison.verdict, Verdict::Better | Verdict::Worse) {
            return None;
        }
        let name = |axis: usize, point: usize| self.grid.names[axis][point].to_owned();
        // Weights come in squares: the corner, its neighbour along the first axis, then the same at
        // the other point of the second.
        let squares = weights.chunks_exact(4);
        let count = squares.len() as f64;
        let mut logs = [0.0; 2];
        for square in squares {
            let effect = |corner: usize| self.said.effects[square[corner].0];
            logs[0] += (effect(2) - effect(3)) / count;
            logs[1] += (effect(0) - effect(1)) / count;
        }
        Some(Interaction {
            axes: axes.map(|axis| self.grid.axes[axis]),
            of: of.map(|point| name(axes[0], point)),
            at: at.map(|point| name(axes[1], point)),
            ratios: logs.map(f64::exp),
            comparison,
        })
    }
}

/// Keeps the largest of the interactions of the same two axes.
fn largest_of_each(all: Vec<Interaction>) -> Vec<Interaction> {
    let size = |one: &Interaction| one.comparison.ratio.estimate.ln().abs();
    let mut kept: Vec<Interaction> = Vec::new();
    for one in all {
        match kept.iter_mut().find(|other| other.axes == one.axes) {
            Some(other) if size(&one) > size(other) => *other = one,
            Some(_) => {}
            None => kept.push(one),
        }
    }
    kept
}

impl Contrast {
    /// The comparison with the sides exchanged.
    #[must_use]
    pub fn turned(&self) -> Contrast {
        let Contrast { figure, baseline, candidate, comparison } = self;
        let ratio = &comparison.ratio;
        let verdict = match comparison.verdict {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            other => other,
        };
        let comparison = Comparison {
            ratio: Interval {
                estimate: 1.0 / ratio.estimate,
                low: 1.0 / ratio.high,
                high: 1.0 / ratio.low,
                confidence: ratio.confidence,
            },
            delta: comparison.delta.map(|delta| -delta),
            verdict,
            ..comparison.clone()
        };
        Contrast { figure: *figure, baseline: *candidate, candidate: *baseline, comparison }
    }
}
