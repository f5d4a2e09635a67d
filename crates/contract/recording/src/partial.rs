//! The partial recording: a file that grows during a run, so that a killed run keeps its
//! measurements.
//!
//! It is a mark and then entries, appended by the main thread and by every worker, each with one
//! write:
//!
//! ```text
//!  file:   "iolab partial 1\n" │ entry │ entry │ …
//!  entry:   length: u32 │ checksum: u32 │ kind: u8 │ payload: length bytes      (little-endian)
//!
//!  kind 1  Start     a recording (JSON) with plan and host and without results; always the first entry
//!  kind 2  Begun     varint: when the first operations could begin, ns since the Unix epoch
//!  kind 3  Interval  one interval of one worker, see `entry.rs`
//!  kind 4  Worker    the recording (JSON) of a worker that has ended, without its intervals
//!  kind 5  Observed  observations (JSON) made since the last entry of this kind; the first names devices and settings
//! ```
//!
//! The checksum is the CRC-32 of IEEE 802.3 over length, kind and payload. Reading stops at the
//! first entry that is cut off or damaged: everything before it is good, and the position of
//! anything after it cannot be trusted.

mod entry;
mod growing;
mod rebuild;

pub use entry::{EntryBuffer, LoggedLatency};
pub use growing::GrowingRecording;
pub use rebuild::{Partial, PartialError, RecordingDamage, worker_from};

use entry::take_interval;

use crate::recording::Recording;
use crate::{IntervalLatencies, Observations, WorkerRecording};

/// The first bytes of a partial recording; the digit is the number of the format.
pub const MARK: &[u8; 16] = b"iolab partial 1\n";

const HEADER_BYTES: usize = 9;
/// No entry is longer, bytes: a longer one is damaged.
const LONGEST: usize = 1 << 30;

const START: u8 = 1;
const BEGUN: u8 = 2;
const INTERVAL: u8 = 3;
const WORKER: u8 = 4;
const OBSERVED: u8 = 5;

/// One entry, read.
#[derive(Debug, Clone, PartialEq)]
enum Entry {
    Start(Box<Recording>),
    Begun { unix_ns: u64 },
    Interval(u32, IntervalLatencies),
    Worker(Box<WorkerRecording>),
    Observed(Box<Observations>),
}

/// The beginning of the file: the mark, and the recording before anything is measured.
pub fn start(recording: &Recording) -> Vec<u8> {
    let mut bytes = MARK.to_vec();
    put(&mut bytes, START, recording.to_json().as_bytes());
    bytes
}

/// The entry with the time when the first operations could begin, ns since the Unix epoch.
pub fn begun(unix_ns: u64) -> Vec<u8> {
    let (mut bytes, mut payload) = (Vec::new(), Vec::new());
    iolab_histogram::put_varint(&mut payload, unix_ns);
    put(&mut bytes, BEGUN, &payload);
    bytes
}

/// The entry of a worker that has ended; its interval latencies are entries of their own.
pub fn worker(recording: &WorkerRecording) -> Vec<u8> {
    let recording = WorkerRecording { interval_latencies: Vec::new(), ..recording.clone() };
    let mut bytes = Vec::new();
    // Plain data with string keys: serialisation has no way to fail.
    put(&mut bytes, WORKER, &serde_json::to_vec(&recording).unwrap_or_default());
    bytes
}

/// The entry of the samples since the last one (see [`Observations::append`]).
pub fn observed(news: &Observations) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Plain data with string keys: serialisation has no way to fail.
    put(&mut bytes, OBSERVED, &serde_json::to_vec(news).unwrap_or_default());
    bytes
}

/// An entry of any kind with any content, for tests and fuzzers: its checksum is always right.
#[doc(hidden)]
pub fn forged(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, kind, payload);
    bytes
}

/// Whether these bytes begin like a partial recording.
pub fn is_partial(bytes: &[u8]) -> bool {
    // The mark up to its number, to distinguish another format from another kind of file.
    bytes.starts_with(&MARK[..14])
}

fn put(bytes: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    let at = bytes.len();
    bytes.extend_from_slice(&[0; HEADER_BYTES - 1]);
    bytes.push(kind);
    bytes.extend_from_slice(payload);
    seal(&mut bytes[at..]);
}

/// The intervals among the whole entries at the front of `bytes`, with the numbers of their
/// workers, and the length of those entries in bytes. For readers that follow a growing file; to
/// read all of it, use a [`Partial`].
pub fn intervals_of(bytes: &[u8]) -> (Vec<(u32, IntervalLatencies)>, usize) {
    let (mut intervals, mut at) = (Vec::new(), 0);
    while let Some(header) = bytes.get(at..at + HEADER_BYTES) {
        let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let Some(entry) = bytes.get(at..at + HEADER_BYTES + length) else { break };
        if header[8] == INTERVAL {
            intervals.extend(take_interval(&entry[HEADER_BYTES..]));
        }
        at += entry.len();
    }
    (intervals, at)
}

/// Fills in length and checksum of the entry that `bytes` is.
fn seal(bytes: &mut [u8]) {
    let length = (bytes.len() - HEADER_BYTES) as u32;
    bytes[0..4].copy_from_slice(&length.to_le_bytes());
    let sum = checksum_of(bytes);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
}

fn checksum_of(entry: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&entry[0..4]);
    sum.update(&entry[8..]);
    sum.finalize()
}

/// Whether a whole entry, or a damaged one, is at the front of `bytes`: more bytes change nothing.
fn is_decided(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..HEADER_BYTES) else { return false };
    let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
    length > LONGEST || bytes.len() >= HEADER_BYTES + length
}

/// Takes the next entry from the front of `bytes`, or returns why there is none.
fn take(bytes: &mut &[u8]) -> Result<Entry, &'static str> {
    let header = bytes.get(..HEADER_BYTES).ok_or("it ends in the middle of an entry")?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
    let found = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    if length > LONGEST {
        return Err("an entry has an impossible length");
    }
    let entry = bytes.get(..HEADER_BYTES + length).ok_or("it ends in the middle of an entry")?;
    if checksum_of(entry) != found {
        return Err("the checksum of an entry is wrong");
    }
    let (kind, payload) = (header[8], &entry[HEADER_BYTES..]);
    let read = match kind {
        START => std::str::from_utf8(payload)
            .ok()
            .and_then(|text| Recording::from_json(text).ok())
            .map(|recording| Entry::Start(Box::new(recording))),
        BEGUN => iolab_histogram::take_varint(&mut &*payload).map(|unix_ns| Entry::Begun { unix_ns }),
        INTERVAL => take_interval(payload).map(|(worker, interval)| Entry::Interval(worker, interval)),
        WORKER => iolab_deserialize::json(payload)
            .ok()
            .filter(|worker: &WorkerRecording| worker.check("").is_ok())
            .map(|worker| Entry::Worker(Box::new(worker))),
        OBSERVED => iolab_deserialize::json(payload)
            .ok()
            .filter(|news: &Observations| news.check().is_ok())
            .map(|news| Entry::Observed(Box::new(news))),
        _ => return Err("an entry has a type that this version does not know"),
    };
    let read = read.ok_or("the content of an entry is invalid")?;
    *bytes = &bytes[HEADER_BYTES + length..];
    Ok(read)
}
