//! Totals of the operations of a trace, by call, by file, by thread.

use std::collections::BTreeMap;
use std::io::{self, Read};

use iolab_histogram::Histogram;
use iolab_trace::{Call, Effect, Flags, NO_FILE, Operation, Reader};

use crate::Pattern;

/// The operations of one call.
#[derive(Debug, Default)]
pub struct CallFigures {
    /// Number of operations.
    pub count: u64,
    /// Number of failed operations.
    pub failed: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Durations of those whose end was seen, ns.
    pub durations: Box<Histogram>,
    /// Requested lengths, bytes.
    pub lengths: Box<Histogram>,
}

/// The operations on one file.
#[derive(Debug, Default, Clone, Copy)]
pub struct FileFigures {
    /// How often it was opened.
    pub opens: u64,
    /// Reads, and the bytes they transferred.
    pub reads: (u64, u64),
    /// Writes, and the bytes they transferred.
    pub writes: (u64, u64),
    /// Calls that make data durable.
    pub syncs: u64,
    /// Writes that are durable when they return.
    pub durable_writes: u64,
    /// Transfers that bypass the page cache.
    pub direct: u64,
    /// Access pattern of reads.
    pub read_pattern: Pattern,
    /// Access pattern of writes.
    pub write_pattern: Pattern,
}

/// The operations of one thread.
#[derive(Debug, Default, Clone, Copy)]
pub struct ThreadFigures {
    /// Number of operations.
    pub count: u64,
    /// Bytes read and written in files.
    pub bytes: u64,
    /// Calls that make data durable.
    pub syncs: u64,
    /// Time in calls, ns.
    pub busy_ns: u64,
}

/// The totals of a trace.
#[derive(Debug, Default)]
pub struct Summary {
    pub(crate) calls: BTreeMap<Call, CallFigures>,
    pub(crate) files: Vec<FileFigures>,
    pub(crate) threads: Vec<ThreadFigures>,
    pub(crate) count: u64,
    /// From the first beginning to the last end, ns.
    pub(crate) first_ns: Option<u64>,
    pub(crate) last_ns: u64,
}

impl Summary {
    /// Reads a trace to its end, and adds it up.
    ///
    /// # Errors
    /// The errors of the input.
    pub fn of<R: Read>(reader: &mut Reader<R>) -> io::Result<Summary> {
        let mut summary = Summary::default();
        while let Some(operation) = reader.next_operation()? {
            summary.add(&operation, reader);
        }
        Ok(summary)
    }

    /// Adds an operation of a trace.
    pub fn add<R: Read>(&mut self, operation: &Operation, reader: &Reader<R>) {
        self.count += 1;
        self.first_ns = Some(self.first_ns.map_or(operation.time_ns, |first| first.min(operation.time_ns)));
        self.last_ns = self.last_ns.max(operation.end_ns());
        let call = self.calls.entry(operation.call).or_default();
        call.count += 1;
        call.failed += u64::from(operation.has_failed());
        call.bytes = call.bytes.saturating_add(operation.bytes());
        if !operation.flags.has(Flags::END_UNSEEN) {
            call.durations.add(operation.duration_ns);
        }
        // What was moved, where something was to be: more may have been asked for than there is.
        if !operation.moved_nothing() {
            let moves = operation.call.moves_data();
            call.lengths.add(if moves { operation.bytes() } else { operation.length });
        }
        let is_sync = operation.call.effect() == Effect::Sync;
        let of_storage = reader.files().get(operation.file as usize).is_some_and(|file| file.kind.is_storage());
        let thread = entry(&mut self.threads, operation.thread);
        thread.count += 1;
        thread.syncs += u64::from(is_sync);
        if !operation.call.is_second_side() {
            thread.busy_ns = thread.busy_ns.saturating_add(operation.duration_ns);
        }
        if of_storage {
            thread.bytes = thread.bytes.saturating_add(operation.bytes());
        }
        if operation.file != NO_FILE {
            entry(&mut self.files, operation.file).add(operation);
        }
    }

    /// By call.
    pub fn calls(&self) -> &BTreeMap<Call, CallFigures> {
        &self.calls
    }

    /// By file, in the order of the trace's table; shorter if the last files have no operations.
    pub fn files(&self) -> &[FileFigures] {
        &self.files
    }
}

impl FileFigures {
    fn add(&mut self, operation: &Operation) {
        let bytes = operation.bytes();
        let more = |(count, sum): (u64, u64)| (count + 1, sum.saturating_add(bytes));
        match operation.call.effect() {
            Effect::Read => {
                self.reads = more(self.reads);
                self.read_pattern.add(operation);
            }
            Effect::Write | Effect::Discard => {
                self.writes = more(self.writes);
                self.write_pattern.add(operation);
                let durable = operation.flags.has(Flags::DATA_SYNC) || operation.flags.has(Flags::FILE_SYNC);
                self.durable_writes += u64::from(durable);
            }
            Effect::Sync => self.syncs += 1,
            Effect::Other => self.opens += u64::from(operation.call == Call::Open),
        }
        self.direct += u64::from(operation.call.moves_data() && operation.flags.has(Flags::DIRECT));
    }

    /// Number of reads, writes and syncs.
    pub fn operations(&self) -> u64 {
        self.reads.0 + self.writes.0 + self.syncs
    }
}

/// The entry with a number; missing ones up to it are created. Numbers come from a table whose size
/// the reader bounds.
fn entry<T: Default>(entries: &mut Vec<T>, number: u32) -> &mut T {
    let number = number as usize;
    if entries.len() <= number {
        entries.resize_with(number + 1, T::default);
    }
    &mut entries[number]
}
