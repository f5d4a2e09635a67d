//! The comparisons that the study planned: a table for each figure.

use iolab_statistics::{Comparison, Verdict};
use iolab_study::Contrast;
use maud::{Markup, html};

use crate::frame::{Cell, name, table};
use crate::number::{changes, confidence, meaning};
use crate::standing::Outcome;
use crate::summary::word;

/// Whether there is anything to show.
pub(crate) fn exist(outcome: &Outcome<'_>) -> bool {
    !outcome.analysis.contrasts.is_empty()
}

/// The comparisons of one figure.
pub(crate) fn of_figure<'a>(outcome: &Outcome<'a>, figure: usize) -> Vec<&'a Contrast> {
    outcome.analysis.contrasts.iter().filter(|contrast| contrast.figure == figure).collect()
}

/// How to read what follows.
pub(crate) fn reading(outcome: &Outcome<'_>) -> Markup {
    let zone = format!("{:.0} %", outcome.rules.zone * 100.0);
    html! {
        p { "Each configuration is held against the one that differs from it only in "
            @if let Some(axis) = outcome.compared_axis() { (name(&outcome.design.axes[axis])) } @else { "the compared axis" }
            ". The change is the Hodges-Lehmann estimate of the ratio within blocks, its interval holds every ratio that the signed-rank test would not reject. "
            "Better and worse (of figures that are neither good nor bad, higher and lower) are corrected for all comparisons of a figure (Holm); "
            "equivalent means that the whole interval lies within " (zone) "; inconclusive, that the data do not say." }
    }
}

/// The table of one figure.
pub(crate) fn of(outcome: &Outcome<'_>, number: usize) -> Markup {
    let figure = &outcome.analysis.figures[number];
    let contests = outcome.contests();
    let common: Vec<&str> =
        contests.first().map_or(Vec::new(), |contest| contest.common.iter().map(|(axis, _)| axis.as_str()).collect());
    let head: Vec<&str> = common
        .iter()
        .copied()
        .chain([
            "configuration",
            "against",
            "change",
            "interval",
            "confidence",
            "corrected p",
            "verdict",
            "would decide",
        ])
        .collect();
    let row = |contrast: &&Contrast| {
        let contest = contests.iter().find(|contest| contest.members.contains(&contrast.candidate));
        let points =
            contest.into_iter().flat_map(|contest| contest.common.iter().map(|(_, point)| Cell::Text(point.clone())));
        let mut cells: Vec<Cell> = points.collect();
        let comparison = &contrast.comparison;
        let [estimate, low, high] = changes(&comparison.ratio);
        cells.extend([
            Cell::Head(outcome.short_name(contrast.candidate).to_owned()),
            Cell::Text(outcome.short_name(contrast.baseline).to_owned()),
            Cell::Number(estimate),
            Cell::Number(format!("[{low}, {high}]")),
            Cell::Number(confidence(comparison.ratio.confidence)),
            Cell::Number(format!("{:.3}", comparison.adjusted_p)),
            Cell::Rich(word(figure, comparison.verdict)),
            Cell::Text(would_decide(outcome, comparison)),
        ]);
        cells
    };
    let rows: Vec<Vec<Cell>> = of_figure(outcome, number).iter().map(row).collect();
    let caption = html! { (figure.name()) ", " (meaning(figure)) ": each configuration against its baseline" };
    table(&caption, &format!("{}: comparisons", figure.name()), &head, &rows)
}

fn would_decide(outcome: &Outcome<'_>, comparison: &Comparison) -> String {
    match comparison.verdict {
        Verdict::Inconclusive { .. } if comparison.blocks < outcome.rules.least_blocks => {
            format!("{} blocks at least", outcome.rules.least_blocks)
        }
        Verdict::Inconclusive { more_blocks: Some(1) } => "1 more block".to_owned(),
        Verdict::Inconclusive { more_blocks: Some(more) } => format!("{more} more blocks"),
        Verdict::Inconclusive { more_blocks: None } => format!("not even {} blocks", outcome.rules.most_blocks),
        _ => "\u{2013}".to_owned(),
    }
}
