//! `iolab watch --full-screen`: a table to sort and select in, and the history of the selected
//! device.
//!
//! The terminal is restored in any case: at the end, on a signal, and by ratatui's hook on a panic.
//! `state` determines what is shown, `draw` how; neither knows the terminal.

pub(crate) mod draw;
pub(crate) mod state;
pub(crate) mod work;

use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_iostat::DataUnit;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use super::looks::Looker;
use crate::request::WatchError;
use crate::selection::Pace;
use state::{Key, State};

const USUAL_NS: u64 = 1_000_000_000;
/// How long a signal may go unnoticed, and events of traced requests wait.
const NOTICE: Duration = Duration::from_millis(20);

pub(crate) fn show(mut looker: Looker, pace: Pace, unit: DataUnit, untraced: Option<String>) -> Result<(), WatchError> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(WatchError::Mistake(
            "--full-screen needs a terminal; without --full-screen, iolab watch prints text".to_owned(),
        ));
    }
    let interval_ns = if pace.interval_ns == 0 { USUAL_NS } else { pace.interval_ns };
    let reports = if pace.interval_ns == 0 { None } else { pace.reports };
    let mut state = State::new(looker.facts().hostname, unit);
    state.untraced = untraced;
    let mut terminal = ratatui::try_init().map_err(WatchError::terminal("opening the terminal"))?;
    let watched = watch(&mut terminal, &mut looker, &mut state, interval_ns, reports);
    ratatui::restore();
    watched.map_err(WatchError::terminal("drawing on the terminal"))
}

fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    looker: &mut Looker,
    state: &mut State,
    interval_ns: u64,
    reports: Option<u64>,
) -> std::io::Result<()> {
    let clock = Clock::monotonic();
    let mut next_ns = clock.now_ns();
    let mut left = reports;
    while iolab_process::INTERRUPTS.load(Ordering::Relaxed) == 0 {
        let now_ns = clock.now_ns();
        if now_ns >= next_ns {
            if left == Some(0) {
                break;
            }
            left = left.map(|left| left - 1);
            next_ns += (now_ns - next_ns) / interval_ns * interval_ns + interval_ns;
            state.take(looker.look(), |device| looker.settings(device));
        }
        terminal.draw(|frame| draw::screen(frame, state))?;
        // Until the next look, or a key.
        while clock.now_ns() < next_ns && iolab_process::INTERRUPTS.load(Ordering::Relaxed) == 0 {
            looker.fetch();
            if !event::poll(NOTICE)? {
                continue;
            }
            match event::read()? {
                Event::Key(pressed) if pressed.kind != KeyEventKind::Release => {
                    let leaves =
                        pressed.modifiers.contains(KeyModifiers::CONTROL) && pressed.code == KeyCode::Char('c');
                    if leaves || !state.press(key(pressed.code)) {
                        return Ok(());
                    }
                }
                Event::Resize(..) => {}
                _ => continue,
            }
            terminal.draw(|frame| draw::screen(frame, state))?;
        }
    }
    Ok(())
}

pub(crate) fn key(code: KeyCode) -> Key {
    match code {
        KeyCode::Char('q') | KeyCode::Esc => Key::Leave,
        KeyCode::Char('?' | 'h') => Key::Help,
        KeyCode::Char('j') | KeyCode::Down => Key::Down,
        KeyCode::Char('k') | KeyCode::Up => Key::Up,
        KeyCode::Char('s') | KeyCode::Right => Key::NextColumn,
        KeyCode::Char('S') | KeyCode::Left => Key::LastColumn,
        KeyCode::Char('r') => Key::Reverse,
        KeyCode::Char('m') => Key::Unit,
        KeyCode::Char(' ') => Key::Pause,
        _ => Key::Other,
    }
}
