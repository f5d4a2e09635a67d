//! The table of devices: as many columns as fit the terminal, and no figure without all of its
//! digits.

use iolab_iostat::DeviceColumn;
use iolab_order::Arrange;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Row, Table, TableState};

use super::super::state::{Device, State};

/// The columns that a narrow terminal keeps longest, most important first. All others are dropped
/// before these.
const DEAREST: [&str; 14] = [
    "%util", "aqu-sz", "r/s", "w/s", "rkB/s", "wkB/s", "r_await", "w_await", "rareq-sz", "wareq-sz", "f/s", "%rrqm",
    "%wrqm", "f_await",
];
const SPACE: usize = 1;

/// Draws it; the selected device is marked.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let in_flight = |device: &Device| format!("{}r{}w", device.in_flight.0, device.in_flight.1);
    let longest = |header: &str, texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0).max(header.len());
    let name_width = longest("Device", &mut state.devices.iter().map(|device| device.name.len()));
    let flight_width = longest("flight", &mut state.devices.iter().map(|device| in_flight(device).len()));
    let rest = usize::from(area.width).saturating_sub(name_width + SPACE + flight_width);
    let columns = fitting(rest, state.sorted_by);
    let heading = |(at, column): &(usize, &'static DeviceColumn)| {
        let style = if state.sorted_by == Some(*at) { Style::from(Modifier::REVERSED) } else { Style::default() };
        Cell::from(Text::from(column.name_in(state.unit)).right_aligned()).style(style)
    };
    let name_style = if state.sorted_by.is_none() { Style::from(Modifier::REVERSED) } else { Style::default() };
    let header = [Cell::from("Device").style(name_style), Cell::from("flight")];
    let header = Row::new(header.into_iter().chain(columns.iter().map(heading)))
        .style(Style::from(Modifier::BOLD).fg(Color::Cyan));
    let row = |device: &Device| {
        let number = |(_, column): &(usize, &'static DeviceColumn)| {
            let value = device.value(column, state.unit);
            Text::from(figure(value, width(column))).right_aligned().style(style_of(column, value))
        };
        let first = [Text::from(device.name.clone()), Text::from(in_flight(device))];
        Row::new(first.into_iter().chain(columns.iter().map(number)))
    };
    let widths = [name_width, flight_width].into_iter().chain(columns.iter().map(|(_, column)| width(column)));
    let widths = widths.map(|width| Constraint::Length(width as u16));
    let table =
        Table::new(state.devices.iter().map(row), widths).header(header).row_highlight_style(Modifier::REVERSED);
    let mut selected = TableState::default().with_selected(state.place());
    frame.render_stateful_widget(table, area, &mut selected);
}

/// A device that is busy all the time is highlighted; an idle one is dimmed.
fn style_of(column: &DeviceColumn, value: f64) -> Style {
    match value {
        90.0.. if column.name == "%util" => Style::from(Color::Red),
        60.0.. if column.name == "%util" => Style::from(Color::Yellow),
        0.0 => Style::from(Color::DarkGray),
        _ => Style::default(),
    }
}

fn width(column: &DeviceColumn) -> usize {
    column.width.max(column.name.len())
}

/// The columns that fit, with their places among all, in iostat's order. The one that is sorted by
/// is always there, if any is.
fn fitting(mut room: usize, sorted_by: Option<usize>) -> Vec<(usize, &'static DeviceColumn)> {
    let rank = |(at, column): &(usize, &'static DeviceColumn)| {
        let dear = DEAREST.iter().position(|name| *name == column.name).unwrap_or(DEAREST.len());
        (sorted_by != Some(*at), dear)
    };
    let mut all: Vec<_> = State::columns().enumerate().collect();
    all.arrange_by_key(rank);
    // If a more important column does not fit, less important ones do not replace it.
    let fits = |(_, column): &(usize, &'static DeviceColumn)| {
        let taken = SPACE + width(column);
        let fits = taken <= room;
        room = room.saturating_sub(taken);
        fits
    };
    let mut shown: Vec<_> = all.into_iter().take_while(fits).collect();
    shown.arrange_by_key(|(at, _)| *at);
    shown
}

/// A figure with as many decimals as there is room for, and when there is none, in thousands,
/// millions, …
fn figure(value: f64, width: usize) -> String {
    let scales = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
    let texts = scales
        .iter()
        .flat_map(|(scale, letter)| [2, 1, 0].map(|decimals| format!("{:.decimals$}{letter}", value / scale)));
    let mut fitting = texts.filter(|text| text.len() <= width);
    fitting.next().unwrap_or_else(|| "*".repeat(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_digits_or_change_their_scale() {
        let cases = [
            (3104.24, 7, "3104.24"),
            (31042.42, 7, "31042.4"),
            (343_596.26, 8, "343596.3"),
            (12_345_678.9, 7, "12346k"),
            (0.004, 6, "0.00"),
            (1e20, 6, "******"),
        ];
        for (value, width, text) in cases {
            assert_eq!(figure(value, width), text, "{value}");
        }
    }

    #[test]
    fn columns_never_take_more_than_there_is() {
        for room in 0..300 {
            for sorted_by in [None, Some(0), Some(17)] {
                let shown = fitting(room, sorted_by);
                let taken: usize = shown.iter().map(|(_, column)| SPACE + width(column)).sum();
                assert!(taken <= room, "{room}");
                let is_there = |at| shown.iter().any(|(place, _)| *place == at);
                assert!(shown.is_empty() || sorted_by.is_none_or(is_there), "{room} {sorted_by:?}");
            }
        }
        assert_eq!(fitting(300, None).len(), State::columns().count());
        assert!(DEAREST.iter().all(|name| State::columns().any(|column| column.name == *name)));
    }
}
