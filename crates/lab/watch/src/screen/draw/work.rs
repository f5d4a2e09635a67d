//! The jobs of a run: a line for each job and direction, and their rates and latencies over time.

use iolab_plan::Direction;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Row, Table};

use super::super::work::{JobCourse, Work, WorkPoint};
use super::charts::{self, Curve};

/// Headings, with how wide each column is and the terminal's width from which on it is shown.
const COLUMNS: [(&str, u16, u16); 7] = [
    ("IOPS", 9, 0),
    ("MB/s", 9, 40),
    ("p50", 8, 50),
    ("p99", 8, 50),
    ("p99.9", 8, 70),
    ("max", 8, 80),
    ("IOs", 12, 90),
];
const PERCENTS: [(&str, f64); 3] = [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)];

/// How many lines the table wants.
pub(super) fn lines(work: &Work) -> u16 {
    work.jobs.len() as u16 + 1
}

/// The table of jobs, with the figures of the latest second.
pub(super) fn table(frame: &mut Frame<'_>, work: &Work, area: Rect) {
    let columns = COLUMNS.iter().filter(|(_, _, from)| area.width >= *from);
    let head = columns.clone().map(|(name, ..)| Cell::from(Text::from(*name).right_aligned()));
    let header = Row::new([Cell::from("Job"), Cell::from("")].into_iter().chain(head))
        .style(Style::from(Modifier::BOLD).fg(Color::Cyan));
    let row = |job: &JobCourse| {
        let point = work.latest(job);
        let texts = columns.clone().map(|(name, ..)| {
            let text = point.map_or("–".to_owned(), |point| figure(work, job, point, name));
            Cell::from(Text::from(text).right_aligned())
        });
        let first = [Cell::from(job.job.clone()), Cell::from(job.direction.name())];
        Row::new(first.into_iter().chain(texts))
    };
    let name_width = work.jobs.iter().map(|job| job.job.chars().count()).max().unwrap_or(0).clamp(3, 24);
    let widths = [name_width as u16, 5].into_iter().chain(columns.clone().map(|(_, width, _)| *width));
    let widths: Vec<Constraint> = widths.map(Constraint::Length).collect();
    frame.render_widget(Table::new(work.jobs.iter().map(row), widths).header(header), area);
}

fn figure(work: &Work, job: &JobCourse, point: &WorkPoint, name: &str) -> String {
    let percent = PERCENTS.iter().find(|(known, _)| *known == name).map(|(_, percent)| *percent);
    match name {
        "IOPS" => rate(work.per_second(point.ios)),
        "MB/s" => format!("{:.2}", work.per_second(point.bytes) / 1e6),
        "IOs" => job.ios.to_string(),
        _ if point.latencies.is_empty() => "–".to_owned(),
        "max" => time(point.latencies.max),
        _ => percent.map_or("–".to_owned(), |percent| time(point.latencies.percentile(percent))),
    }
}

fn rate(value: f64) -> String {
    match value {
        1e6.. => format!("{:.3}M", value / 1e6),
        1e4.. => format!("{:.1}k", value / 1e3),
        _ => format!("{value:.1}"),
    }
}

/// A latency in at most eight letters.
fn time(ns: u64) -> String {
    let value = ns as f64;
    match value {
        1e9.. => format!("{:.2} s", value / 1e9),
        1e6.. => format!("{:.2} ms", value / 1e6),
        1e3.. => format!("{:.1} µs", value / 1e3),
        _ => format!("{value:.0} ns"),
    }
}

/// Rates and latencies over time, one below the other or, where there is much room, side by side.
pub(super) fn charts(frame: &mut Frame<'_>, work: &Work, area: Rect, is_wide: bool) {
    let direction = if is_wide { ratatui::layout::Direction::Horizontal } else { ratatui::layout::Direction::Vertical };
    let charts = if area.height < charts::LEAST_LINES * 2 && !is_wide { 1 } else { 2 };
    let areas = Layout::new(direction, vec![Constraint::Fill(1); charts]).split(area);
    charts::draw_curves(frame, "IOPS", &rates(work), work.whole(), work.point_ns, areas[0]);
    if let Some(area) = areas.get(1) {
        let (unit, curves) = if work.has_latencies() { ("µs", latencies(work)) } else { ("MB/s", bandwidths(work)) };
        charts::draw_curves(frame, unit, &curves, work.whole(), work.point_ns, *area);
    }
}

const COLORS: [Color; 3] = [Color::Green, Color::Yellow, Color::Magenta];

fn curves(work: &Work, name: &str, color_of: fn(Color) -> Color, value: impl Fn(&WorkPoint) -> f64) -> Vec<Curve> {
    let mut all = Vec::new();
    for direction in Direction::ALL {
        let points = work.summed(direction);
        if !points.is_empty() {
            let color = color_of(COLORS[direction.index()]);
            let name = format!("{}{name}", direction.name());
            all.push(Curve { name, color, values: points.iter().map(&value).collect() });
        }
    }
    all
}

fn rates(work: &Work) -> Vec<Curve> {
    curves(work, "", |color| color, |point| work.per_second(point.ios))
}

fn bandwidths(work: &Work) -> Vec<Curve> {
    curves(work, "", |color| color, |point| work.per_second(point.bytes) / 1e6)
}

/// The 99th percentile of each direction, and the median in a darker colour of its own.
fn latencies(work: &Work) -> Vec<Curve> {
    let percentile = |percent: f64| move |point: &WorkPoint| point.latencies.percentile(percent) as f64 / 1e3;
    let darker = |color| match color {
        Color::Green => Color::Cyan,
        Color::Yellow => Color::Red,
        _ => Color::Blue,
    };
    let mut all = curves(work, " p99", |color| color, percentile(99.0));
    all.extend(curves(work, " p50", darker, percentile(50.0)));
    all
}
