//! The cost of the load generator: CPU time of an operation, and its share of the time per I/O.

use iolab_recording::{LIMIT_PERCENT, LoopOverhead};
use iolab_statistics::median;

use maud::{Markup, html};

use crate::digest::Digest;
use crate::frame::{Cell, table};
use crate::number::{self, percent};
use crate::standing::Outcome;

/// A row for each configuration, with medians over its trials.
pub(crate) fn section(outcome: &Outcome<'_>, digests: &[Digest]) -> Markup {
    let axes: Vec<&str> = outcome.design.axes.iter().map(String::as_str).collect();
    let head: Vec<&str> = axes
        .iter()
        .copied()
        .chain(["CPU per operation", "user", "system", "switches per operation", "iolab's own part", "share"])
        .collect();
    let row = |configuration: usize| {
        let own: Vec<&Digest> = digests.iter().filter(|digest| digest.planned.configuration == configuration).collect();
        let over = |of: &dyn Fn(&Digest) -> Option<f64>| {
            let values: Vec<f64> = own.iter().filter_map(|digest| of(digest)).collect();
            median(&values)
        };
        let per_operation = |of: fn(&Digest) -> u64| {
            over(&move |digest| (digest.ios() > 0).then(|| of(digest) as f64 / digest.ios() as f64))
        };
        let time = |value: Option<f64>| Cell::Number(value.map_or("\u{2013}".to_owned(), number::time));
        let worst =
            |of: fn(&LoopOverhead) -> f64| over(&move |digest| digest.overheads.iter().map(of).reduce(f64::max));
        let share = worst(LoopOverhead::share_percent);
        let mut cells: Vec<Cell> =
            outcome.design.configurations[configuration].points.iter().cloned().map(Cell::Head).collect();
        cells.extend([
            time(per_operation(|digest| digest.user_ns + digest.system_ns)),
            time(per_operation(|digest| digest.user_ns)),
            time(per_operation(|digest| digest.system_ns)),
            Cell::Number(
                per_operation(|digest| digest.context_switches)
                    .map_or("\u{2013}".to_owned(), |one| format!("{one:.2}")),
            ),
            time(worst(|overhead| overhead.tool_ns)),
            Cell::Rich(share_markup(share)),
        ]);
        cells
    };
    let rows: Vec<Vec<Cell>> = (0..outcome.design.configurations.len()).map(row).collect();
    html! {
        p { "CPU time of the workers (getrusage), user and system, while measuring; medians of the trials. "
            "iolab's own part is calibrated before each run with an engine that does nothing: a lower bound of what \
            iolab itself spends per operation." }
        (table(&html! { "Cost of an operation, by configuration" }, "Cost of an operation", &head, &rows))
    }
}

/// The tool's share of the time per I/O, and whether that is too much.
pub(crate) fn share_markup(share: Option<f64>) -> Markup {
    html! {
        @match share {
            None => { "\u{2013}" },
            Some(share) => {
                span.n dir="ltr" { (percent(share)) }
                @if share > LIMIT_PERCENT { " " span.verdict.worse { span aria-hidden="true" { "▲ " } "too much" } }
            },
        }
    }
}
