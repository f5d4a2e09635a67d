//! Entries of the per-operation and per-interval logs.

use iolab_plan::{Direction, LogKind};
use serde::{Deserialize, Serialize};

/// One line of a latency, bandwidth or IOPS log, before formatting.
///
/// Logs can be longer than memory, so they are not part of the [`crate::Recording`]:
/// workers spool them to a file, windows as entries, operations in a shorter form
/// ([`crate::SpoolBlock`]), and the log writer reads them from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEntry {
    /// When, ns since the worker's log began (or since the Unix epoch when the plan says so).
    pub time_ns: u64,
    /// Latency in ns, bandwidth in KiB/s, or IOPS.
    pub value: u64,
    /// Largest value of the window; equal to `value` for single operations.
    pub maximum: u64,
    /// Offset of the operation, bytes; 0 for windows.
    pub offset: u64,
    /// When it was issued, ns since the log began; 0 for windows.
    pub issue_ns: u64,
    /// Bytes of the operation; 0 for windows.
    pub bytes: u32,
    /// Priority class and level, packed as `ioprio_set(2)` does.
    pub priority: u16,
    /// Which log.
    pub kind: LogKind,
    /// Which direction.
    pub direction: Direction,
}

impl LogEntry {
    /// Length of the encoded form, bytes.
    pub const ENCODED_BYTES: usize = 48;

    /// Little-endian, fields in declaration order.
    #[inline]
    pub fn encode(&self) -> [u8; LogEntry::ENCODED_BYTES] {
        let mut bytes = [0; LogEntry::ENCODED_BYTES];
        bytes[0..8].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.value.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.maximum.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.offset.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.issue_ns.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[44..46].copy_from_slice(&self.priority.to_le_bytes());
        bytes[46] = self.kind as u8;
        bytes[47] = self.direction as u8;
        bytes
    }

    /// The inverse of [`LogEntry::encode`]; `None` if a kind or direction is out of range.
    pub fn decode(bytes: &[u8; LogEntry::ENCODED_BYTES]) -> Option<LogEntry> {
        let u64_at = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let kinds = [LogKind::Lat, LogKind::Clat, LogKind::Slat, LogKind::Bw, LogKind::Iops];
        Some(LogEntry {
            time_ns: u64_at(0),
            value: u64_at(8),
            maximum: u64_at(16),
            offset: u64_at(24),
            issue_ns: u64_at(32),
            bytes: u32::from_le_bytes([bytes[40], bytes[41], bytes[42], bytes[43]]),
            priority: u16::from_le_bytes([bytes[44], bytes[45]]),
            kind: *kinds.get(usize::from(bytes[46]))?,
            direction: *Direction::ALL.get(usize::from(bytes[47]))?,
        })
    }
}

/// One line of a histogram log: the completion latencies of one direction within one interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistogramLogEntry {
    /// End of the interval, ns since the worker's log began.
    pub time_ns: u64,
    /// Direction.
    pub direction: Direction,
    /// Block size, bytes (the job's smallest).
    pub bytes: u64,
    /// `(bucket index, count)` of [`iolab_histogram`], ascending.
    pub buckets: Vec<(u32, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_survives_its_encoding() {
        let entry = LogEntry {
            time_ns: 1,
            value: u64::MAX,
            maximum: 3,
            offset: 4,
            issue_ns: 5,
            bytes: 6,
            priority: 0x4007,
            kind: LogKind::Iops,
            direction: Direction::Trim,
        };
        assert_eq!(LogEntry::decode(&entry.encode()), Some(entry));
        let mut broken = entry.encode();
        broken[46] = 9;
        assert_eq!(LogEntry::decode(&broken), None);
    }
}
