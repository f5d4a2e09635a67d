//! The full screen, drawn.
//!
//! ```text
//!  machine, pressure                                as many lines as it takes
//!  table of devices, the selected one marked        at most two fifths of the rest
//!  rates over time │ latency over time (heat)       what is left, of the selected device
//!  keys                                             one line
//! ```
//!
//! A small terminal has fewer columns, no latencies, and at last no course; nothing is cut through.

mod table;

use iolab_histogram::bucket_middle;
use iolab_iostat::{self as block_columns, EXTENDED};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline, Wrap};

use super::state::{Device, Point, State};

const KEYS: &str = " q leave  ? columns  up/down device  s/S sort  r reverse  m MB  space pause";
/// A machine's line may be longer than the terminal is wide.
const MOST_HEAD_LINES: u16 = 4;
/// A course lower or narrower than this shows nothing.
const LEAST_COURSE_LINES: u16 = 9;
const LEAST_HALF: u16 = 35;

pub(super) fn screen(frame: &mut Frame<'_>, state: &State) {
    let paused = if state.paused { "  PAUSED" } else { "" };
    let title = Line::from(format!("iolab watch on {}{paused}", state.hostname)).style(Modifier::BOLD);
    let head_lines = 1 + (state.machine.len() as u16).div_ceil(frame.area().width.max(1));
    let [head, rest, keys] = Layout::vertical([
        Constraint::Length(head_lines.min(MOST_HEAD_LINES)),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let text = Paragraph::new(vec![title, Line::from(state.machine.as_str())]).wrap(Wrap { trim: true });
    frame.render_widget(text, head);
    let rows = (state.devices.len() as u16).saturating_add(2).min((rest.height * 2 / 5).max(3));
    let [table, course] = Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]).areas(rest);
    let with_course = course.height >= LEAST_COURSE_LINES;
    table::draw(frame, state, if with_course { table } else { rest });
    if state.devices.is_empty() {
        let text =
            "No device to show: none of those asked for is there, or none has been used yet (ALL shows those, too).";
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), course);
    }
    if let Some(device) = state.devices.get(state.place()).filter(|_| with_course) {
        let [rates, latencies] = Layout::horizontal([Constraint::Fill(1); 2]).areas(course);
        if rates.width < LEAST_HALF {
            draw_rates(frame, device, course);
        } else {
            draw_rates(frame, device, rates);
            draw_latencies(frame, device, latencies);
        }
    }
    frame.render_widget(Paragraph::new(KEYS).style(Modifier::REVERSED), keys);
    if state.help {
        help(frame, state);
    }
}

/// What is drawn over time: name, color, figure.
type Course = (&'static str, Color, fn(&Point) -> f64);

const COURSES: [Course; 3] = [
    ("read MB/s", Color::Green, |point| megabytes_per_second(point, point.activity.gained.read_sectors)),
    ("written MB/s", Color::Yellow, |point| megabytes_per_second(point, point.activity.gained.write_sectors)),
    ("aqu-sz", Color::Cyan, |point| column_value("aqu-sz", point)),
];

fn megabytes_per_second(point: &Point, sectors: u64) -> f64 {
    sectors as f64 / 2048.0 / (point.activity.elapsed_ns.max(1) as f64 / 1e9)
}

/// Reads, writes and the queue over time, the latest on the right.
fn draw_rates(frame: &mut Frame<'_>, device: &Device, area: Rect) {
    let areas = Layout::vertical([Constraint::Fill(1); 3]).split(area);
    for ((name, color, value), area) in COURSES.iter().zip(areas.iter()) {
        let width = usize::from(area.width.saturating_sub(2)).max(1);
        let values: Vec<f64> = device.course.iter().rev().take(width).rev().map(value).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        let now = values.last().copied().unwrap_or(0.0);
        let title = format!(" {} {name} {now:.2}, max {most:.2} ", device.name);
        // Sparklines are of whole numbers; the latest stands at the right edge.
        let scaled = values.iter().map(|value| (value / most.max(1e-9) * 1000.0) as u64);
        let bars: Vec<u64> = std::iter::repeat_n(0, width - values.len()).chain(scaled).collect();
        let line = Sparkline::default().data(bars).max(1000).style(*color).block(Block::bordered().title(title));
        frame.render_widget(line, *area);
    }
}

fn column_value(name: &str, point: &Point) -> f64 {
    let column = EXTENDED.iter().find(|column| column.name == name);
    column.map_or(0.0, |column| (column.value)(&point.activity, block_columns::Unit::Kilobytes))
}

/// Lower ends of the rows of the heat map, ns: three to a decade.
const ROWS: [u64; 19] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
];
const SHADES: [&str; 5] = [" ", "░", "▒", "▓", "█"];

/// How many requests of an interval took how long: a column for each interval, the latest on the
/// right; or, without traced requests, the means that the kernel keeps.
fn draw_latencies(frame: &mut Frame<'_>, device: &Device, area: Rect) {
    if device.course.iter().all(|point| point.requests.is_none()) {
        let value = |name| device.course.back().map_or(0.0, |point| column_value(name, point));
        let text = format!(
            "r_await {:.2} ms, w_await {:.2} ms\n\nMeans only: requests are not traced.\n\n{}",
            value("r_await"),
            value("w_await"),
            settings_text(device)
        );
        let block = Block::bordered().title(format!(" {} latency ", device.name));
        return frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }).block(block), area);
    }
    let rows = usize::from(area.height.saturating_sub(2)).min(ROWS.len());
    let width = usize::from(area.width.saturating_sub(9)).max(1);
    let shown: Vec<&Point> = device.course.iter().rev().take(width).rev().collect();
    // The rows around what there is: from the fastest row in use upwards.
    let counts: Vec<[u64; ROWS.len()]> = shown.iter().map(|point| by_row(point)).collect();
    let used = |row: usize| counts.iter().any(|counts| counts[row] > 0);
    let lowest = (0..ROWS.len()).find(|row| used(*row)).unwrap_or(0).min(ROWS.len() - rows.min(ROWS.len()));
    let most = counts.iter().flatten().copied().max().unwrap_or(0).max(1);
    let lines = (lowest..lowest + rows).rev().map(|row| {
        let cells: String = counts.iter().map(|counts| SHADES[shade(counts[row], most)]).collect();
        let label = Span::from(format!("{:>6} ", duration(ROWS[row])));
        Line::from(vec![label, Span::from(format!("{cells:>width$}")).style(Color::Magenta)])
    });
    let lines: Vec<Line<'_>> = lines.collect();
    let lost: u64 = shown.iter().filter_map(|point| point.requests.as_ref()).map(|requests| requests.lost_events).sum();
    let note = if lost > 0 { format!(", {lost} events lost") } else { String::new() };
    let block = Block::bordered().title(format!(" {} requests by latency{note} ", device.name));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn settings_text(device: &Device) -> String {
    let telling = ["scheduler", "nr_requests", "nomerges", "max_sectors_kb", "write_cache"];
    let lines = telling.iter().filter_map(|name| Some(format!("{name} {}", device.settings.get(*name)?)));
    lines.collect::<Vec<_>>().join("\n")
}

fn by_row(point: &Point) -> [u64; ROWS.len()] {
    let mut counts = [0; ROWS.len()];
    let histograms = point.requests.iter().flat_map(|requests| [&requests.read_ns, &requests.write_ns]);
    for (bucket, count) in histograms.flat_map(|histogram| &histogram.buckets) {
        let ns = bucket_middle(*bucket as usize);
        counts[ROWS.partition_point(|low| *low <= ns).saturating_sub(1)] += count;
    }
    counts
}

/// Shades by order of magnitude: a single slow request among thousands is visible.
fn shade(count: u64, most: u64) -> usize {
    if count == 0 {
        return 0;
    }
    let share = ((count as f64).ln_1p() / (most as f64).ln_1p() * (SHADES.len() - 1) as f64).round() as usize;
    share.clamp(1, SHADES.len() - 1)
}

fn duration(ns: u64) -> String {
    match ns {
        1_000_000_000.. => format!("{} s", ns / 1_000_000_000),
        1_000_000.. => format!("{} ms", ns / 1_000_000),
        _ => format!("{} µs", ns / 1000),
    }
}

fn help(frame: &mut Frame<'_>, state: &State) {
    let area = frame.area();
    let inner = Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    };
    let first = Line::from("`iolab explain COLUMN` says how each is computed and how it misleads.");
    let lines: Vec<Line<'_>> = [first, Line::default()]
        .into_iter()
        .chain(State::columns().map(|column| {
            Line::from(vec![
                Span::from(column.name).style(Modifier::BOLD),
                Span::from("  "),
                Span::from(column.meaning),
            ])
        }))
        .collect();
    frame.render_widget(Clear, inner);
    let block = Block::bordered().title(" columns (? closes, up/down scrolls) ");
    frame.render_widget(
        Paragraph::new(lines).wrap(Wrap { trim: false }).scroll((state.help_line, 0)).block(block),
        inner,
    );
}

#[cfg(test)]
mod tests;
