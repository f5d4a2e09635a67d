//! All statements about a design: every pair of configurations, the effect of each point of an axis
//! over all others, and the interaction of two axes.
//!
//! Each statement is a weighted sum of the effects of configurations (see
//! `iolab_statistics::Weights`).

use iolab_order::Arrange;
use iolab_statistics::Weights;

use crate::{Design, Study};

/// With more configurations, the family does not contain every pair: only comparisons with the
/// baseline, and configurations that differ in one axis.
const MOST_PAIRED: usize = 120;
/// Most interactions of the points of two axes that are examined; with more, only those with the
/// first points.
const MOST_INTERACTIONS: usize = 100;

/// The subject of a statement of the family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum About {
    Pair(usize, usize),
    Point { axis: usize, baseline: usize, point: usize },
    Interaction { axes: [usize; 2], of: [usize; 2], at: [usize; 2] },
}

/// The design as numbers: the points of each configuration on the axes that vary.
pub(crate) struct Grid<'a> {
    pub(crate) design: &'a Design,
    pub(crate) axes: Vec<usize>,
    /// Names of the points of each varied axis, the axis' baseline first.
    pub(crate) names: Vec<Vec<&'a str>>,
    /// By configuration, then varied axis.
    pub(crate) points: Vec<Vec<usize>>,
    /// Whether the points of each varied axis are conditions.
    given: Vec<bool>,
}

impl<'a> Grid<'a> {
    pub(crate) fn new(study: &Study, design: &'a Design) -> Grid<'a> {
        let (mut axes, mut names) = (Vec::new(), Vec::new());
        for (axis, name) in design.axes.iter().enumerate() {
            let mut own: Vec<&str> = Vec::new();
            for made in &design.configurations {
                if !own.contains(&made.points[axis].as_str()) {
                    own.push(&made.points[axis]);
                }
            }
            if own.len() < 2 {
                continue;
            }
            if let Some((_, point)) = study.baseline.as_ref().filter(|(of, _)| of == name)
                && let Some(place) = own.iter().position(|other| other == point)
            {
                let point = own.remove(place);
                own.insert(0, point);
            }
            axes.push(axis);
            names.push(own);
        }
        let place = |(number, axis): (usize, &usize), points: &[String]| {
            let point = points[*axis].as_str();
            names[number].iter().position(|other| *other == point).unwrap_or(0)
        };
        let points = design.configurations.iter();
        let points = points.map(|made| axes.iter().enumerate().map(|one| place(one, &made.points)).collect()).collect();
        let is_given = |axis: &usize| study.axes.get(*axis).is_some_and(|axis| axis.given);
        let mut given: Vec<bool> = axes.iter().map(is_given).collect();
        // Without a choice there would be nothing to compare.
        if given.iter().all(|given| *given) {
            given.fill(false);
        }
        Grid { design, axes, names, points, given }
    }

    /// The configuration that others are compared with: the one with the most axes at their
    /// baselines.
    pub(crate) fn baseline(&self) -> usize {
        self.at_rest(|_| true)
    }

    /// The configuration that this one is compared with: the baseline under the same condition.
    pub(crate) fn baseline_of(&self, configuration: usize) -> usize {
        self.at_rest(|other| self.is_same_condition(configuration, other))
    }

    fn at_rest(&self, is_wanted: impl Fn(usize) -> bool) -> usize {
        let moved = |points: &Vec<usize>| points.iter().filter(|point| **point != 0).count();
        let wanted = (0..self.points.len()).filter(|number| is_wanted(*number));
        wanted.min_by_key(|number| moved(&self.points[*number])).unwrap_or(0)
    }

    fn is_same_condition(&self, one: usize, other: usize) -> bool {
        let both = self.points[one].iter().zip(&self.points[other]).zip(&self.given);
        both.filter(|(_, given)| **given).all(|((one, other), _)| one == other)
    }

    /// The configurations under each condition, in the order of the design; nothing if no axis is
    /// given.
    pub(crate) fn conditions(&self) -> Vec<Vec<usize>> {
        let mut conditions: Vec<Vec<usize>> = Vec::new();
        for number in (0..self.points.len()).filter(|_| self.given.contains(&true)) {
            match conditions.iter_mut().find(|condition| self.is_same_condition(condition[0], number)) {
                Some(condition) => condition.push(number),
                None => conditions.push(vec![number]),
            }
        }
        conditions
    }

    /// Numbers of the axes of the design whose points are conditions.
    pub(crate) fn given_axes(&self) -> Vec<usize> {
        self.axes.iter().zip(&self.given).filter(|(_, given)| **given).map(|(axis, _)| *axis).collect()
    }

    fn find(&self, points: &[usize]) -> Option<usize> {
        self.points.iter().position(|other| other == points)
    }

    /// The configuration that has other points on some axes.
    fn moved(&self, from: usize, to: &[(usize, usize)]) -> Option<usize> {
        let mut points = self.points[from].clone();
        to.iter().for_each(|(axis, point)| points[*axis] = *point);
        self.find(&points)
    }

    /// Pairs to keep, which are all pairs of the family with many configurations: each
    /// configuration against those at the baseline of one axis, and against the overall baseline.
    pub(crate) fn planned(&self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for candidate in 0..self.points.len() {
            let chosen = (0..self.axes.len()).filter(|axis| !self.given[*axis]);
            let twins = chosen.filter_map(|axis| self.moved(candidate, &[(axis, 0)]));
            let twins = twins.chain([self.baseline_of(candidate)]).filter(|twin| *twin != candidate);
            pairs.extend(twins.map(|twin| (twin, candidate)));
        }
        pairs.arrange();
        pairs.dedup();
        pairs
    }

    pub(crate) fn statements(&self) -> Vec<(About, Weights)> {
        let count = self.points.len();
        let pairs: Vec<(usize, usize)> = match count <= MOST_PAIRED {
            true => {
                let all = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
                all.filter(|(one, other)| self.is_same_condition(*one, *other)).collect()
            }
            false => self.planned(),
        };
        let pair = |(one, other)| (About::Pair(one, other), vec![(other, 1.0), (one, -1.0)]);
        let mut all: Vec<(About, Weights)> = pairs.into_iter().map(pair).collect();
        if self.axes.len() > 1 {
            let axes = || 0..self.axes.len();
            all.extend(axes().filter(|axis| !self.given[*axis]).flat_map(|axis| self.of_axis(axis)));
            for (first, second) in axes().flat_map(|first| (first + 1..self.axes.len()).map(move |one| (first, one))) {
                match [self.given[first], self.given[second]] {
                    [true, true] => {}
                    // What a choice does, under two conditions.
                    [true, false] => all.extend(self.of_two(second, first)),
                    _ => all.extend(self.of_two(first, second)),
                }
            }
        }
        all
    }

    /// Each point against the axis' first point, over all configurations that have both.
    fn of_axis(&self, axis: usize) -> Vec<(About, Weights)> {
        let of = |point: usize| {
            let with = (0..self.points.len()).filter(|number| self.points[*number][axis] == point);
            let both: Vec<(usize, usize)> =
                with.filter_map(|number| Some((number, self.moved(number, &[(axis, 0)])?))).collect();
            let part = 1.0 / both.len() as f64;
            let weights = both.iter().flat_map(|(one, twin)| [(*one, part), (*twin, -part)]).collect();
            (!both.is_empty()).then_some((About::Point { axis, baseline: 0, point }, weights))
        };
        (1..self.names[axis].len()).filter_map(of).collect()
    }

    /// The effect of two points of one axis at two points of another.
    fn of_two(&self, first: usize, second: usize) -> Vec<(About, Weights)> {
        let pairs = |axis: usize| {
            let count = self.names[axis].len();
            (0..count).flat_map(move |from| (from + 1..count).map(move |to| [from, to])).collect::<Vec<_>>()
        };
        let (mut ours, mut theirs) = (pairs(first), pairs(second));
        if ours.len() * theirs.len() > MOST_INTERACTIONS {
            ours.retain(|pair| pair[0] == 0);
            theirs.retain(|pair| pair[0] == 0);
        }
        let both = ours.iter().flat_map(|of| theirs.iter().map(move |at| (*of, *at)));
        both.filter_map(|(of, at)| self.interaction([first, second], of, at)).collect()
    }

    fn interaction(&self, axes: [usize; 2], of: [usize; 2], at: [usize; 2]) -> Option<(About, Weights)> {
        let corner = |number: &usize| self.points[*number][axes[0]] == of[1] && self.points[*number][axes[1]] == at[1];
        let square = |number: usize| {
            let to = |one: usize, other: usize| self.moved(number, &[(axes[0], one), (axes[1], other)]);
            Some([number, to(of[0], at[1])?, to(of[1], at[0])?, to(of[0], at[0])?])
        };
        let squares: Vec<[usize; 4]> = (0..self.points.len()).filter(corner).filter_map(square).collect();
        let part = 1.0 / squares.len() as f64;
        let signs = [part, -part, -part, part];
        let weights = squares.iter().flat_map(|square| square.iter().copied().zip(signs)).collect();
        (!squares.is_empty()).then_some((About::Interaction { axes, of, at }, weights))
    }

    /// Shares of the variance between configurations, by varied axis; `None` unless every
    /// combination exists.
    pub(crate) fn shares(&self, effects: &[f64]) -> Option<Vec<f64>> {
        let size: usize = self.names.iter().map(Vec::len).product();
        let mean = effects.iter().sum::<f64>() / effects.len() as f64;
        let total: f64 = effects.iter().map(|effect| (effect - mean).powi(2)).sum();
        if size != self.points.len() || total <= 0.0 {
            return None;
        }
        let share = |axis: usize| {
            let of = |point: usize| {
                let own = (0..effects.len()).filter(|number| self.points[*number][axis] == point);
                let own: Vec<f64> = own.map(|number| effects[number]).collect();
                let middle = own.iter().sum::<f64>() / own.len() as f64;
                own.len() as f64 * (middle - mean).powi(2)
            };
            (0..self.names[axis].len()).map(of).sum::<f64>() / total
        };
        Some((0..self.axes.len()).map(share).collect())
    }
}
