//! A parsed line of strace: thread, time, name, arguments, result, duration.

use super::arguments;
use crate::strace::arguments::number;
use iolab_text::errno_by_name;

/// A time in one of strace's forms; ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    /// No time option was given.
    None,
    /// `-ttt`: since the Unix epoch.
    Unix(u64),
    /// `-t`, `-tt`: since midnight.
    OfDay(u64),
    /// `-r`: since the preceding line.
    SinceLast(u64),
}

/// A call with its result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call<'t> {
    pub(super) name: &'t str,
    pub(super) arguments: Vec<&'t str>,
    /// Its return value, or the negative errno; `None` where strace prints `?`.
    pub(super) result: Option<i64>,
    /// The path of a returned descriptor (`-y`).
    pub(super) result_path: Option<&'t str>,
    pub(super) duration_ns: Option<u64>,
}

/// Seconds since 2001: larger values come from `-ttt`, not from the time since the preceding line.
const SURELY_UNIX_NS: u64 = 1_000_000_000 * 1_000_000_000;

/// The thread (0 if absent), the time, and the rest of a line.
pub(super) fn taken_apart(text: &str) -> (u32, Stamp, &str) {
    let mut rest = text.trim_start();
    let mut thread = 0;
    if let Some((number, after)) = rest.strip_prefix("[pid").and_then(|after| after.split_once(']')) {
        thread = number.trim().parse().unwrap_or(0);
        rest = after.trim_start();
    } else if let Some((word, after)) = rest.split_once(' ')
        && let Ok(number) = word.parse()
    {
        (thread, rest) = (number, after.trim_start());
    }
    let Some((word, after)) = rest.split_once(' ') else { return (thread, Stamp::None, rest) };
    match stamp(word) {
        Some(stamp) => (thread, stamp, after.trim_start()),
        None => (thread, Stamp::None, rest),
    }
}

fn stamp(word: &str) -> Option<Stamp> {
    if let [hours, minutes, seconds] = word.split(':').collect::<Vec<_>>()[..] {
        let minutes = hours.parse::<u64>().ok()?.min(24) * 60 + minutes.parse::<u64>().ok()?.min(60);
        return Some(Stamp::OfDay(minutes * 60_000_000_000 + seconds_ns(seconds)?));
    }
    let ns = word.contains('.').then(|| seconds_ns(word)).flatten()?;
    Some(if ns >= SURELY_UNIX_NS { Stamp::Unix(ns) } else { Stamp::SinceLast(ns) })
}

/// Seconds with up to nine decimal digits, as ns.
fn seconds_ns(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || whole.len() > 10 || fraction.len() > 9 || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let fraction_ns: u64 = format!("{fraction:0<9}").parse().ok()?;
    Some(whole.parse::<u64>().ok()? * 1_000_000_000 + fraction_ns)
}

/// The text after `<... name resumed>`.
pub(super) fn resumed(rest: &str) -> Option<&str> {
    let (_, after) = rest.strip_prefix("<... ")?.split_once(" resumed>")?;
    Some(after)
}

/// The text before `<unfinished ...>`.
pub(super) fn unfinished(rest: &str) -> Option<&str> {
    rest.strip_suffix("<unfinished ...>").map(str::trim_end)
}

impl<'t> Call<'t> {
    /// Parses `name(arguments) = result <duration>`.
    pub(super) fn read(text: &'t str) -> Option<Call<'t>> {
        let (name, rest) = text.split_once('(')?;
        let is_name = !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_');
        let (arguments, rest) = arguments::split(rest).filter(|_| is_name)?;
        let rest = rest.trim_start().strip_prefix('=')?.trim();
        let (rest, duration_ns) = match rest.rsplit_once('<') {
            Some((before, last)) if last.ends_with('>') && seconds_ns(last.trim_end_matches('>')).is_some() => {
                (before.trim_end(), seconds_ns(last.trim_end_matches('>')))
            }
            _ => (rest, None),
        };
        let (word, path) = match rest.split_once('<') {
            Some((word, path)) if !word.contains(' ') => (word, path.rfind('>').map(|end| &path[..end])),
            _ => (rest.split(' ').next().unwrap_or(rest), None),
        };
        let result = match word {
            "-1" => Some(-errno_of(rest.split(' ').nth(1).unwrap_or(""))),
            _ => number(word),
        };
        Some(Call { name, arguments, result, result_path: path, duration_ns })
    }

    /// An argument as a number; 0 if it is not one.
    pub(super) fn number(&self, index: usize) -> u64 {
        self.arguments.get(index).and_then(|word| number(word)).map_or(0, |number| number as u64)
    }

    /// Whether an argument contains this word between `|`.
    pub(super) fn has(&self, index: usize, word: &str) -> bool {
        self.arguments.get(index).is_some_and(|argument| argument.split('|').any(|found| found.trim() == word))
    }

    /// An argument that is a descriptor, and its path from `-y`.
    pub(super) fn descriptor(&self, index: usize) -> Option<(i32, Option<&'t str>)> {
        arguments::descriptor(self.arguments.get(index)?)
    }
}

/// The number of an errno name; 1 if the name is unknown.
fn errno_of(name: &str) -> i64 {
    errno_by_name(name).map_or(1, i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_of_lines() {
        for (text, expected) in [
            ("read(3, 0, 1) = 1", (0, Stamp::None, "read(3, 0, 1) = 1")),
            ("1234  1700000000.000002 close(3) = 0", (1234, Stamp::Unix(1_700_000_000_000_002_000), "close(3) = 0")),
            ("[pid  77] 00:00:01.5 x(", (77, Stamp::OfDay(1_500_000_000), "x(")),
            ("12:34:56 sync() = 0", (0, Stamp::OfDay(45_296_000_000_000), "sync() = 0")),
            ("     0.000100 sync() = 0", (0, Stamp::SinceLast(100_000), "sync() = 0")),
            ("99 sync() = 0", (99, Stamp::None, "sync() = 0")),
            ("", (0, Stamp::None, "")),
        ] {
            assert_eq!(taken_apart(text), expected, "{text}");
        }
    }

    #[test]
    fn calls() {
        let call = Call::read("pwrite64(5</db/a, (b>, \"x\\\")\"..., 8192, 16384) = 8192 <0.000021>").unwrap();
        assert_eq!((call.name, call.number(2), call.number(3), call.result), ("pwrite64", 8192, 16384, Some(8192)));
        assert_eq!((call.descriptor(0), call.duration_ns), (Some((5, Some("/db/a, (b"))), Some(21_000)));
        let call = Call::read("openat(AT_FDCWD</x>, \"/y\", O_RDWR|O_CREAT, 0600) = 3</y>").unwrap();
        assert_eq!((call.result, call.result_path, call.has(2, "O_CREAT")), (Some(3), Some("/y"), true));
        let call = Call::read("open(\"/y\", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000009>").unwrap();
        assert_eq!((call.result, call.duration_ns), (Some(-2), Some(9_000)));
        assert_eq!(Call::read("exit_group(0) = ?").unwrap().result, None);
        for text in ["", "(", "a", "a(", "a(b", "a(b)", "a b(c) = 1", "a(\"", "a([{)"] {
            assert_eq!(Call::read(text), None, "{text}");
        }
    }
}
