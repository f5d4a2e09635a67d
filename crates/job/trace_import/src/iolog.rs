//! fio's iolog, versions 2 and 3 (fio(1), "Trace file format"): imported into a trace, and exported
//! from one.
//!
//! ```text
//!  fio version 2 iolog                  fio version 3 iolog
//!  /data add                            0 /data add
//!  /data open                           3 /data open
//!  /data write 0 4096                   15 /data write 0 4096        (times in microseconds)
//!  /data wait 500 0                     2100 /data close
//! ```
//! Neither has threads or durations. Version 2 has times only in `wait` lines.

use std::io::{self, BufRead, Read, Write};

use iolab_trace::{Call, Facts, File, Flags, NO_FILE, Operation, Reader};

use crate::lines::{self, Line};
use crate::sink::ImportError;
use crate::sink::{Imported, Sink};

/// The versions of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Without times.
    Two,
    /// With the time of each line.
    Three,
}

impl Version {
    fn of(line: &str) -> Option<Version> {
        match line.trim() {
            "fio version 2 iolog" => Some(Version::Two),
            "fio version 3 iolog" => Some(Version::Three),
            _ => None,
        }
    }
}

/// Actions that are not operations: `add` introduces a file, `wait` passes time.
const OF_THE_LOG: [&str; 2] = ["add", "wait"];
/// Actions that are operations, and their calls.
const ACTIONS: [(&str, Call); 7] = [
    ("open", Call::Open),
    ("close", Call::Close),
    ("read", Call::JobRead),
    ("write", Call::JobWrite),
    ("trim", Call::JobTrim),
    ("sync", Call::Fsync),
    ("datasync", Call::Fdatasync),
];

/// Reads an iolog into a trace.
///
/// # Errors
/// It is not an iolog of version 2 or 3; input or output fails. Unrecognised lines are counted in
/// the trace.
pub fn import<W: Write>(
    input: &mut impl BufRead,
    output: W,
    command: Vec<String>,
    anonymous: bool,
) -> Result<Imported, ImportError> {
    let first = match lines::next(input)? {
        Some(Line::Text(text)) => text,
        _ => String::new(),
    };
    let version = Version::of(&first).ok_or_else(|| ImportError::Unknown {
        what: "its first line is not an iolog header".to_owned(),
        advice: "it should be `fio version 2 iolog` or `fio version 3 iolog`, as fio's write_iolog= writes it",
    })?;
    let facts = Facts { source: "iolog".to_owned(), command, anonymous, has_durations: false, ..Facts::default() };
    let mut sink = Sink::new(output, &facts)?;
    let (mut passed, mut number) = (Passed::default(), 1);
    while let Some(line) = lines::next(input)? {
        number += 1;
        let taken = match &line {
            Line::Text(text) if text.trim().is_empty() => Some(()),
            Line::Text(text) => take_line(text, version, &mut passed, &mut sink)?,
            Line::TooLong => None,
        };
        if taken.is_none() {
            sink.puzzled(number);
        }
    }
    if version == Version::Two && !passed.waits {
        sink.unseen("the log has no time stamps: all operations have time 0", 1);
    }
    sink.finish("lines")
}

/// The time that has passed according to the lines so far.
#[derive(Debug, Default)]
struct Passed {
    now_ns: u64,
    /// Whether any line is a `wait`.
    waits: bool,
}

fn take_line<W: Write>(
    text: &str,
    version: Version,
    passed: &mut Passed,
    sink: &mut Sink<W>,
) -> Result<Option<()>, ImportError> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    if version == Version::Three {
        let Some(time) = words.first().and_then(|word| word.parse::<u64>().ok()) else { return Ok(None) };
        passed.now_ns = time.saturating_mul(1_000).min(1 << 58);
        words.remove(0);
    }
    // File names may contain blanks: the action is the word followed by its numbers.
    let is_action = |word: &str| OF_THE_LOG.contains(&word) || ACTIONS.iter().any(|(action, _)| *action == word);
    let with_numbers = words.len() >= 4 && is_action(words[words.len() - 3]);
    let (place, numbers) = match (with_numbers, words.len()) {
        (true, count) => (count - 3, (words[count - 2].parse().ok(), words[count - 1].parse().ok())),
        (false, count) if count >= 2 => (count - 1, (Some(0), Some(0))),
        _ => return Ok(None),
    };
    let (Some(first), Some(length)): (Option<u64>, Option<u64>) = numbers else { return Ok(None) };
    match words[place] {
        "add" => {}
        "wait" => {
            passed.waits = true;
            passed.now_ns = passed.now_ns.saturating_add(first.saturating_mul(1_000)).min(1 << 58);
        }
        action => {
            let Some((_, call)) = ACTIONS.iter().find(|(known, _)| *known == action) else { return Ok(None) };
            let moves = call.moves_data();
            if moves && !with_numbers {
                return Ok(None);
            }
            let file = sink.file(&words[..place].join(" "))?;
            let thread = sink.thread(0, 0, "")?;
            let (offset, result) = (moves.then_some(first), if moves { length.min(1 << 58) as i64 } else { 0 });
            let length = if moves { length } else { 0 };
            let (call, flags) = (*call, Flags::default());
            let time_ns = passed.now_ns;
            sink.operation(&Operation { time_ns, duration_ns: 0, thread, call, file, offset, length, result, flags })?;
        }
    }
    Ok(Some(()))
}

/// What an export wrote and left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Lines of operations.
    pub lines: u64,
    /// Transfers whose offset is unknown, or that failed.
    pub left_out: u64,
}

/// Writes the transfers and syncs of a trace on files and block devices as an iolog, in the order
/// of the trace.
///
/// # Errors
/// Those of input and output.
pub fn export<R: Read, W: Write>(reader: &mut Reader<R>, version: Version, output: &mut W) -> io::Result<Exported> {
    let number = if version == Version::Two { 2 } else { 3 };
    writeln!(output, "fio version {number} iolog")?;
    let mut exported = Exported::default();
    let mut opened: Vec<bool> = Vec::new();
    let mut last_us = 0;
    while let Some(operation) = reader.next_operation()? {
        let Some(action) = action_of(operation.call) else { continue };
        let place = operation.file as usize;
        let storage = reader.files().get(place).filter(|file| operation.file != NO_FILE && file.kind.is_storage());
        let Some(File { path, .. }) = storage else { continue };
        let is_sync = matches!(action, "sync" | "datasync");
        let moved = operation.bytes();
        if operation.has_failed() || !is_sync && (operation.offset.is_none() || moved == 0) {
            exported.left_out += 1;
            continue;
        }
        let time_us = operation.time_ns / 1_000;
        let stamp = if version == Version::Three { format!("{time_us} ") } else { String::new() };
        if opened.len() <= place {
            opened.resize(place + 1, false);
        }
        if !std::mem::replace(&mut opened[place], true) {
            writeln!(output, "{stamp}{path} add\n{stamp}{path} open")?;
        }
        if version == Version::Two && time_us > last_us {
            writeln!(output, "{path} wait {} 0", time_us - last_us)?;
        }
        last_us = last_us.max(time_us);
        writeln!(output, "{stamp}{path} {action} {} {moved}", operation.offset.unwrap_or(0))?;
        exported.lines += 1;
    }
    let stamp = if version == Version::Three { format!("{last_us} ") } else { String::new() };
    for (file, _) in reader.files().iter().zip(&opened).filter(|(_, opened)| **opened) {
        writeln!(output, "{stamp}{} close", file.path)?;
    }
    Ok(exported)
}

fn action_of(call: Call) -> Option<&'static str> {
    use iolab_trace::Effect;
    match (call, call.effect()) {
        (Call::Fdatasync | Call::AioFdatasync | Call::UringFdatasync, _) => Some("datasync"),
        (Call::Fsync | Call::AioFsync | Call::UringFsync | Call::BlockFlush, _) => Some("sync"),
        (_, Effect::Read) => Some("read"),
        (_, Effect::Write) => Some("write"),
        (_, Effect::Discard) => Some("trim"),
        _ => None,
    }
}
