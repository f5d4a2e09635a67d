//! The comparisons of a study: a table for each figure, and what each axis does.

use iolab_study::{Contrast, Standing, would_decide};
use maud::{Markup, html};

use crate::frame::{Cell, name, table};
use crate::number::{changes, confidence, meaning, percent};
use crate::standing::Outcome;
use crate::summary::word;

/// Whether there are comparisons to show.
pub(crate) fn exist(outcome: &Outcome<'_>) -> bool {
    !outcome.analysis.contrasts.is_empty()
}

/// The comparisons of one figure.
pub(crate) fn of_figure(outcome: &Outcome<'_>, figure: usize) -> Vec<Contrast> {
    outcome.shown_contrasts(figure)
}

/// How to read what follows.
pub(crate) fn reading(outcome: &Outcome<'_>) -> Markup {
    let zone = format!("{:.0} %", outcome.rules.zone * 100.0);
    html! {
        p { "Ratios use all trials of a metric: each value is corrected for the level of its block, and outliers are \
            limited. "
            "The intervals of all statements about one metric hold jointly with " (confidence(outcome.rules.confidence)) ", \
                including every pair of configurations and the effects of axes. "
            "Better and worse (higher and lower for neutral metrics): the interval excludes 1; "
            "equivalent: it lies within " (zone) "; undecided: the data cannot tell. "
            "The exact test of each pair (signed rank) is shown for reference, uncorrected: it assumes less, but \
            cannot reach small p-values with few repeats." }
    }
}

/// The table of one figure.
pub(crate) fn of(outcome: &Outcome<'_>, number: usize) -> Markup {
    let figure = &outcome.analysis.figures[number];
    let head = [
        "configuration",
        "against",
        "change",
        "limits",
        "confidence",
        "chance",
        "exact test",
        "verdict",
        "would decide",
    ];
    let dash = || "\u{2013}".to_owned();
    let row = |contrast: &Contrast| {
        let comparison = &contrast.comparison;
        let [estimate, low, high] = changes(&comparison.ratio);
        let is_known = comparison.ratio.confidence > 0.0;
        let limits = if is_known { format!("[{low}, {high}]") } else { dash() };
        vec![
            Cell::Head(outcome.name(contrast.candidate)),
            Cell::Text(outcome.baseline_of(contrast.candidate, contrast.baseline)),
            Cell::Number(estimate),
            Cell::Number(limits),
            Cell::Number(if is_known { confidence(comparison.ratio.confidence) } else { dash() }),
            Cell::Number(chance(comparison.adjusted_p)),
            Cell::Number(comparison.exact_p.map_or_else(dash, chance)),
            Cell::Rich(word(figure, comparison.verdict)),
            Cell::Text(would_decide(comparison, outcome.rules).unwrap_or_else(dash)),
        ]
    };
    let rows: Vec<Vec<Cell>> = of_figure(outcome, number).iter().map(row).collect();
    let caption = html! { (figure.name()) ", " (meaning(figure)) ": each configuration against its baseline" };
    html! {
        (table(&caption, &format!("{}: comparisons", figure.name()), &head, &rows))
        @if let Some(standing) = outcome.analysis.standings.iter().find(|one| one.figure == number && one.axes.len() > 1) {
            (axes(outcome, standing))
        }
    }
}

/// A p-value with three digits. A simulation of some thousand draws cannot distinguish values below
/// 0.001 from zero.
fn chance(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// The effect of each axis over all others, and interactions of two.
fn axes(outcome: &Outcome<'_>, standing: &Standing) -> Markup {
    let figure = &outcome.analysis.figures[standing.figure];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for axis in &standing.axes {
        for point in &axis.points {
            let [estimate, low, high] = changes(&point.comparison.ratio);
            rows.push(vec![
                Cell::Head(outcome.design.axes[axis.axis].clone()),
                Cell::Number(axis.share.map_or("\u{2013}".to_owned(), |share| percent(share * 100.0))),
                Cell::Text(point.point.clone()),
                Cell::Text(point.baseline.clone()),
                Cell::Number(estimate),
                Cell::Number(format!("[{low}, {high}]")),
                Cell::Rich(word(figure, point.comparison.verdict)),
            ]);
        }
    }
    let head = ["axis", "share of the variation", "point", "against", "change", "limits", "verdict"];
    let caption = html! { (figure.name()) ": effect of each axis, averaged over the others" };
    html! {
        (table(&caption, &format!("{}: axes", figure.name()), &head, &rows))
        @for one in &standing.interactions {
            @let [of, at] = one.axes.map(|axis| outcome.design.axes[axis].as_str());
            p { (name(of)) " and " (name(at)) " interact: " (name(&format!("{of}={} against {} is {:.2}x at {at}={}, and {:.2}x at {at}={}", one.of[1], one.of[0], one.ratios[0], one.at[0], one.ratios[1], one.at[1]))) "." }
        }
    }
}
