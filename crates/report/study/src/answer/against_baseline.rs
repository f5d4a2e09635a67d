//! What each choice costs or gains against the baseline that the author named, under each
//! condition.
//!
//! The best choice alone answers little if the question is what the others cost: layers above one
//! disk, say, where the disk itself wins. With two choices, the sentence about the best says it
//! all.

use iolab_order::Arrange;
use iolab_statistics::{Better, Verdict};
use iolab_text::counted;

use super::Results;
use crate::comparisons::{Contrast, Standing};
use crate::conditions::GivenCondition;
use crate::words::{ratio_with_limits, ratio_words};
use crate::{Figure, shown};

/// Most choices named for a condition; further ones are counted.
const MOST_NAMED: usize = 6;

impl Results<'_> {
    /// Whether the study asks for this comparison.
    fn asks_for_costs(&self, standing: &Standing) -> bool {
        let most = standing.conditions.iter().map(|condition| condition.configurations.len()).max().unwrap_or(0);
        self.names_baseline && most > 2 && self.analysis.figures[standing.figure].is_judged()
    }

    /// The choice that costs most and the one that gains most, over all conditions.
    pub(super) fn extremes(&self, standing: &Standing) -> Option<String> {
        if !self.asks_for_costs(standing) {
            return None;
        }
        let mut axes = standing.axes.iter().filter(|axis| !axis.points.is_empty());
        let (axis, None) = (axes.next()?, axes.next()) else { return None };
        let figure = &self.analysis.figures[standing.figure];
        let harm = |ratio: f64| if figure.better() == Better::Lower { ratio.ln() } else { -ratio.ln() };
        let mut points: Vec<_> = axis.points.iter().filter(|point| !is_open(point.comparison.verdict)).collect();
        points.arrange_by(|one, other| {
            harm(other.comparison.ratio.estimate).total_cmp(&harm(one.comparison.ratio.estimate))
        });
        let told = |point: &crate::PointEffect| ratio_with_limits(&point.comparison.ratio);
        let worst = points.first().filter(|point| point.comparison.verdict == Verdict::Worse);
        let best = points.last().filter(|point| point.comparison.verdict == Verdict::Better);
        let words: Vec<String> = [
            worst.map(|point| format!("{} costs most, {}", point.point, told(point))),
            best.map(|point| format!("{} gains most, {}", point.point, told(point))),
        ]
        .into_iter()
        .flatten()
        .collect();
        let given = counted(standing.conditions.len() as u64, "condition");
        let against = axis.points.first().map(|point| point.baseline.as_str())?;
        (!words.is_empty()).then(|| format!("against {against}, over all {given}: {}", words.join("; ")))
    }

    /// A line for each condition: what each choice adds to the baseline, or takes from it.
    pub(super) fn costs(&self, standing: &Standing) -> Vec<String> {
        if !self.asks_for_costs(standing) {
            return Vec::new();
        }
        standing.conditions.iter().filter_map(|condition| self.costs_under(standing, condition)).collect()
    }

    fn costs_under(&self, standing: &Standing, condition: &GivenCondition) -> Option<String> {
        let figure = &self.analysis.figures[standing.figure];
        let base = self.analysis.row(standing.figure, condition.baseline)?.median.as_ref()?.estimate;
        let others = condition.configurations.iter().filter(|one| **one != condition.baseline);
        let mut contrasts: Vec<Contrast> =
            others.filter_map(|one| self.analysis.contrast(standing.figure, condition.baseline, *one)).collect();
        let size = |one: &Contrast| one.comparison.ratio.estimate.ln().abs();
        contrasts.arrange_by(|one, other| size(other).total_cmp(&size(one)));
        let has_verdicts = contrasts.iter().all(|one| one.comparison.blocks >= self.rules.least_blocks);
        let (open, certain): (Vec<&Contrast>, Vec<&Contrast>) =
            contrasts.iter().partition(|one| has_verdicts && is_open(one.comparison.verdict));
        let is_choice = |axis: usize| condition.points.iter().all(|(given, _)| *given != axis);
        let name = |configuration: usize| self.choice(configuration, is_choice);
        let mut told: Vec<String> = certain
            .iter()
            .take(MOST_NAMED)
            .map(|one| format!("{} {}", name(one.candidate), cost(figure, base, one, has_verdicts)))
            .collect();
        if certain.len() > MOST_NAMED {
            told.push(format!("{} less", counted((certain.len() - MOST_NAMED) as u64, "other")));
        }
        if !open.is_empty() {
            told.push(format!("no certain difference: {}", counted(open.len() as u64, "choice")));
        }
        let point = |(axis, point): &(usize, String)| format!("{}={point}", self.design.axes[*axis]);
        let points: Vec<String> = condition.points.iter().map(point).collect();
        let doubt = if has_verdicts { "" } else { ", not certain yet" };
        Some(format!(
            "{} ({}{doubt}): {} has {}; {}",
            points.join(", "),
            figure.name(),
            name(condition.baseline),
            shown(figure, base),
            told.join("; ")
        ))
    }

    /// The points of a configuration on the axes of choices; without the name of the axis if there
    /// is only one.
    fn choice(&self, configuration: usize, is_choice: impl Fn(usize) -> bool) -> String {
        let points = &self.design.configurations[configuration].points;
        match (0..points.len()).filter(|axis| is_choice(*axis)).collect::<Vec<usize>>().as_slice() {
            [only] => points[*only].clone(),
            _ => self.design.label_on(configuration, is_choice),
        }
    }
}

fn is_open(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Undecided { .. })
}

/// A difference in the words of its figure: times are added, rates change by a share. Limits of too
/// few repeats are left out: they say nothing.
fn cost(figure: &Figure, base: f64, contrast: &Contrast, has_limits: bool) -> String {
    let ratio = &contrast.comparison.ratio;
    if contrast.comparison.verdict == Verdict::Equivalent {
        return "equivalent".to_owned();
    }
    let [estimate, low, high] = [ratio.estimate, ratio.low, ratio.high].map(|ratio| (ratio - 1.0) * base);
    let change = &ratio_words(ratio)[0];
    if figure.unit() != "ns" {
        return if has_limits { ratio_with_limits(ratio) } else { change.clone() };
    }
    let adds = estimate >= 0.0;
    let (low, high) = if adds { (low, high) } else { (-high, -low) };
    let time = |ns: f64| if ns < 0.0 { format!("-{}", shown(figure, -ns)) } else { shown(figure, ns) };
    let verb = if adds { "adds" } else { "saves" };
    let limits = if has_limits { format!(" [{}, {}]", time(low), time(high)) } else { String::new() };
    format!("{verb} {}{limits} ({change})", time(estimate.abs()))
}
