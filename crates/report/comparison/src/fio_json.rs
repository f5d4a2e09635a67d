//! Reads fio's JSON reports (`--output-format=json` and `json+`) and iolab's own reports in that
//! form, and skips other text around them.
//!
//! A report may follow warnings, precede a normal report, be one of several (`--status-interval`),
//! be part of an array, or come from a client (`client_stats`). Versions 2 and 3 differ in units:
//! in version 2, `clat` is in µs and `io_bytes` in KiB. Only `json+` contains histograms (`bins`);
//! fio's buckets are those of [`iolab_histogram`], so that nothing is lost. Without them,
//! percentiles are taken as fio states them, and cannot be combined over jobs.
//!
//! Terse reports, logs and the normal format are not read.

mod job;

use serde_json::Value;

use crate::RunSummary;

/// Most attempts to parse a document in one text, so that a text with many false beginnings does
/// not take long.
const MOST_READINGS: usize = 16;

/// Why a text is not a report of fio.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FioJsonError {
    /// It contains nothing that looks like one.
    #[error("not an iolab recording and not fio's JSON (--output-format=json or json+)")]
    NotFio,
    /// It ends before the report does.
    #[error("fio's JSON, but cut off in line {line}: the run was killed, or its output was truncated")]
    Cut {
        /// Line, from 1.
        line: usize,
    },
    /// It is damaged.
    #[error("fio's JSON, but damaged in line {line}: {message}")]
    Damaged {
        /// Line, from 1.
        line: usize,
        /// The parser's message.
        message: String,
    },
}

/// The runs reported in a text, in order: usually one. Of several status reports of one run
/// (`--status-interval`), the last counts.
///
/// # Errors
/// It contains no report, or no complete one.
pub fn read_fio_json(name: &str, text: &str) -> Result<Vec<RunSummary>, FioJsonError> {
    let documents = documents(text)?;
    let total = documents.len();
    let kept = last_of_each_run(documents);
    let is_status = kept.len() < total;
    let summary = |document: &Value| {
        let mut run = job::run(name, document);
        if is_status {
            run.notes.push("several status reports in one file: the last of the run counts".to_owned());
        }
        run
    };
    Ok(kept.iter().map(summary).collect())
}

/// All reports in a text, whatever is between them.
fn documents(text: &str) -> Result<Vec<Value>, FioJsonError> {
    // fio prints the result of a division by zero as C's printf formats it, which is not JSON.
    let mut sound = text.to_owned();
    for wrong in [": -nan", ": nan", ": -inf", ": inf"] {
        if sound.contains(wrong) {
            sound = sound.replace(wrong, ": 0");
        }
    }
    let mut found = Vec::new();
    let mut failure = None;
    let mut place = 0;
    let last_report = sound.rfind("\"fio version\"");
    let mut patience = sound.len().saturating_mul(MOST_READINGS);
    while let Some(start) = next_start(&sound, place) {
        let mut stream = serde_json::Deserializer::from_slice(&sound.as_bytes()[start..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                place = start + stream.byte_offset().max(1);
                match value {
                    Value::Array(values) => found.extend(values.into_iter().filter(is_report)),
                    value if is_report(&value) => found.push(value),
                    _ => {}
                }
            }
            Some(Err(error)) => {
                if failure.is_none() && last_report.is_some_and(|report| start <= report) {
                    failure = Some(describe(&error, &sound[..start]));
                }
                let read = bytes_read(&sound[start..], &error);
                // What is nested too deeply is no report: skip what was read of it.
                place = (start + if is_too_deep(&error) { read } else { 1 }).min(sound.len());
                while !sound.is_char_boundary(place) {
                    place += 1;
                }
                patience = patience.saturating_sub(read);
                if patience == 0 {
                    break;
                }
            }
            None => break,
        }
    }
    if found.is_empty() { Err(failure.unwrap_or(FioJsonError::NotFio)) } else { Ok(found) }
}

fn describe(error: &serde_json::Error, before: &str) -> FioJsonError {
    let line = before.matches('\n').count() + error.line();
    match error.is_eof() {
        true => FioJsonError::Cut { line },
        false => FioJsonError::Damaged { line, message: error.to_string() },
    }
}

/// Whether the parser gave up because values are nested too deeply; it has no other sign of that.
fn is_too_deep(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit exceeded")
}

/// How many bytes of `text` had been read when `error` was found; at least 1.
fn bytes_read(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    lines.saturating_add(error.column()).max(1)
}

/// Where the next document may begin: exactly at `from`, or at the first character of a line.
fn next_start(text: &str, from: usize) -> Option<usize> {
    let is_start = |place: usize| text[place..].starts_with(['{', '[']);
    if is_start(from) {
        return Some(from);
    }
    let line = text[..from].rfind('\n').map_or(0, |end| end + 1);
    let mut place = if text[line..from].trim().is_empty() { line } else { next_line(text, from)? };
    loop {
        let rest = &text[place..];
        let letter = place + rest.len() - rest.trim_start().len();
        if is_start(letter) {
            return Some(letter);
        }
        place = next_line(text, letter)?;
    }
}

fn next_line(text: &str, from: usize) -> Option<usize> {
    Some(from + text.get(from..)?.find('\n')? + 1)
}

fn is_report(value: &Value) -> bool {
    ["jobs", "client_stats"].iter().any(|key| value.get(key).is_some_and(Value::is_array))
}

/// Keeps the last status report of each run. Status reports of one run have the same jobs,
/// operation counts that do not decrease, and a common start; repeated runs start from zero.
fn last_of_each_run(documents: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for document in documents {
        match kept.last_mut() {
            Some(before) if continues(before, &document) => *before = document,
            _ => kept.push(document),
        }
    }
    kept
}

/// Seconds are rounded up, so that starts computed from them may differ by one.
const ROUNDING_MS: u64 = 1000;

fn continues(before: &Value, after: &Value) -> bool {
    let progress = |document: &Value| -> Vec<(String, u64)> {
        let name = |job: &Value| job["jobname"].as_str().unwrap_or_default().to_owned();
        let operations = |job: &Value| {
            ["read", "write", "trim", "mixed"]
                .iter()
                .filter_map(|key| job[*key]["total_ios"].as_u64())
                .fold(0, u64::saturating_add)
        };
        job::jobs(document).iter().map(|job| (name(job), operations(job))).collect()
    };
    let (first, second) = (progress(before), progress(after));
    let goes_on = first.len() == second.len()
        && first.iter().zip(&second).all(|(one, other)| one.0 == other.0 && one.1 <= other.1);
    let starts = job::start_ms(before).zip(job::start_ms(after));
    goes_on && starts.is_some_and(|(one, other)| one.abs_diff(other) <= ROUNDING_MS)
}
