//! Which configuration is best in each figure: the conclusions of a study as data, before they
//! become sentences.
//!
//! Configurations that differ only in the compared axis form a *contest*. In each contest the
//! configuration with the best median is compared with every other one. All comparisons come from
//! the study's analysis, whose limits hold together for every two configurations; so choosing the
//! best after having seen the figures is accounted for.

use iolab_order::Arrange;
use iolab_statistics::{Better, Comparison, DecisionRules, Interval};
use iolab_study::{Analysis, Contrast, Design, FigureValues, Study};

/// A study and its result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome<'a> {
    pub(crate) study: &'a Study,
    pub(crate) design: &'a Design,
    pub(crate) analysis: &'a Analysis,
    pub(crate) rules: &'a DecisionRules,
}

/// Configurations that differ only in the compared axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contest {
    /// Numbers of the configurations.
    pub(crate) members: Vec<usize>,
    /// What they have in common: axis and point.
    pub(crate) common: Vec<(String, String)>,
}

/// The result of one contest in one figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standing {
    /// What the members have in common.
    pub(crate) common: Vec<(String, String)>,
    /// The configuration with the best median.
    pub(crate) best: usize,
    /// Its median.
    pub(crate) median: Interval,
    /// The best compared with the others, the nearest first.
    pub(crate) rivals: Vec<Rival>,
    /// Members without a value.
    pub(crate) unknown: Vec<usize>,
}

/// A configuration that is not the best.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rival {
    pub(crate) configuration: usize,
    /// The ratio of the best to this one.
    pub(crate) comparison: Comparison,
}

impl<'a> Outcome<'a> {
    /// The axis along which configurations are compared.
    pub(crate) fn compared_axis(&self) -> Option<usize> {
        let design = self.design;
        let named = || {
            let (name, _) = self.study.baseline.as_ref()?;
            design.axes.iter().position(|axis| axis == name)
        };
        let first = || (0..design.axes.len()).find(|axis| self.points(*axis).len() > 1);
        named().or_else(first)
    }

    /// The points of an axis that configurations have, in the order of the design.
    pub(crate) fn points(&self, axis: usize) -> Vec<&'a str> {
        let mut points: Vec<&str> = Vec::new();
        for configuration in &self.design.configurations {
            if !points.contains(&configuration.points[axis].as_str()) {
                points.push(&configuration.points[axis]);
            }
        }
        points
    }

    /// Axes with more than one point.
    pub(crate) fn varied_axes(&self) -> Vec<usize> {
        (0..self.design.axes.len()).filter(|axis| self.points(*axis).len() > 1).collect()
    }

    /// The name of a configuration: its points on all axes that vary ([`told`](Self::told)).
    pub(crate) fn name(&self, configuration: usize) -> String {
        self.named_by(configuration, |axis, point| self.told(axis, point))
    }

    /// A point; one that begins with a number has the name of its axis, others explain themselves:
    /// `randread`, `iodepth=8`.
    fn told(&self, axis: usize, point: &str) -> String {
        let is_number = point.starts_with(|first: char| first.is_ascii_digit());
        if is_number { format!("{}={point}", self.design.axes[axis]) } else { point.to_owned() }
    }

    /// The points of a configuration, and of the other those in which it differs, as short as the
    /// lines of a figure need it: `randread, 8 / 1`.
    pub(crate) fn against(&self, candidate: usize, baseline: usize) -> String {
        let of = |configuration: usize| &self.design.configurations[configuration].points;
        let differing = of(baseline).iter().zip(of(candidate)).filter(|(one, other)| one != other);
        let differing: Vec<&str> = differing.map(|(one, _)| one.as_str()).collect();
        format!("{} / {}", self.named_by(candidate, |_, point| point.to_owned()), differing.join(", "))
    }

    /// The points of a configuration on all axes that vary, or on all axes if none does.
    fn named_by(&self, configuration: usize, told: impl Fn(usize, &str) -> String) -> String {
        let points = &self.design.configurations[configuration].points;
        let varied = self.varied_axes();
        let axes = if varied.is_empty() { (0..points.len()).collect() } else { varied };
        axes.into_iter().map(|axis| told(axis, &points[axis])).collect::<Vec<_>>().join(", ")
    }

    /// What distinguishes a baseline from a candidate, with the names of the axes:
    /// `ioengine=psync`.
    pub(crate) fn baseline_of(&self, candidate: usize, baseline: usize) -> String {
        let of = |configuration: usize| &self.design.configurations[configuration].points;
        self.design.label_on(baseline, |axis| of(baseline)[axis] != of(candidate)[axis])
    }

    /// The name of a configuration within its contest.
    pub(crate) fn short_name(&self, configuration: usize) -> String {
        let points = &self.design.configurations[configuration].points;
        self.compared_axis().map_or_else(|| "the only configuration".to_owned(), |axis| self.told(axis, &points[axis]))
    }

    pub(crate) fn row(&self, figure: usize, configuration: usize) -> Option<&'a FigureValues> {
        self.analysis.row(figure, configuration)
    }

    /// All contests, in the order of the design.
    pub(crate) fn contests(&self) -> Vec<Contest> {
        let compared = self.compared_axis();
        let common = |number: usize| -> Vec<(String, String)> {
            let points = &self.design.configurations[number].points;
            let axes = self.varied_axes().into_iter().filter(|axis| Some(*axis) != compared);
            axes.map(|axis| (self.design.axes[axis].clone(), points[axis].clone())).collect()
        };
        let mut contests: Vec<Contest> = Vec::new();
        for number in 0..self.design.configurations.len() {
            let common = common(number);
            match contests.iter_mut().find(|contest| contest.common == common) {
                Some(contest) => contest.members.push(number),
                None => contests.push(Contest { members: vec![number], common }),
            }
        }
        contests
    }

    /// The results of all contests in one figure; contests without any value are left out.
    pub(crate) fn standings(&self, figure: usize) -> Vec<Standing> {
        let better = self.analysis.figures[figure].better();
        self.contests().into_iter().filter_map(|contest| self.standing(figure, contest, better)).collect()
    }

    fn standing(&self, figure: usize, contest: Contest, better: Better) -> Option<Standing> {
        let median = |number: usize| self.row(figure, number).and_then(|row| row.median);
        let (known, unknown): (Vec<usize>, Vec<usize>) =
            contest.members.iter().partition(|one| median(**one).is_some());
        let value = |number: &usize| median(*number).map_or(f64::NAN, |median| median.estimate);
        let best = *known.iter().reduce(|one, other| match better {
            Better::Higher if value(other) > value(one) => other,
            Better::Lower if value(other) < value(one) => other,
            _ => one,
        })?;
        let rival = |configuration: usize| {
            let contrast = self.analysis.contrast(figure, configuration, best)?;
            Some(Rival { configuration, comparison: contrast.comparison })
        };
        let mut rivals: Vec<Rival> = known.iter().copied().filter(|one| *one != best).filter_map(rival).collect();
        let distance = |rival: &Rival| rival.comparison.ratio.estimate.ln().abs();
        rivals.arrange_by(|one, other| distance(one).total_cmp(&distance(other)));
        Some(Standing { common: contest.common, best, median: median(best)?, rivals, unknown })
    }

    /// The comparisons shown in full. If the study names a baseline or varies one axis: each
    /// configuration against the one that differs from it only in that axis. Otherwise: each
    /// against the baseline of all axes.
    pub(crate) fn shown_contrasts(&self, figure: usize) -> Vec<Contrast> {
        let base = self.analysis.standings.iter().find(|one| one.figure == figure).map_or(0, |one| one.baseline);
        let axis = self.compared_axis().filter(|_| self.study.baseline.is_some() || self.varied_axes().len() == 1);
        let twin = |candidate: usize| {
            let Some(axis) = axis else { return Some(base) };
            let mut points = self.design.configurations[candidate].points.clone();
            points[axis] = self.design.configurations[base].points[axis].clone();
            self.design.configurations.iter().position(|other| other.points == points)
        };
        let all = 0..self.design.configurations.len();
        let pairs = all.filter_map(|candidate| Some((twin(candidate).filter(|twin| *twin != candidate)?, candidate)));
        pairs.filter_map(|(twin, candidate)| self.analysis.contrast(figure, twin, candidate)).collect()
    }
}
