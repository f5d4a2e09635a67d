//! All figures of all configurations, with every trial: the points behind the conclusions.

use iolab_charts::Estimate;
use maud::{Markup, html};

use crate::frame::{Cell, counted, details, table};
use crate::number::{confidence, limits, meaning, shown};
use crate::standing::Outcome;

/// A table for each figure; the first is open.
pub(crate) fn section(outcome: &Outcome<'_>) -> Markup {
    html! {
        p { "Median of the trials, with a distribution-free interval (Hettmansperger and Sheather 1986). "
            "Trials are in block order; a dash is a trial that is missing, excluded or has too few samples." }
        @for (number, figure) in outcome.analysis.figures.iter().enumerate() {
            @if number == 0 { (of(outcome, number)) }
            @else { (details(&format!("{}: {}", figure.name(), meaning(figure)), &of(outcome, number))) }
        }
    }
}

fn of(outcome: &Outcome<'_>, number: usize) -> Markup {
    let figure = &outcome.analysis.figures[number];
    let axes: Vec<&str> = outcome.design.axes.iter().map(String::as_str).collect();
    let head: Vec<&str> = axes
        .iter()
        .copied()
        .chain(["trials", "median", "interval", "confidence", "standard deviation", "all trials"])
        .collect();
    let row = |configuration: usize| {
        let row = outcome.row(number, configuration)?;
        let points = &outcome.design.configurations[configuration].points;
        let mut cells: Vec<Cell> = points.iter().cloned().map(Cell::Head).collect();
        let known = row.values.iter().flatten().count();
        cells.push(Cell::Number(known.to_string()));
        match &row.median {
            Some(median) => cells.extend([
                Cell::Number(shown(figure, median.estimate)),
                Cell::Number(limits(figure, median)),
                Cell::Number(confidence(median.confidence)),
            ]),
            None => cells.extend(["\u{2013}", "no values", "\u{2013}"].map(|text| Cell::Text(text.to_owned()))),
        }
        let trials = Estimate::default().from_trials(&row.values.iter().copied().flatten().collect::<Vec<_>>());
        let deviation = trials.deviation().map(|(_, deviation)| shown(figure, deviation));
        cells.push(Cell::Number(deviation.unwrap_or_else(|| "\u{2013}".to_owned())));
        let all = row.values.iter().map(|value| value.map_or("\u{2013}".to_owned(), |value| shown(figure, value)));
        cells.push(Cell::Rich(html! { span.trials dir="ltr" { (all.collect::<Vec<_>>().join("  ")) } }));
        Some(cells)
    };
    let rows: Vec<Vec<Cell>> = (0..outcome.design.configurations.len()).filter_map(row).collect();
    let caption = html! { (figure.name()) ", " (meaning(figure)) ", of " (counted(rows.len(), "configuration", "configurations")) };
    table(&caption, &format!("{}: all trials", figure.name()), &head, &rows)
}
