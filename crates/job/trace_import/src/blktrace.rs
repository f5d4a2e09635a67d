//! Binary files of blktrace(8), one per CPU: requests from issue to completion.
//!
//! ```text
//!  record:  magic and version: u32 │ sequence: u32 │ time: u64 │ sector: u64 │ bytes: u32 │ action: u32 │
//!           pid: u32 │ device: u32 │ cpu: u32 │ error: u16 │ more bytes: u16 │ more bytes …
//!  action:  what happened: 16 bits │ kinds, as bits: 16 bits
//! ```
//! (include/uapi/linux/blktrace_api.h of Linux.) Only files in this machine's byte order are read.
//! The files are merged by time. Each request is one operation, from its issue to its completion;
//! its thread is the process that issued it. In files that only say what was queued, as fio merges
//! them, each queued request is an operation of unknown duration.

mod merging;

use std::collections::{HashMap, VecDeque};
use std::io::{ErrorKind, Read, Write};

use iolab_trace::{Call, Facts, Flags, Operation};

pub use merging::{TraceToMerge, merge};

use crate::sink::{ImportError, Imported, Sink};

const RECORD_BYTES: usize = 48;
const MAGIC: u32 = 0x6561_7400;
/// The version of the format that Linux has written since 2006.
const VERSION: u32 = 7;

const QUEUE: u16 = 1;
const ISSUE: u16 = 7;
const COMPLETE: u16 = 8;
const IS_WRITE: u16 = 1 << 1;
const IS_FLUSH: u16 = 1 << 2;
const IS_NOTE: u16 = 1 << 10;
const IS_META: u16 = 1 << 12;
const IS_DISCARD: u16 = 1 << 13;
const IS_DURABLE: u16 = 1 << 15;
/// A note with the name of a process.
const NAMES_PROCESS: u16 = 0;
/// Largest number of requests waiting for their completion.
const MOST_WAITING: usize = 1 << 17;
/// So many requests are queued before the first is issued, if any is.
const MOST_QUEUED: usize = 1 << 16;
/// Longest name of a process, bytes.
const LONGEST_NAME: usize = 64;

/// Whether a file begins like a blktrace file.
pub fn is_head(head: &[u8]) -> bool {
    head.get(..4).is_some_and(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]) == MAGIC | VERSION)
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    what: u16,
    kinds: u16,
    pid: u32,
    device: u32,
    error: u16,
    more: Vec<u8>,
}

/// One file, read record by record.
struct Source<R> {
    input: R,
    next: Option<Record>,
    damaged: bool,
}

impl<R: Read> Source<R> {
    fn advance(&mut self) -> Result<(), ImportError> {
        self.next = None;
        let mut bytes = [0; RECORD_BYTES];
        match fill(&mut self.input, &mut bytes)? {
            0 => return Ok(()),
            RECORD_BYTES => {}
            _ => {
                self.damaged = true;
                return Ok(());
            }
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let mut more = vec![0; usize::from(half(46))];
        if !is_head(&bytes) || fill(&mut self.input, &mut more)? < more.len() {
            self.damaged = true;
            return Ok(());
        }
        self.next = Some(Record {
            time_ns: long(8).min(1 << 58),
            sector: long(16),
            bytes: word(24),
            what: half(28),
            kinds: half(30),
            pid: word(32),
            device: word(36),
            error: half(44),
            more,
        });
        Ok(())
    }
}

/// Reads until the buffer is full or the input ends. Returns the number of bytes.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, ImportError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(ImportError::Input(error)),
        }
    }
    Ok(filled)
}

/// Reads the files of all CPUs into a trace.
///
/// # Errors
/// None of them is a blktrace file; input or output fails. Damage is reported in the trace.
pub fn import<R: Read, W: Write>(
    inputs: Vec<R>,
    output: W,
    command: Vec<String>,
    anonymous: bool,
) -> Result<Imported, ImportError> {
    let mut sources = Vec::new();
    for input in inputs {
        let mut source = Source { input, next: None, damaged: false };
        source.advance()?;
        sources.push(source);
    }
    if sources.iter().all(|source| source.next.is_none()) && sources.iter().any(|source| source.damaged) {
        return Err(ImportError::Unknown {
            what: "it does not begin with a blktrace record".to_owned(),
            advice: "use the files that `blktrace -d DEVICE` wrote on a machine with this byte order: \
                DEVICE.blktrace.0 and so on",
        });
    }
    let facts = Facts { source: "blktrace".to_owned(), command, anonymous, has_durations: true, ..Facts::default() };
    let mut requests = Requests::new(Sink::new(output, &facts)?);
    while let Some(index) = earliest(&sources) {
        if let Some(record) = sources[index].next.take() {
            requests.take(&record)?;
        }
        sources[index].advance()?;
    }
    let damaged = sources.iter().filter(|source| source.damaged).count() as u64;
    requests.sink.unseen("files that are cut off or damaged: their rest is missing", damaged);
    requests.finish()
}

/// The source with the earliest record.
fn earliest<R>(sources: &[Source<R>]) -> Option<usize> {
    let times = sources.iter().enumerate().filter_map(|(index, source)| Some((source.next.as_ref()?.time_ns, index)));
    times.min().map(|(_, index)| index)
}

/// Requests that wait for their completion.
struct Requests<W> {
    sink: Sink<W>,
    waiting: HashMap<(u32, u64, bool), Record>,
    names: HashMap<u32, String>,
    first_ns: Option<u64>,
    unended: u64,
    /// Requests that were queued, as long as none was issued.
    queued: Option<VecDeque<Record>>,
}

impl<W: Write> Requests<W> {
    fn new(sink: Sink<W>) -> Requests<W> {
        Requests {
            sink,
            waiting: HashMap::new(),
            names: HashMap::new(),
            first_ns: None,
            unended: 0,
            queued: Some(VecDeque::new()),
        }
    }

    fn take(&mut self, record: &Record) -> Result<(), ImportError> {
        if record.kinds & IS_NOTE != 0 {
            if record.what == NAMES_PROCESS && self.names.len() < MOST_WAITING {
                let name: Vec<u8> =
                    record.more.iter().copied().take_while(|byte| *byte != 0).take(LONGEST_NAME).collect();
                self.names.insert(record.pid, String::from_utf8_lossy(&name).into_owned());
            }
            return Ok(());
        }
        let first_ns = *self.first_ns.get_or_insert(record.time_ns);
        let key = (record.device, record.sector, record.kinds & IS_WRITE != 0);
        match record.what {
            QUEUE => {
                if let Some(queued) = &mut self.queued {
                    queued.push_back(record.clone());
                    if queued.len() > MOST_QUEUED
                        && let Some(oldest) = queued.pop_front()
                    {
                        self.completed(&oldest, &oldest, first_ns)?;
                    }
                }
            }
            ISSUE => {
                self.queued = None;
                if self.waiting.len() >= MOST_WAITING {
                    self.unended += self.waiting.drain().count() as u64;
                }
                self.unended += u64::from(self.waiting.insert(key, record.clone()).is_some());
            }
            COMPLETE => {
                if let Some(issued) = self.waiting.remove(&key) {
                    self.completed(&issued, record, first_ns)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn completed(&mut self, issued: &Record, completed: &Record, first_ns: u64) -> Result<(), ImportError> {
        let has = |kind: u16| issued.kinds & kind != 0;
        let call = match () {
            () if has(IS_DISCARD) => Call::BlockDiscard,
            () if has(IS_FLUSH) && issued.bytes == 0 => Call::BlockFlush,
            () if has(IS_WRITE) => Call::BlockWrite,
            () => Call::BlockRead,
        };
        let flags = Flags::default().and_if(has(IS_META), Flags::META).and_if(has(IS_DURABLE), Flags::DATA_SYNC);
        let (major, minor) = (issued.device >> 20, issued.device & 0xf_ffff);
        let file = self.sink.file(&format!("/dev/block/{major}:{minor}"))?;
        let name = self.names.get(&issued.pid).cloned().unwrap_or_default();
        let thread = self.sink.thread(issued.pid, issued.pid, &name)?;
        let length = u64::from(issued.bytes);
        let failed = -i64::from(completed.error);
        let result = if completed.error == 0 && call != Call::BlockFlush { length as i64 } else { failed };
        self.sink.operation(&Operation {
            time_ns: issued.time_ns.saturating_sub(first_ns),
            duration_ns: completed.time_ns.saturating_sub(issued.time_ns),
            thread,
            call,
            file,
            offset: Some(issued.sector.saturating_mul(512)),
            length,
            result,
            flags,
        })
    }

    fn finish(mut self) -> Result<Imported, ImportError> {
        let first_ns = self.first_ns.unwrap_or(0);
        for request in self.queued.take().unwrap_or_default() {
            self.completed(&request, &request, first_ns)?;
        }
        let unended = self.unended + self.waiting.len() as u64;
        self.sink.unseen("requests without a completion record", unended);
        self.sink.finish("records")
    }
}
