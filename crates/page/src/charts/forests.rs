//! Forest plots: the comparisons of a study as ratios with their intervals.

use iolab_figures::{Estimate, Forest, ForestRow, Heading, Outcome as Meaning};
use iolab_statistics::Verdict;
use iolab_study::Contrast;

use super::values::{capital, short};
use super::xml_name;
use crate::standing::Outcome;
use crate::verdicts::of_figure;

/// The comparisons of one figure.
pub(crate) fn forest(outcome: &Outcome<'_>, number: usize, prefix: &str) -> iolab_figures::Figure {
    let figure = &outcome.analysis.figures[number];
    let judged = figure.is_judged();
    let row = |contrast: &&Contrast| {
        let ratio = &contrast.comparison.ratio;
        let (verdict, meaning) = match contrast.comparison.verdict {
            Verdict::Faster if judged => ("better", Meaning::Better),
            Verdict::Slower if judged => ("worse", Meaning::Worse),
            Verdict::Faster => ("higher", Meaning::Same),
            Verdict::Slower => ("lower", Meaning::Same),
            Verdict::Equivalent => ("equivalent", Meaning::Same),
            Verdict::Inconclusive { .. } => ("inconclusive", Meaning::Open),
        };
        ForestRow {
            name: format!("{} / {}", outcome.name(contrast.candidate), outcome.short_name(contrast.baseline)),
            ratio: Estimate::within(ratio.estimate, ratio.low, ratio.high)
                .from_trials(&block_ratios(outcome, number, contrast)),
            verdict: verdict.to_owned(),
            outcome: meaning,
        }
    };
    let forest = Forest {
        heading: Heading::new(
            &format!("{prefix}ratios-{number}-{}", xml_name(&figure.name())),
            &format!("{}: candidate / baseline", capital(&short(figure))),
        ),
        rows: of_figure(outcome, number).iter().map(row).collect(),
        zone: outcome.rules.zone,
        below: "candidate lower".to_owned(),
        above: "candidate higher".to_owned(),
    };
    forest.draw()
}

/// The ratio in each block that has both.
fn block_ratios(outcome: &Outcome<'_>, figure: usize, contrast: &Contrast) -> Vec<f64> {
    let values = |number: usize| outcome.row(figure, number).map(|row| row.values.as_slice()).unwrap_or_default();
    let pairs = values(contrast.baseline).iter().zip(values(contrast.candidate));
    pairs.filter_map(|(baseline, candidate)| Some((*candidate)? / (*baseline)?)).collect()
}
