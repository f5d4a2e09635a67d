//! The full screen, drawn.
//!
//! ```text
//!  machine, pressure                                as many lines as it takes
//!  table of jobs, if a run is shown                 at most a third of the rest
//!  table of devices, the selected one marked        at most two fifths of the rest
//!  settings of the selected device                  one line
//!  rates over time │ latency over time (heat)       what is left, of the selected device; as many
//!                  │                                charts as have room for their axes
//!  keys                                             one line
//! ```
//!
//! The charts of a run's jobs are on the left of the device's.
//!
//! A small terminal has fewer columns, no latencies, and at last no history; nothing is cut off.

mod charts;
mod heat;
mod table;
mod work;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::state::{Device, State};
use super::work::Work;

const KEYS: &str = " q leave  ? columns  up/down device  s/S sort  r reverse  m MB  space pause";
const KEYS_OF_RUN: &str =
    " q leave the screen (the run continues)  Ctrl-C end the run  ? columns  up/down device  s/S sort  r reverse  m MB";
/// A machine's line may be longer than the terminal is wide.
const MOST_HEAD_LINES: u16 = 4;
/// A history lower or narrower than this shows nothing.
const LEAST_COURSE_LINES: u16 = 9;
const LEAST_HALF: u16 = 35;
/// From this width on, three columns of figures stand side by side.
const THREE_COLUMNS: u16 = 150;

pub(crate) fn screen(frame: &mut Frame<'_>, state: &State) {
    let paused = if state.paused { "  PAUSED" } else { "" };
    let title = match &state.work {
        Some(work) => format!("iolab run on {}  {}", state.hostname, work.standing),
        None => format!("iolab watch on {}", state.hostname),
    };
    let title = Line::from(vec![
        Span::from(title).style(Modifier::BOLD),
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
    let jobs_lines = state.work.as_ref().map_or(0, |work| work::lines(work).min((rest.height / 3).max(2)));
    let [jobs, rest] = Layout::vertical([Constraint::Length(jobs_lines), Constraint::Fill(1)]).areas(rest);
    if let Some(work) = &state.work {
        work::table(frame, work, jobs);
    }
    below_jobs(frame, state, rest);
    let text = if state.work.is_some() { KEYS_OF_RUN } else { KEYS };
    frame.render_widget(Paragraph::new(text).style(Modifier::REVERSED), keys);
    if state.help {
        help(frame, state);
    }
}

/// The devices, and what is over time.
fn below_jobs(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let is_run = state.work.is_some();
    let rows = (state.devices.len() as u16).saturating_add(2).min((area.height * 2 / 5).max(3));
    // A job without devices has the room for itself.
    let rows = if is_run && state.devices.is_empty() { 0 } else { rows };
    let [table, course] = Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]).areas(area);
    let with_course = course.height >= LEAST_COURSE_LINES;
    if rows > 0 {
        table::draw(frame, state, if with_course { table } else { area });
    }
    if state.devices.is_empty() && !is_run {
        let text = "No device to show: the devices you named do not exist, or no device has been used yet (`iolab watch -f ALL` \
                    shows unused ones, too).";
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), course);
    }
    if !with_course {
        return;
    }
    match (&state.work, state.devices.get(state.place())) {
        (Some(work), device) => beside(frame, state, work, device, course),
        (None, Some(device)) => selected(frame, state, device, course),
        (None, None) => {}
    }
}

/// The jobs of a run on the left, the selected device on the right.
fn beside(frame: &mut Frame<'_>, state: &State, work: &Work, device: Option<&Device>, area: Rect) {
    let Some(device) = device else { return work::charts(frame, work, area, area.width / 2 >= LEAST_HALF) };
    if area.width / 2 < LEAST_HALF {
        return work::charts(frame, work, area, false);
    }
    let [left, right] = if area.width >= THREE_COLUMNS {
        Layout::horizontal([Constraint::Fill(1), Constraint::Fill(2)]).areas(area)
    } else {
        Layout::horizontal([Constraint::Fill(1); 2]).areas(area)
    };
    work::charts(frame, work, left, false);
    selected(frame, state, device, right);
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
