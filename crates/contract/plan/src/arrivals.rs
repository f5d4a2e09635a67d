//! Recorded arrivals: the times at which operations are to be sent, read from text.
//!
//! The text has one time per line, microseconds from the start of the job's I/O (a fraction is
//! allowed, down to nanoseconds), in ascending order; blank lines and lines that begin with `#` are
//! skipped. The plan contains the file's name and a checksum of its text; the runner reads the file
//! again and refuses a changed text.

use serde::{Deserialize, Serialize};

/// The recorded arrivals of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArrivalsPlan {
    /// The file.
    pub path: String,
    /// Arrivals in it.
    pub count: u64,
    /// The last of them, ns from the start of I/O.
    pub last_ns: u64,
    /// [`arrivals_checksum`] of its text.
    pub checksum: u64,
    /// Whether to begin again at the end, until the job ends; otherwise the last arrival ends the
    /// job.
    pub repeat: bool,
}

/// What is wrong with a text of arrivals.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArrivalsError {
    /// A line is not a time.
    #[error("line {line}: `{text}` is not a time in microseconds")]
    NotATime {
        /// Number of the line, from 1.
        line: usize,
        /// Its text, shortened.
        text: String,
    },
    /// A time is earlier than the one above it.
    #[error("line {line}: {text} µs is before the arrival above it")]
    Backwards {
        /// Number of the line, from 1.
        line: usize,
        /// The time in it.
        text: String,
    },
    /// No time at all.
    #[error("there is no arrival in it")]
    Empty,
}

/// The arrivals of a text, ns from the start of I/O.
///
/// # Errors
/// The first line at fault.
pub fn parse_arrivals(text: &str) -> Result<Vec<u64>, ArrivalsError> {
    let mut times: Vec<u64> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (line, number) = (line.trim(), index + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let text = || line.chars().take(40).collect();
        let Some(ns) = microseconds(line) else {
            return Err(ArrivalsError::NotATime { line: number, text: text() });
        };
        if times.last().is_some_and(|last| *last > ns) {
            return Err(ArrivalsError::Backwards { line: number, text: text() });
        }
        times.push(ns);
    }
    if times.is_empty() { Err(ArrivalsError::Empty) } else { Ok(times) }
}

/// `12.345` microseconds in ns, without rounding through floating point; digits below a nanosecond
/// are dropped.
fn microseconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let ns = fraction.bytes().chain([b'0'; 3]).take(3).fold(0, |ns, digit| ns * 10 + u64::from(digit - b'0'));
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(ns)
}

/// The period after which arrivals begin again, ns: the time of the last one plus one mean gap, so
/// that the rate stays the same. `None` if all are at the start and would repeat endlessly.
pub fn arrivals_period_ns(times_ns: &[u64]) -> Option<u64> {
    let (first, last) = (times_ns.first()?, times_ns.last()?);
    let gap_ns = match times_ns.len() as u64 - 1 {
        0 => 0,
        gaps => (last - first).div_ceil(gaps),
    };
    Some(last + gap_ns).filter(|period_ns| *period_ns > 0)
}

/// A checksum of a text: 64-bit FNV-1a (Fowler, Noll, Vo), to notice that a file has changed.
pub fn arrivals_checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_times() {
        for (text, expected) in [
            ("0\n1000\n1000\n2500.5\n", vec![0, 1_000_000, 1_000_000, 2_500_500]),
            ("# a trace\n\n  7 \r\n8.0019\n", vec![7_000, 8_001]),
            ("3", vec![3_000]),
        ] {
            assert_eq!(parse_arrivals(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("0\nten\n", "line 2: `ten` is not a time in microseconds"),
            ("0\n\n-5\n", "line 3: `-5` is not a time in microseconds"),
            ("1.\n.5\n", "line 2: `.5` is not a time in microseconds"),
            ("1,4096\n", "line 1: `1,4096` is not a time in microseconds"),
            ("18446744073709551615\n", "line 1: `18446744073709551615` is not a time in microseconds"),
            ("5\n# note\n4\n", "line 3: 4 µs is before the arrival above it"),
            ("# nothing\n", "there is no arrival in it"),
            ("", "there is no arrival in it"),
        ] {
            let error = parse_arrivals(text).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_repeated_trace_keeps_its_rate() {
        for (times, expected) in [
            (vec![0, 1_000, 2_000], Some(3_000)),
            (vec![500, 1_500], Some(2_500)),
            (vec![700], Some(700)),
            (vec![0], None),
            (vec![0, 0, 0], None),
        ] {
            assert_eq!(arrivals_period_ns(&times), expected, "{times:?}");
        }
    }

    #[test]
    fn another_text_has_another_checksum() {
        // The reference values of FNV-1a.
        assert_eq!(arrivals_checksum(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(arrivals_checksum("a"), 0xaf63_dc4c_8601_ec8c);
    }
}
