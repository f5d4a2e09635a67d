//! The full screen, drawn.
//!
//! ```text
//!  machine, pressure                                as many lines as it takes
//!  table of devices, the selected one marked        at most two fifths of the rest
//!  settings of the selected device                  one line
//!  rates over time │ latency over time (heat)       what is left, of the selected device; as many
//!                  │                                charts as have room for their axes
//!  keys                                             one line
//! ```
//!
//! A small terminal has fewer columns, no latencies, and at last no history; nothing is cut off.

mod charts;
mod heat;
mod table;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::state::{Device, State};

const KEYS: &str = " q leave  ? columns  up/down device  s/S sort  r reverse  m MB  space pause";
/// A machine's line may be longer than the terminal is wide.
const MOST_HEAD_LINES: u16 = 4;
/// A history lower or narrower than this shows nothing.
const LEAST_COURSE_LINES: u16 = 9;
const LEAST_HALF: u16 = 35;
/// From this width on, three columns of figures stand side by side.
const THREE_COLUMNS: u16 = 150;

pub(super) fn screen(frame: &mut Frame<'_>, state: &State) {
    let paused = if state.paused { "  PAUSED" } else { "" };
    let title = Line::from(vec![
        Span::from(format!("iolab watch on {}", state.hostname)).style(Modifier::BOLD),
        Span::from(paused).style(Style::from(Modifier::BOLD).fg(Color::Red)),
    ]);
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
        let text = "No device to show: the devices you named do not exist, or no device has been used yet (`iolab watch -f ALL` \
                    shows unused ones, too).";
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), course);
    }
    if let Some(device) = state.devices.get(state.place()).filter(|_| with_course) {
        selected(frame, state, device, course);
    }
    frame.render_widget(Paragraph::new(KEYS).style(Modifier::REVERSED), keys);
    if state.help {
        help(frame, state);
    }
}

/// The selected device: a line of its settings, its rates and its latencies over time.
fn selected(frame: &mut Frame<'_>, state: &State, device: &Device, area: Rect) {
    let settings = settings_text(device);
    // A small terminal has no line to spare for them.
    let lines = u16::from(!settings.is_empty() && area.height > LEAST_COURSE_LINES + 2);
    let [head, figures] = Layout::vertical([Constraint::Length(lines), Constraint::Fill(1)]).areas(area);
    let name = Span::from(device.name.as_str()).style(Style::from(Modifier::BOLD).fg(Color::Cyan));
    frame.render_widget(Paragraph::new(Line::from(vec![name, Span::from(format!("  {settings}"))])), head);
    if figures.width >= THREE_COLUMNS {
        let [left, middle, right] = Layout::horizontal([Constraint::Fill(1); 3]).areas(figures);
        charts::draw(frame, device, &[left, middle]);
        heat::draw(frame, state, device, right);
    } else if figures.width / 2 >= LEAST_HALF {
        let [left, right] = Layout::horizontal([Constraint::Fill(1); 2]).areas(figures);
        charts::draw(frame, device, &[left]);
        heat::draw(frame, state, device, right);
    } else {
        charts::draw(frame, device, &[figures]);
    }
}

fn settings_text(device: &Device) -> String {
    let telling = ["scheduler", "nr_requests", "nomerges", "max_sectors_kb", "write_cache"];
    let known = telling.iter().filter_map(|name| Some(format!("{name} {}", device.settings.get(*name)?)));
    known.collect::<Vec<_>>().join(", ")
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
