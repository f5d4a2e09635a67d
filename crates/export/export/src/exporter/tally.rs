//! Counts what an exporter has served.
//!
//! Plain numbers; those of several exporters of one device add up.

use std::fmt;
use std::ops::AddAssign;

use iolab_text::counted;

use crate::{ExportRequest, RequestKind};

/// Counts of served requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServedCounts {
    /// Reads answered.
    pub reads: u64,
    /// Bytes they returned.
    pub read_bytes: u64,
    /// Writes answered.
    pub writes: u64,
    /// Bytes they stored.
    pub written_bytes: u64,
    /// Reads and writes that were not of whole blocks.
    pub unaligned: u64,
    /// Ranges zeroed or discarded.
    pub trims: u64,
    /// Flushes answered.
    pub flushes: u64,
    /// Requests of any kind that failed.
    pub failures: u64,
}

impl fmt::Display for ServedCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServedCounts { reads, read_bytes, writes, written_bytes, unaligned, trims, flushes, failures } = self;
        write!(
            f,
            "{} of {read_bytes} bytes, {} of {written_bytes} bytes ({unaligned} unaligned), {}, {}, {}",
            counted(*reads, "read"),
            counted(*writes, "write"),
            counted(*trims, "trim"),
            counted(*flushes, "flush"),
            counted(*failures, "failure")
        )
    }
}

impl AddAssign for ServedCounts {
    fn add_assign(&mut self, other: ServedCounts) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
        self.unaligned += other.unaligned;
        self.trims += other.trims;
        self.flushes += other.flushes;
        self.failures += other.failures;
    }
}

impl ServedCounts {
    /// Counts a finished request.
    #[inline]
    pub(super) fn count(&mut self, request: &ExportRequest, result: i32, aligned: bool) {
        if result < 0 {
            self.failures += 1;
            return;
        }
        let moved = u64::from(result.unsigned_abs());
        match request.kind {
            RequestKind::Read => {
                self.reads += 1;
                self.read_bytes += moved;
                self.unaligned += u64::from(!aligned);
            }
            RequestKind::Write => {
                self.writes += 1;
                self.written_bytes += moved;
                self.unaligned += u64::from(!aligned);
            }
            RequestKind::Zero | RequestKind::Discard => self.trims += 1,
            RequestKind::Flush => self.flushes += 1,
        }
    }
}
