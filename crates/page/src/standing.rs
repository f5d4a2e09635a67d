//! Who is best at what: the conclusions of a study as data, before they become sentences.
//!
//! Configurations that differ in the compared axis only form a *contest*. In each contest the configuration with the best median is
//! held against every other one of it. Against the baseline the study's own comparison counts; the others are made here, after the
//! fact, and corrected together (Holm), so that choosing the best after having seen the figures is paid for.

use iolab_statistics::{Better, Comparison, Interval, Rules, Verdict, compare, settle};
use iolab_study::{Analysis, Contrast, Design, Row, Study};

/// A study and what came of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome<'a> {
    pub(crate) study: &'a Study,
    pub(crate) design: &'a Design,
    pub(crate) analysis: &'a Analysis,
    pub(crate) rules: &'a Rules,
}

/// Configurations that differ in the compared axis only.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contest {
    /// Numbers of the configurations.
    pub(crate) members: Vec<usize>,
    /// What they have in common: axis and point.
    pub(crate) common: Vec<(String, String)>,
}

/// What became of one contest in one figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standing {
    /// What the members have in common.
    pub(crate) common: Vec<(String, String)>,
    /// The configuration with the best median.
    pub(crate) best: usize,
    /// Its median.
    pub(crate) median: Interval,
    /// The best held against the others, the nearest first.
    pub(crate) rivals: Vec<Rival>,
    /// Members without a value.
    pub(crate) unknown: Vec<usize>,
}

/// One that is not the best.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rival {
    pub(crate) configuration: usize,
    /// Best over this one.
    pub(crate) ratio: Interval,
    pub(crate) verdict: Verdict,
}

impl<'a> Outcome<'a> {
    /// The axis along which configurations are compared.
    pub(crate) fn compared_axis(&self) -> Option<usize> {
        let design = self.design;
        let differ = |contrast: &Contrast| {
            let pair = [contrast.baseline, contrast.candidate].map(|number| &design.configurations[number].points);
            (0..design.axes.len()).find(|axis| pair[0][*axis] != pair[1][*axis])
        };
        let named = || {
            let (name, _) = self.study.baseline.as_ref()?;
            design.axes.iter().position(|axis| axis == name)
        };
        let first = || (0..design.axes.len()).find(|axis| self.points(*axis).len() > 1);
        self.analysis.contrasts.first().and_then(differ).or_else(named).or_else(first)
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

    /// Axes of which there is more than one point.
    pub(crate) fn varied_axes(&self) -> Vec<usize> {
        (0..self.design.axes.len()).filter(|axis| self.points(*axis).len() > 1).collect()
    }

    /// The name of a configuration: its points on all axes that vary.
    pub(crate) fn name(&self, configuration: usize) -> String {
        let axes = self.varied_axes();
        let points = &self.design.configurations[configuration].points;
        match axes.len() {
            0 => points.join(", "),
            _ => axes.iter().map(|axis| points[*axis].as_str()).collect::<Vec<_>>().join(", "),
        }
    }

    /// The name of a configuration within its contest.
    pub(crate) fn short_name(&self, configuration: usize) -> &'a str {
        self.compared_axis()
            .map_or("the only configuration", |axis| &self.design.configurations[configuration].points[axis])
    }

    pub(crate) fn row(&self, figure: usize, configuration: usize) -> Option<&'a Row> {
        self.analysis.rows.iter().find(|row| row.figure == figure && row.configuration == configuration)
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

    /// How all contests ended in a figure; contests without any value are not there.
    pub(crate) fn standings(&self, figure: usize) -> Vec<Standing> {
        let better = self.analysis.figures[figure].better();
        let mut standings: Vec<Standing> =
            self.contests().into_iter().filter_map(|contest| self.standing(figure, contest, better)).collect();
        self.settle_rivals(figure, better, &mut standings);
        standings
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
        // Verdicts are filled in when all contests are known.
        let undecided = Verdict::Inconclusive { more_blocks: None };
        let rival = |configuration: usize| Rival { configuration, ratio: flat(), verdict: undecided };
        let rivals = known.iter().copied().filter(|one| *one != best).map(rival).collect();
        Some(Standing { common: contest.common, best, median: median(best)?, rivals, unknown })
    }

    fn settle_rivals(&self, figure: usize, better: Better, standings: &mut [Standing]) {
        let mut places = Vec::new();
        let mut after_the_fact: Vec<Comparison> = Vec::new();
        for (place, standing) in standings.iter_mut().enumerate() {
            let best = standing.best;
            standing.rivals.retain_mut(|rival| {
                if let Some((ratio, verdict)) = self.planned(figure, best, rival.configuration) {
                    (rival.ratio, rival.verdict) = (ratio, verdict);
                    return true;
                }
                let Some(comparison) = self.compare(figure, rival.configuration, best, better) else { return false };
                places.push((place, rival.configuration));
                after_the_fact.push(comparison);
                true
            });
        }
        settle(&mut after_the_fact, self.rules);
        for ((place, configuration), comparison) in places.into_iter().zip(after_the_fact) {
            let rival = standings[place].rivals.iter_mut().find(|rival| rival.configuration == configuration);
            if let Some(rival) = rival {
                (rival.ratio, rival.verdict) = (comparison.ratio, comparison.verdict);
            }
        }
        for standing in standings {
            let distance = |rival: &Rival| rival.ratio.estimate.ln().abs();
            standing.rivals.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
        }
    }

    /// What the study itself says of the best against a rival, if one of them is the other's baseline.
    fn planned(&self, figure: usize, best: usize, rival: usize) -> Option<(Interval, Verdict)> {
        let mut own = self.analysis.contrasts.iter().filter(|contrast| contrast.figure == figure);
        own.find_map(|contrast| {
            let comparison = &contrast.comparison;
            match (contrast.candidate, contrast.baseline) {
                pair if pair == (best, rival) => Some((comparison.ratio, comparison.verdict)),
                pair if pair == (rival, best) => Some((inverted(&comparison.ratio), turned(comparison.verdict))),
                _ => None,
            }
        })
    }

    fn compare(&self, figure: usize, baseline: usize, candidate: usize, better: Better) -> Option<Comparison> {
        let pairs = self.row(figure, baseline)?.values.iter().zip(&self.row(figure, candidate)?.values);
        let (theirs, ours): (Vec<f64>, Vec<f64>) = pairs.filter_map(|(one, other)| Some(((*one)?, (*other)?))).unzip();
        compare(&theirs, &ours, better, self.rules)
    }
}

fn flat() -> Interval {
    Interval { estimate: 1.0, low: 1.0, high: 1.0, confidence: 0.0 }
}

/// The interval of the ratio the other way round.
fn inverted(ratio: &Interval) -> Interval {
    Interval {
        estimate: 1.0 / ratio.estimate,
        low: 1.0 / ratio.high,
        high: 1.0 / ratio.low,
        confidence: ratio.confidence,
    }
}

fn turned(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faster => Verdict::Slower,
        Verdict::Slower => Verdict::Faster,
        other => other,
    }
}
