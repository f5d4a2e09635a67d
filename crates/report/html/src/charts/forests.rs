//! Forest plots: the comparisons of a study, or of two sides, as ratios with their intervals.

use iolab_charts::{Estimate, Forest, ForestRow, Heading, VerdictClass as Meaning};
use iolab_comparison::{Basis, ComparisonRow};
use iolab_statistics::Verdict;
use iolab_study::{Contrast, word};

use super::values::{self};
use super::xml_name;
use crate::standing::Outcome;
use crate::verdicts::of_figure;

/// The comparisons of one figure.
pub(crate) fn forest(outcome: &Outcome<'_>, number: usize, prefix: &str) -> iolab_charts::DrawnChart {
    let figure = &outcome.analysis.figures[number];
    let judged = figure.is_judged();
    let row = |contrast: &Contrast| {
        let ratio = &contrast.comparison.ratio;
        let (verdict, outcome_of) =
            (word(figure, contrast.comparison.verdict), meaning(contrast.comparison.verdict, judged));
        ForestRow {
            name: outcome.against(contrast.candidate, contrast.baseline),
            ratio: Estimate::within(ratio.estimate, ratio.low, ratio.high)
                .from_trials(&block_ratios(outcome, number, contrast)),
            verdict: verdict.to_owned(),
            outcome: outcome_of,
        }
    };
    let forest = Forest {
        heading: Heading::new(
            &format!("{prefix}ratios-{number}-{}", xml_name(&figure.name())),
            &format!("{}: candidate / baseline", values::titled(figure)),
        ),
        rows: of_figure(outcome, number).iter().map(row).collect(),
        zone: outcome.rules.zone,
        below: "candidate lower".to_owned(),
        above: "candidate higher".to_owned(),
    };
    forest.draw()
}

/// The class of a verdict.
fn meaning(verdict: Verdict, judged: bool) -> Meaning {
    match verdict {
        Verdict::Better if judged => Meaning::Better,
        Verdict::Worse if judged => Meaning::Worse,
        Verdict::Better | Verdict::Worse | Verdict::Equivalent => Meaning::Same,
        Verdict::Undecided { .. } => Meaning::Open,
    }
}

/// Rows of one figure of two sides compared with each other; `None` where no row has a ratio.
pub(crate) fn forest_of_rows(rows: &[&ComparisonRow], zone: f64, number: usize) -> Option<iolab_charts::DrawnChart> {
    let figure = &rows.first()?.of;
    let row = |row: &&ComparisonRow| {
        let ratio = row.ratio?;
        let (verdict, outcome) = match &row.comparison {
            Some(comparison) => (word(figure, comparison.verdict), meaning(comparison.verdict, figure.is_judged())),
            None => ("no verdict", Meaning::Open),
        };
        let estimate = match row.basis {
            Basis::Nothing => Estimate::of(ratio.estimate),
            _ => Estimate::within(ratio.estimate, ratio.low, ratio.high),
        };
        // Only sides that were measured side by side have ratios for each pair.
        let pairs = row.baseline.iter().zip(&row.candidate).filter(|_| row.basis == Basis::Blocks);
        let ratios: Vec<f64> = pairs.map(|(baseline, candidate)| candidate / baseline).collect();
        let name = row.name();
        Some(ForestRow {
            name: if name.is_empty() { "candidate / baseline".to_owned() } else { name },
            ratio: estimate.from_trials(&ratios),
            verdict: verdict.to_owned(),
            outcome,
        })
    };
    let drawn: Vec<ForestRow> = rows.iter().filter_map(row).collect();
    let heading = Heading::new(
        &format!("ratios-{number}-{}", xml_name(&figure.name())),
        &format!("{}: candidate / baseline", values::titled(figure)),
    );
    let [below, above] = ["candidate lower", "candidate higher"].map(str::to_owned);
    (!drawn.is_empty()).then(|| Forest { heading, rows: drawn, zone, below, above }.draw())
}

/// The ratio in each block that has both values.
fn block_ratios(outcome: &Outcome<'_>, figure: usize, contrast: &Contrast) -> Vec<f64> {
    let values = |number: usize| outcome.row(figure, number).map(|row| row.values.as_slice()).unwrap_or_default();
    let pairs = values(contrast.baseline).iter().zip(values(contrast.candidate));
    pairs.filter_map(|(baseline, candidate)| Some((*candidate)? / (*baseline)?)).collect()
}
