//! The one place that prints: standard output, standard error, and the line that shows progress.
//!
//! Names of jobs, files, devices and tags come from recordings, job files and images, which may
//! come from other people. Control characters are escaped as `\u001b`. This is also JSON's
//! notation, so text for people and JSON need no different treatment. A reader may stop reading at
//! any time; that is not a failure. The content of files (`fs cat`) is not text and is not printed
//! here.
//!
//! The macros shadow those of the standard library, which send everything unchanged and panic on a
//! closed pipe.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};

use anyhow::{Context, Result};
use iolab_activity::Console;

use crate::console;
use crate::painted::{painted, painted_comparison, painted_verdicts};

/// Prints a message on standard error, with a newline.
macro_rules! eprintln {
    () => { $crate::printing::complain("\n") };
    ($($words:tt)*) => { $crate::printing::complain(&format!("{}\n", format_args!($($words)*))) };
}

/// Prints a message on standard error.
macro_rules! eprint {
    ($($words:tt)*) => { $crate::printing::complain(&format!($($words)*)) };
}

/// Prints data to standard output. A closed pipe is not a failure.
pub(crate) fn print(text: &str) -> Result<()> {
    print_to_reader(text).map(drop)
}

/// Prints data to standard output, for callers that would continue; false when the pipe is closed.
pub(crate) fn print_to_reader(text: &str) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    match out.write_all(shown(text).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        answer => answer.map(|()| true).context("writing to standard output"),
    }
}

/// Prints text for people to standard output, in colours if appropriate.
pub(crate) fn print_for_people(text: &str) -> Result<()> {
    print_painted(text, painted)
}

/// Prints text for people, and colours verdicts, too.
pub(crate) fn print_comparison(text: &str) -> Result<()> {
    print_painted(text, painted_comparison)
}

/// Prints text in which only the verdicts are coloured.
pub(crate) fn print_verdicts(text: &str) -> Result<()> {
    print_painted(text, painted_verdicts)
}

fn print_painted(text: &str, paint: fn(&str) -> String) -> Result<()> {
    if !console::stdout_has_colors() {
        return print(text);
    }
    let colored = paint(&shown(text));
    match std::io::stdout().lock().write_all(colored.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        answer => answer.context("writing to standard output"),
    }
}

/// Prints several lines to standard error, in colours if they are enabled.
pub(crate) fn complain_for_people(text: &str) {
    complain(&if console::stderr_has_colors() { painted(&shown(text)) } else { text.to_owned() });
}

/// Prints a message to standard error; a message that cannot be written is lost. Colours are
/// removed if they are disabled.
pub(crate) fn complain(text: &str) {
    let _ = std::io::stderr().write_all(with_colors(text, console::stderr_has_colors()).as_bytes());
}

/// The console of activities on standard error.
pub(crate) struct StandardError;

impl Console for StandardError {
    fn note(&self, text: &str) {
        complain(&format!("iolab: {text}\n"));
    }

    fn show(&self, text: &str) {
        complain(text);
    }

    fn step(&self, text: &str, is_last: bool) {
        if std::io::stderr().is_terminal() {
            show_progress(&format!("{text}{}", if is_last { "\n" } else { "" }));
        } else {
            complain(&format!("{text}\n"));
        }
    }

    fn status(&self, text: &str) {
        if std::io::stderr().is_terminal() {
            show_progress(text);
        }
    }
}

/// Replaces the last line of the terminal on standard error with `text`.
pub(crate) fn show_progress(text: &str) {
    let _ = std::io::stderr().write_all(format!("\r\x1b[K{}", shown(text)).as_bytes());
}

/// `text` made safe for a terminal: sequences that a terminal or an editor would interpret are
/// escaped.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        // Lines of CSV end with CR and LF (RFC 4180).
        let ends_line = letter == '\r' && letters.peek() == Some(&'\n');
        match is_obeyed(letter) && !ends_line {
            true => drop(write!(safe, "\\u{:04x}", u32::from(letter))),
            false => safe.push(letter),
        }
    }
    Cow::Owned(safe)
}

/// Control characters (ECMA-48) except newline and tabulator, and characters that change the
/// direction of text (Unicode Standard Annex 9) or end a line invisibly.
fn is_obeyed(letter: char) -> bool {
    let turns =
        matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || matches!(letter, '\u{2028}' | '\u{2029}') || letter.is_control() && !matches!(letter, '\n' | '\t')
}

/// As [`shown`], but colours and bold are kept or removed instead of escaped: the program uses them
/// itself, and those of others are harmless.
fn with_colors(text: &str, wanted: bool) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        let (before, sequence) = rest.split_at(at);
        safe.push_str(&shown(before));
        let length = sequence.find('m').map_or(2, |end| end + 1);
        let parameters = sequence[2..length].trim_end_matches('m');
        let harmless = |part: &str| part.parse().is_ok_and(|part| matches!(part, 0 | 1 | 4 | 31..=36 | 91..=96));
        let passes = length > 2 && (parameters.is_empty() || parameters.split(';').all(harmless));
        let piece = &sequence[..length];
        match (passes, wanted) {
            (true, true) => safe.push_str(piece),
            (true, false) => {}
            (false, _) => safe.push_str(&shown(piece)),
        }
        rest = &sequence[length..];
    }
    safe.push_str(&shown(rest));
    safe
}

/// Whether messages are coloured (NO_COLOR, <https://no-color.org>).
pub(crate) fn use_color() -> bool {
    crate::console::stderr_has_colors()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        for (text, safe) in [
            ("plain é\n\tand more\n", "plain é\n\tand more\n"),
            ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
            ("a,b\r\nc,d\r\n", "a,b\r\nc,d\r\n"),
            ("a\rb\x08\x7f", "a\\u000db\\u0008\\u007f"),
            ("\u{9b}2J", "\\u009b2J"),
            ("\u{202e}abc\u{2066}", "\\u202eabc\\u2066"),
        ] {
            assert_eq!(shown(text), safe);
        }
    }

    /// The escaped text is JSON that has the same value.
    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"name": "a\u{7f}\u{9b}\u{202e}\u{1b}"});
        let text = value.to_string();
        assert_ne!(shown(&text), text);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown(&text)).unwrap(), value);
    }

    #[test]
    fn only_colors_pass() {
        for (text, safe) in [
            ("\x1b[1m\x1b[91merror\x1b[0m: x", "\x1b[1m\x1b[91merror\x1b[0m: x"),
            ("\x1b[1;94m|\x1b[m", "\x1b[1;94m|\x1b[m"),
            ("\x1b[8mhidden", "\\u001b[8mhidden"),
            ("\x1b[2J\x1b[31m", "\\u001b[2J\\u001b[31m"),
            ("\x1b[", "\\u001b["),
            ("\x1b]0;am", "\\u001b]0;am"),
        ] {
            assert!(!with_colors(text, false).contains(char::is_control), "{text:?}");
            assert_eq!(with_colors(text, true), safe);
        }
    }
}
