//! Rates, queue and use of a device over time, with axes; the title of each chart is its legend.

use iolab_iostat::{DataUnit, EXTENDED};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType};

use super::super::state::{Device, Point};

/// A chart lower than this has no room between its frame and its axis.
pub(super) const LEAST_LINES: u16 = 8;
/// The smallest number of intervals shown, so that the first ones are not far apart.
const LEAST_INTERVALS: usize = 60;
/// Columns that the frame and the labels of the vertical axis take.
const BESIDE: u16 = 10;

/// One line of a chart of devices: what it is called, its colour, its figure.
type DeviceCurve = (&'static str, Color, fn(&Point) -> f64);

/// One line of any chart: what it is called, its colour, its values, the oldest first.
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) color: Color,
    pub(super) values: Vec<f64>,
}

/// The charts, the most informative first: the unit of all lines, and the lines.
const CHARTS: [(&str, &[DeviceCurve]); 4] = [
    (
        "MB/s",
        &[
            ("read", Color::Green, |point| megabytes_per_second(point, point.activity.gained.read_sectors)),
            ("written", Color::Yellow, |point| megabytes_per_second(point, point.activity.gained.write_sectors)),
        ],
    ),
    (
        "IOPS",
        &[
            ("read", Color::Green, |point| column_value("r/s", point)),
            ("written", Color::Yellow, |point| column_value("w/s", point)),
        ],
    ),
    ("queue", &[("aqu-sz", Color::Cyan, |point| column_value("aqu-sz", point))]),
    ("% busy", &[("%util", Color::Magenta, |point| column_value("%util", point))]),
];

/// Mean waits, if requests are not traced.
const WAITS: (&str, &[DeviceCurve]) = (
    "ms on average",
    &[
        ("r_await", Color::Green, |point| column_value("r_await", point)),
        ("w_await", Color::Yellow, |point| column_value("w_await", point)),
    ],
);

/// Draws as many charts as have room, the same number in each column.
pub(super) fn draw(frame: &mut Frame<'_>, device: &Device, columns: &[Rect]) {
    let lines = columns.iter().map(|column| column.height).min().unwrap_or(0);
    let in_column = usize::from((lines / LEAST_LINES).max(1)).min(CHARTS.len() / columns.len().max(1));
    for (column, charts) in columns.iter().zip(CHARTS.chunks(in_column.max(1))) {
        let areas = Layout::vertical(vec![Constraint::Fill(1); charts.len()]).split(*column);
        for ((unit, curves), area) in charts.iter().zip(areas.iter()) {
            draw_one(frame, device, unit, curves, *area);
        }
    }
}

pub(super) fn draw_waits(frame: &mut Frame<'_>, device: &Device, area: Rect) {
    draw_one(frame, device, WAITS.0, WAITS.1, area);
}

fn draw_one(frame: &mut Frame<'_>, device: &Device, unit: &str, curves: &[DeviceCurve], area: Rect) {
    let times = times(device, most_points(area));
    let curves: Vec<Curve> = curves
        .iter()
        .map(|(name, color, value)| Curve {
            name: (*name).to_owned(),
            color: *color,
            values: device.course.iter().map(value).collect(),
        })
        .collect();
    draw_at(frame, unit, &curves, &times, area);
}

/// Draws curves whose points are `point_ns` apart.
pub(super) fn draw_curves(
    frame: &mut Frame<'_>,
    unit: &str,
    curves: &[Curve],
    points: usize,
    point_ns: u64,
    area: Rect,
) {
    let shown = points.min(most_points(area));
    let times: Vec<f64> = (0..shown).rev().map(|ago| -(ago as f64) * point_ns as f64 / 1e9).collect();
    draw_at(frame, unit, curves, &times, area);
}

/// A chart of braille has two points in a column.
fn most_points(area: Rect) -> usize {
    (usize::from(area.width.saturating_sub(BESIDE)) * 2).max(1)
}

/// Draws the latest values of curves, as many as there are times.
fn draw_at(frame: &mut Frame<'_>, unit: &str, curves: &[Curve], times: &[f64], area: Rect) {
    let latest = |curve: &Curve| -> Vec<(f64, f64)> {
        let from = curve.values.len().saturating_sub(times.len());
        times.iter().copied().zip(curve.values[from..].iter().copied()).collect()
    };
    let lines: Vec<Vec<(f64, f64)>> = curves.iter().map(latest).collect();
    let highest = lines.iter().flatten().map(|(_, value)| *value).fold(0.0, f64::max);
    let (first, last) = (-window_s(times), 0.0);
    // A share has a scale of its own.
    let top = if unit.starts_with('%') { 100.0 } else { round_up(highest) };
    let datasets = lines.iter().zip(curves).map(|(data, curve)| {
        Dataset::default()
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::from(curve.color))
            .data(data)
    });
    let grey = Style::from(Color::DarkGray);
    let ago = |seconds: f64| format!("{seconds:.0} s");
    let x_axis = Axis::default().bounds([first, last]).style(grey).labels([
        Span::from(ago(first)),
        Span::from(ago(first / 2.0)),
        Span::from("now"),
    ]);
    let y_axis = Axis::default().bounds([0.0, top]).style(grey).labels([
        Span::from("0"),
        Span::from(short(top / 2.0)),
        Span::from(short(top)),
    ]);
    let block = Block::bordered().border_style(grey).title(legend(unit, curves));
    let chart = Chart::new(datasets.collect()).block(block).x_axis(x_axis).y_axis(y_axis).legend_position(None);
    frame.render_widget(chart, area);
}

/// ` MB/s ━ read 100.00 ━ written 1.00 `: the latest figures, in the colours of the lines.
fn legend<'a>(unit: &'a str, curves: &[Curve]) -> Line<'a> {
    let mut spans = vec![Span::from(format!(" {unit} "))];
    for curve in curves {
        let now = curve.values.last().copied().unwrap_or(0.0);
        spans.push(Span::from(format!("━ {} {now:.2} ", curve.name)).style(curve.color));
    }
    Line::from(spans)
}

/// When the latest intervals ended, seconds from now, the oldest first.
fn times(device: &Device, most: usize) -> Vec<f64> {
    let mut ago = 0.0;
    let mut times = Vec::new();
    for point in device.course.iter().rev().take(most) {
        times.push(-ago);
        ago += point.activity.elapsed_ns as f64 / 1e9;
    }
    times.reverse();
    times
}

/// How much time the chart shows.
fn window_s(times: &[f64]) -> f64 {
    let shown = -times.first().copied().unwrap_or(0.0);
    let intervals = times.len().saturating_sub(1);
    if intervals == 0 {
        return LEAST_INTERVALS as f64;
    }
    let usual = shown / intervals as f64 * LEAST_INTERVALS as f64;
    shown.max(usual).max(1.0)
}

/// The next 1, 2 or 5 times a power of ten: a readable scale that does not change with every
/// figure.
fn round_up(highest: f64) -> f64 {
    if highest <= 0.0 || !highest.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(highest.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= highest * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// A label of at most five letters or so.
fn short(value: f64) -> String {
    let scales = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    match scales.iter().find(|(scale, _)| value >= *scale) {
        Some((scale, letter)) => format!("{}{letter}", value / scale),
        None if value >= 1.0 => format!("{value}"),
        None => format!("{}", (value * 10_000.0).round() / 10_000.0),
    }
}

fn megabytes_per_second(point: &Point, sectors: u64) -> f64 {
    sectors as f64 / 2048.0 / (point.activity.elapsed_ns.max(1) as f64 / 1e9)
}

fn column_value(name: &str, point: &Point) -> f64 {
    let column = EXTENDED.iter().find(|column| column.name == name);
    column.map_or(0.0, |column| (column.value)(&point.activity, DataUnit::Kilobytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round_and_hold_the_highest() {
        for (highest, top) in
            [(0.0, 1.0), (1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (70.0, 100.0), (200.0, 200.0), (0.03, 0.05)]
        {
            assert!((round_up(highest) - top).abs() < 1e-9 * top, "{highest}: {}", round_up(highest));
        }
        assert_eq!(
            [short(0.5), short(2.5), short(500.0), short(2500.0), short(2e6)],
            ["0.5", "2.5", "500", "2.5k", "2M"]
        );
    }
}
