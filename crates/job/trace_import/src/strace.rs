//! strace's text, as written by `strace -f -ttt -T -y` and similar options (strace(1)).
//!
//! ```text
//!  1234  1700000000.123456 pwrite64(5</db/pg_wal/0001>, "…"..., 8192, 16384) = 8192 <0.000021>
//!  [pid 1235] 12:34:56.123456 fdatasync(5 <unfinished ...>
//!  [pid 1235] <... fdatasync resumed>) = 0 <0.002100>
//! ```
//! Without times, each call begins when the preceding one ended. Without `-y`, descriptors are
//! tracked from the calls that opened them. strace does not show entries of io_uring: they are
//! counted as unseen.

mod arguments;
mod calls;
mod descriptors;
mod line;

use std::collections::HashMap;
use std::io::{BufRead, Write};

use iolab_trace::Facts;

use crate::lines::{self, Line};
use crate::sink::ImportError;
use crate::sink::{Imported, Sink};
use calls::Calls;
use line::{Call, Stamp};

/// Largest number of calls waiting for their end.
const MOST_UNFINISHED: usize = 1 << 16;
const DAY_NS: u64 = 86_400 * 1_000_000_000;

/// The current time in the text.
#[derive(Debug, Default)]
struct Times {
    /// The first stamp; the trace begins there.
    first_ns: Option<u64>,
    last_ns: u64,
    /// Days that have passed, if stamps are times of day.
    days_ns: u64,
    relative_ns: u64,
}

impl Times {
    /// The time of a line, ns since the first one.
    fn of(&mut self, stamp: Stamp, last_end_ns: u64) -> u64 {
        let at_ns = match stamp {
            Stamp::None => return last_end_ns,
            Stamp::Unix(ns) => ns,
            Stamp::OfDay(ns) => {
                if ns + self.days_ns + DAY_NS / 2 < self.last_ns {
                    self.days_ns += DAY_NS;
                }
                ns + self.days_ns
            }
            Stamp::SinceLast(ns) => {
                self.relative_ns = self.relative_ns.saturating_add(ns);
                self.relative_ns
            }
        };
        self.last_ns = at_ns;
        at_ns.saturating_sub(*self.first_ns.get_or_insert(at_ns))
    }
}

/// Reads strace's text into a trace. `command` is recorded in the trace as its origin.
///
/// # Errors
/// Input or output fails. Unrecognised lines are counted in the trace.
pub fn import<W: Write>(
    input: &mut impl BufRead,
    output: W,
    command: Vec<String>,
    anonymous: bool,
) -> Result<Imported, ImportError> {
    let mut state = State::default();
    let mut number = 0;
    // The first stamp is a fact of the trace, so the first line is read before the trace begins.
    let first = lines::next(input)?;
    let started_unix_ns = match &first {
        Some(Line::Text(text)) => match line::taken_apart(text).1 {
            Stamp::Unix(ns) => ns,
            _ => 0,
        },
        _ => 0,
    };
    let source = "strace".to_owned();
    let facts = Facts { source, command, started_unix_ns, anonymous, has_durations: true, ..Facts::default() };
    let mut calls = Calls::new(Sink::new(output, &facts)?);
    let mut next = first;
    while let Some(found) = next {
        number += 1;
        match found {
            Line::TooLong => calls.sink.puzzled(number),
            Line::Text(text) => state.take_line(&text, number, &mut calls)?,
        }
        next = lines::next(input)?;
    }
    calls.sink.unseen("calls still running at the end of the text", state.unfinished.len() as u64);
    calls.finish()
}

/// The beginning of a call whose end comes in a later line.
#[derive(Debug)]
struct Unfinished {
    time_ns: u64,
    text: String,
}

/// What earlier lines imply for the next one.
#[derive(Debug, Default)]
struct State {
    times: Times,
    /// By thread.
    unfinished: HashMap<u32, Unfinished>,
}

impl State {
    fn take_line<W: Write>(&mut self, text: &str, number: u64, calls: &mut Calls<W>) -> Result<(), ImportError> {
        let (thread, stamp, rest) = line::taken_apart(text);
        let time_ns = self.times.of(stamp, calls.last_end_ns);
        let is_no_call = rest.is_empty() || ["---", "+++", "strace:"].iter().any(|start| rest.starts_with(start));
        if is_no_call {
            return Ok(());
        }
        let (time_ns, whole) = if let Some(resumed) = line::resumed(rest) {
            let Some(Unfinished { time_ns: begun_ns, text: begun }) = self.unfinished.remove(&thread) else {
                calls.sink.puzzled(number);
                return Ok(());
            };
            (begun_ns, begun + resumed)
        } else if let Some(begun) = line::unfinished(rest) {
            if self.unfinished.len() < MOST_UNFINISHED {
                self.unfinished.insert(thread, Unfinished { time_ns, text: begun.to_owned() });
            }
            return Ok(());
        } else {
            (time_ns, rest.to_owned())
        };
        match Call::read(&whole) {
            Some(call) => calls.take(thread, time_ns, &call, number),
            None => {
                calls.sink.puzzled(number);
                Ok(())
            }
        }
    }
}
