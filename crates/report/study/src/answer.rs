//! The answer of a study: one sentence with figures, then the other results. Terminal and page use
//! the same text.

mod against_baseline;
mod by_condition;

use iolab_recording::Severity;
use iolab_statistics::{DecisionRules, Verdict};

use crate::comparisons::{AxisEffect, Contrast, Interaction, Standing};
use crate::words::{ratio_with_limits, size_word, word, would_decide, would_decide_all};
use crate::{Analysis, Design, Figure, Measure, Study, shown};

/// The answer of a study.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StudyAnswer {
    /// The answer itself, for the most important figure.
    pub sentence: String,
    /// Other results: axes, interactions, problems with trials.
    pub findings: Vec<String>,
    /// The result of each of the other figures, by its number.
    pub others: Vec<(usize, String)>,
}

/// The answer of a study as far as it has been run.
pub fn answer(study: &Study, design: &Design, analysis: &Analysis, rules: &DecisionRules) -> StudyAnswer {
    let results = Results { design, analysis, rules, names_baseline: study.baseline.is_some() };
    let primary = study.primary_figure();
    let Some(standing) = analysis.standings.iter().find(|one| one.figure == primary) else {
        let sentence = "The study has no metric to compare.".to_owned();
        return StudyAnswer { sentence, findings: results.about_trials(None), ..StudyAnswer::default() };
    };
    let mut findings = results.costs(standing);
    findings.extend(results.axes(standing));
    let others = analysis.standings.iter().filter(|one| one.figure != primary);
    let others = others.map(|one| (one.figure, results.sentence(one))).collect();
    findings.extend(results.about_trials(Some(standing)));
    let figure = analysis.figures[primary].name();
    let doubt = match analysis.findings.iter().find(|finding| finding.severity == Severity::Invalid) {
        Some(finding) => format!("; but see {}", finding.rule),
        None => String::new(),
    };
    StudyAnswer { sentence: format!("{} ({figure}){doubt}", results.sentence(standing)), findings, others }
}

impl Study {
    /// The number of the most important figure: the first, unless block sizes are compared by
    /// operations per second, which would favour the smallest.
    pub fn primary_figure(&self) -> usize {
        let varies_size = self.axes.iter().flat_map(|axis| &axis.points).flat_map(|point| &point.settings);
        let varies_size = varies_size.into_iter().any(|setting| ["bs", "blocksize"].contains(&setting.option.as_str()));
        let is_first_iops = self.figures.first().is_some_and(|figure| figure.measure == Measure::Iops);
        let bandwidth = self.figures.iter().position(|figure| figure.measure == Measure::Bandwidth);
        bandwidth.filter(|_| varies_size && is_first_iops).unwrap_or(0)
    }
}

impl Design {
    /// What distinguishes a configuration, with the names of the axes: `bs=64k, iodepth=32`.
    pub fn label(&self, configuration: usize) -> String {
        self.label_on(configuration, |_| true)
    }

    /// The same on the axes with these numbers.
    pub fn label_on(&self, configuration: usize, is_named: impl Fn(usize) -> bool) -> String {
        let points = &self.configurations[configuration].points;
        let varies = |axis: &usize| self.configurations.iter().any(|other| other.points[*axis] != points[*axis]);
        let axes = (0..self.axes.len()).filter(varies).filter(|axis| is_named(*axis));
        let names: Vec<String> = axes.map(|axis| format!("{}={}", self.axes[axis], points[axis])).collect();
        if names.is_empty() { "the job".to_owned() } else { names.join(", ") }
    }
}

/// Most names listed; further ones are counted.
const MOST_NAMED: usize = 3;

struct Results<'a> {
    design: &'a Design,
    analysis: &'a Analysis,
    rules: &'a DecisionRules,
    /// Whether the author said what to compare with.
    names_baseline: bool,
}

impl Results<'_> {
    /// The result of one figure.
    fn sentence(&self, standing: &Standing) -> String {
        let figure = &self.analysis.figures[standing.figure];
        if !standing.conditions.is_empty() {
            return match self.extremes(standing) {
                Some(extremes) => format!("{extremes}; {}", self.by_condition(standing, true)),
                None => self.by_condition(standing, false),
            };
        }
        let Some(best) = standing.best else { return "no trial has a value".to_owned() };
        let name = self.design.label(best);
        let value = self.value(standing.figure, best);
        let all = 0..self.design.configurations.len();
        let rivals: Vec<Contrast> = all
            .filter(|one| *one != best)
            .filter_map(|one| self.analysis.contrast(standing.figure, one, best))
            .collect();
        if rivals.is_empty() {
            return format!("{name}: {value}");
        }
        let having = |wanted: fn(Verdict) -> bool| -> Vec<&Contrast> {
            rivals.iter().filter(|one| wanted(one.comparison.verdict)).collect()
        };
        let equal = having(|verdict| verdict == Verdict::Equivalent);
        let open = having(|verdict| matches!(verdict, Verdict::Undecided { .. }));
        let superlative = if figure.is_judged() { "best" } else { "highest" };
        let base = self.against_baseline(standing, best, &rivals);
        if equal.len() == rivals.len() {
            let zone = self.rules.zone * 100.0;
            return format!("all {} configurations are equivalent, within {zone:.0} %: {value}", rivals.len() + 1);
        }
        if rivals.iter().any(|one| one.comparison.blocks < self.rules.least_blocks) {
            let decide = would_decide_all(rivals.iter().map(|one| &one.comparison), self.rules).unwrap_or_default();
            return format!("{name} looks {superlative}: {value}{base}; {decide}");
        }
        let mut text = match (open.len(), equal.len()) {
            (0, 0) => format!("{name} is {superlative}: {value}{base}"),
            (0, _) => format!("{name} is {superlative}: {value}{base}; equivalent: {}", self.names(&equal)),
            (open, _) if open == rivals.len() => {
                format!("no difference is certain yet; {name} looks {superlative}: {value}{base}")
            }
            _ => format!(
                "{name} is among the {superlative}: {value}{base}; no certain difference from {}",
                self.names(&open)
            ),
        };
        if let Some(decide) = would_decide_all(open.iter().map(|one| &one.comparison), self.rules) {
            text += &format!("; {decide}");
        }
        text
    }

    /// A figure of a configuration with its limits.
    fn value(&self, number: usize, configuration: usize) -> String {
        let figure = &self.analysis.figures[number];
        let Some(median) = self.analysis.row(number, configuration).and_then(|row| row.median) else {
            return "no value".to_owned();
        };
        let unit = if figure.measure == Measure::Iops { " IOPS" } else { "" };
        let limits = match median.low < median.high {
            true => format!(" [{}, {}]", shown(figure, median.low), shown(figure, median.high)),
            false => String::new(),
        };
        format!("{}{unit}{limits}", shown(figure, median.estimate))
    }

    /// The best configuration against the baseline, or against the next best if it is the baseline.
    fn against_baseline(&self, standing: &Standing, best: usize, rivals: &[Contrast]) -> String {
        let size = |one: &Contrast| match one.comparison.blocks < self.rules.least_blocks {
            true => format!(", {}", size_word(one.comparison.ratio.estimate)),
            false => String::new(),
        };
        if let Some(one) = rivals.iter().find(|one| one.baseline == standing.baseline) {
            let ratio = ratio_with_limits(&one.comparison.ratio);
            return format!(", {ratio} against the baseline ({}){}", self.design.label(standing.baseline), size(one));
        }
        let distance = |one: &&Contrast| one.comparison.ratio.estimate.ln().abs();
        let next = rivals.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
        let is_baseline = if best == standing.baseline { "; it is the baseline" } else { "" };
        next.map_or(String::new(), |one| {
            let ratio = ratio_with_limits(&one.comparison.ratio);
            format!("{is_baseline}, {ratio} against the next ({}){}", self.design.label(one.baseline), size(one))
        })
    }

    fn names(&self, rivals: &[&Contrast]) -> String {
        match rivals.len() {
            count if count > MOST_NAMED => format!("{count} others"),
            _ => rivals.iter().map(|one| self.design.label(one.baseline)).collect::<Vec<_>>().join(" and "),
        }
    }

    /// The effect of each axis with a choice, unless there is only one, which the sentence already
    /// covers; and interactions.
    fn axes(&self, standing: &Standing) -> Vec<String> {
        let figure = &self.analysis.figures[standing.figure];
        let chosen: Vec<&AxisEffect> = standing.axes.iter().filter(|axis| !axis.points.is_empty()).collect();
        let axes = chosen.iter().enumerate().filter(|_| chosen.len() > 1);
        let mut told: Vec<String> = axes.filter_map(|(place, axis)| self.axis(figure, place, axis)).collect();
        told.extend(standing.interactions.iter().map(|one| self.interaction(one)));
        told
    }

    fn axis(&self, figure: &Figure, place: usize, axis: &AxisEffect) -> Option<String> {
        let name = &self.design.axes[axis.axis];
        let share = axis.share.map(|share| format!(" ({:.0} % of the variation)", share * 100.0)).unwrap_or_default();
        let size = |one: &&crate::PointEffect| one.comparison.ratio.estimate.ln().abs();
        let largest = axis.points.iter().max_by(|one, other| size(one).total_cmp(&size(other)))?;
        let comparison = &largest.comparison;
        let matters = match comparison.verdict {
            Verdict::Better | Verdict::Worse if place == 0 => "matters most",
            Verdict::Better | Verdict::Worse => "matters",
            Verdict::Equivalent => "has no effect",
            Verdict::Undecided { .. } if comparison.blocks < self.rules.least_blocks => "is not certain yet",
            Verdict::Undecided { .. } => "has no clear effect",
        };
        let decide = would_decide(comparison, self.rules).map(|decide| format!("; {decide}")).unwrap_or_default();
        Some(format!(
            "{name} {matters}{share}: {} against {} is {} over all others, {}{decide}",
            largest.point,
            largest.baseline,
            ratio_with_limits(&comparison.ratio),
            word(figure, comparison.verdict),
        ))
    }

    fn interaction(&self, one: &Interaction) -> String {
        let [of, at] = one.axes.map(|axis| self.design.axes[axis].as_str());
        let ratio = |ratio: f64| format!("{ratio:.2}x");
        format!(
            "{of} and {at} interact: {of}={} against {} is {} at {at}={}, and {} at {at}={}",
            one.of[1],
            one.of[0],
            ratio(one.ratios[0]),
            one.at[0],
            ratio(one.ratios[1]),
            one.at[1],
        )
    }

    /// How much trials vary, and which of them do not count, are missing or are far off.
    fn about_trials(&self, standing: Option<&Standing>) -> Vec<String> {
        let mut told = Vec::new();
        if let Some(noise) = standing.and_then(|one| one.noise) {
            told.push(format!("trials of the same configuration vary by {:.1} % within a block", noise * 100.0));
        }
        let far = standing.map(|one| one.far.as_slice()).unwrap_or_default();
        if far.len() > MOST_NAMED {
            told.push(format!("outliers: {} trials; their weight is limited", far.len()));
        }
        for far in far.iter().filter(|_| far.len() <= MOST_NAMED) {
            let name = self.design.label(far.configuration);
            told.push(format!(
                "outlier: block {}, {name}: {:.2}x the value expected from the others; its weight is limited",
                far.block + 1,
                far.ratio
            ));
        }
        told.extend(self.analysis.flaws.iter().map(|flaw| format!("excluded: {flaw}")));
        told.extend(self.analysis.missing.iter().map(|missing| format!("missing: {missing}")));
        told
    }
}
