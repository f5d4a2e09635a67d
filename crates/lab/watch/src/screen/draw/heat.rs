//! Latencies of a device's requests over time, as a heat map; without traced requests, the kernel's
//! means, and how to enable tracing.

use iolab_histogram::bucket_middle;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Wrap};

use super::super::state::{Device, Point, State};
use super::charts;

/// Lower ends of the rows of the heat map, ns. If there is not enough room, every second one is
/// left out.
const ROWS: [u64; 37] = [
    1_000,
    1_500,
    2_000,
    3_000,
    5_000,
    7_000,
    10_000,
    15_000,
    20_000,
    30_000,
    50_000,
    70_000,
    100_000,
    150_000,
    200_000,
    300_000,
    500_000,
    700_000,
    1_000_000,
    1_500_000,
    2_000_000,
    3_000_000,
    5_000_000,
    7_000_000,
    10_000_000,
    15_000_000,
    20_000_000,
    30_000_000,
    50_000_000,
    70_000_000,
    100_000_000,
    150_000_000,
    200_000_000,
    300_000_000,
    500_000_000,
    700_000_000,
    1_000_000_000,
];

/// From few to many requests.
const SHADES: [(&str, Color); 5] =
    [(" ", Color::Reset), ("░", Color::Blue), ("▒", Color::Cyan), ("▓", Color::Yellow), ("█", Color::Red)];

/// Columns of a row's label.
const LABEL: usize = 7;
/// Lines below the rows: the axis of time and the legend.
const BELOW: usize = 2;
/// A chart of means lower than this is less useful than the words.
const LEAST_WAITS: u16 = 14;

/// How many requests of an interval took how long: a column for each interval, the latest on the
/// right.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, device: &Device, area: Rect) {
    if device.course.iter().all(|point| point.requests.is_none()) {
        return untraced(frame, state, device, area);
    }
    let inner = (usize::from(area.width.saturating_sub(2)), usize::from(area.height.saturating_sub(2)));
    let room = inner.1.saturating_sub(BELOW).max(1);
    let lows: Vec<u64> = ROWS.iter().copied().step_by(if room >= ROWS.len() { 1 } else { 2 }).collect();
    let rows = room.min(lows.len());
    let width = inner.0.saturating_sub(LABEL).max(1);
    let shown: Vec<&Point> = device.course.iter().rev().take(width).rev().collect();
    let counts: Vec<Vec<u64>> = shown.iter().map(|point| by_row(point, &lows)).collect();
    // The rows around what there is: from the fastest row in use upwards.
    let used = |row: usize| counts.iter().any(|counts| counts[row] > 0);
    let lowest = (0..lows.len()).find(|row| used(*row)).unwrap_or(0).min(lows.len() - rows);
    let most = counts.iter().flatten().copied().max().unwrap_or(0).max(1);
    let mut lines: Vec<Line<'_>> = Vec::new();
    for row in (lowest..lowest + rows).rev() {
        let mut spans = vec![Span::from(format!("{:>6} ", duration(lows[row])))];
        spans.push(Span::from(" ".repeat(width - counts.len())));
        spans.extend(counts.iter().map(|counts| {
            let (symbol, color) = SHADES[shade(counts[row], most)];
            Span::from(symbol).style(color)
        }));
        lines.push(Line::from(spans));
    }
    lines.push(time_axis(&shown, width));
    lines.push(legend(most));
    let lost: u64 = shown.iter().filter_map(|point| point.requests.as_ref()).map(|requests| requests.lost_events).sum();
    let note = if lost > 0 { format!(", {} lost", iolab_text::counted(lost, "event")) } else { String::new() };
    let block = block(format!(" latency of each request{note} "));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn block(title: String) -> Block<'static> {
    Block::bordered().border_style(Style::from(Color::DarkGray)).title(Span::from(title).style(Color::Reset))
}

/// The age of the oldest column, at its place; `now` at the right edge.
fn time_axis(shown: &[&Point], width: usize) -> Line<'static> {
    let older = shown.iter().skip(1).map(|point| point.activity.elapsed_ns as f64 / 1e9);
    let first = format!("-{:.0} s", older.sum::<f64>());
    let from = (LABEL + width - shown.len()).min((LABEL + width).saturating_sub(first.len() + " now".len()));
    let rest = (LABEL + width).saturating_sub(from + first.len());
    Line::from(format!("{:from$}{first}{:>rest$}", "", "now")).style(Color::DarkGray)
}

/// What each shade stands for: the fewest requests of an interval that have it.
fn legend(most: u64) -> Line<'static> {
    let mut spans = vec![Span::from("requests: ")];
    let fewest = |wanted: usize| {
        // Bisection, because shades only grow with the count.
        let (mut low, mut high) = (1, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if shade(middle, most) >= wanted { high = middle } else { low = middle + 1 }
        }
        low
    };
    let mut last = 0;
    for (place, (symbol, color)) in SHADES.iter().enumerate().skip(1) {
        let count = fewest(place);
        if count > last && shade(count, most) == place {
            spans.push(Span::from(format!("{symbol} ")).style(*color));
            spans.push(Span::from(format!("{count}+  ")));
            last = count;
        }
    }
    Line::from(spans)
}

/// Means over time, and how to see more than means.
fn untraced(frame: &mut Frame<'_>, state: &State, device: &Device, area: Rect) {
    let why = state.untraced.as_deref().unwrap_or("this device has no requests that can be traced");
    let text = format!(
        "Averages only. A heat map of every request needs root and tracefs: \
         mount -t tracefs none /sys/kernel/tracing\nOff because: {why}"
    );
    let words =
        |text| Paragraph::new(text).wrap(Wrap { trim: true }).block(block(" request tracing is off ".to_owned()));
    if area.height < LEAST_WAITS {
        let waits =
            format!("r_await {:.2} ms, w_await {:.2} ms\n", device.value_of("r_await"), device.value_of("w_await"));
        return frame.render_widget(words(waits + &text), area);
    }
    let lines = if area.height > 2 * LEAST_WAITS { 8 } else { 6 };
    let [chart, below] = Layout::vertical([Constraint::Fill(1), Constraint::Length(lines)]).areas(area);
    charts::draw_waits(frame, device, chart);
    frame.render_widget(words(text), below);
}

fn by_row(point: &Point, lows: &[u64]) -> Vec<u64> {
    let mut counts = vec![0; lows.len()];
    let histograms = point.requests.iter().flat_map(|requests| [&requests.read_ns, &requests.write_ns]);
    for (bucket, count) in histograms.flat_map(|histogram| &histogram.buckets) {
        let ns = bucket_middle(*bucket as usize);
        counts[lows.partition_point(|low| *low <= ns).saturating_sub(1)] += count;
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
        1_000_000.. => format!("{} ms", ns as f64 / 1e6),
        _ => format!("{} µs", ns as f64 / 1e3),
    }
}
