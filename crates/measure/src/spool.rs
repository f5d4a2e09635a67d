//! Where log entries go while a worker runs: a file, through one buffer of fixed size.

use std::fs::File;
use std::io::{self, Write};

use iolab_recording::LogEntry;

const BUFFER_BYTES: usize = LogEntry::ENCODED_BYTES * 16 * 1024;

/// Appends encoded entries to a file. A full disk loses entries, never the run: they are counted.
#[derive(Debug)]
pub struct LogSpool {
    file: File,
    buffer: Vec<u8>,
    lost: u64,
    error: Option<io::Error>,
}

impl LogSpool {
    /// A spool into `file`, which is appended to.
    pub fn new(file: File) -> LogSpool {
        LogSpool { file, buffer: Vec::with_capacity(BUFFER_BYTES), lost: 0, error: None }
    }

    /// Appends one entry; every few thousandth costs a write(2).
    #[inline]
    pub fn push(&mut self, entry: &LogEntry) {
        self.buffer.extend_from_slice(&entry.encode());
        if self.buffer.len() == BUFFER_BYTES {
            self.flush();
        }
    }

    /// Writes what is buffered.
    #[cold]
    pub fn flush(&mut self) {
        if let Err(error) = self.file.write_all(&self.buffer) {
            self.lost += (self.buffer.len() / LogEntry::ENCODED_BYTES) as u64;
            self.error.get_or_insert(error);
        }
        self.buffer.clear();
    }

    /// A sentence about lost entries, if any were.
    pub fn trouble(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        Some(format!("{} log entries were lost while spooling: {error}", self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_plan::{Direction, LogKind};

    #[test]
    fn a_full_disk_is_counted_not_fatal() {
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let mut spool = LogSpool::new(full);
        let entry = LogEntry {
            time_ns: 0,
            value: 0,
            maximum: 0,
            offset: 0,
            issue_ns: 0,
            bytes: 0,
            priority: 0,
            kind: LogKind::Lat,
            direction: Direction::Read,
        };
        spool.push(&entry);
        spool.flush();
        assert!(spool.trouble().unwrap().starts_with("1 log entries were lost"));
    }
}
