//! Where log entries go while a worker runs: a file, through one buffer of fixed size.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use iolab_recording::LogEntry;

const BUFFER_BYTES: usize = LogEntry::ENCODED_BYTES * 16 * 1024;

/// Appends encoded entries to a file. A full disk loses entries, never the run: they are counted, and what is in
/// the file is always a whole number of entries.
#[derive(Debug)]
pub struct LogSpool {
    file: File,
    written_bytes: u64,
    buffer: Vec<u8>,
    lost: u64,
    error: Option<io::Error>,
}

impl LogSpool {
    /// A spool into `file`, from its beginning.
    pub fn new(file: File) -> LogSpool {
        LogSpool { file, written_bytes: 0, buffer: Vec::with_capacity(BUFFER_BYTES), lost: 0, error: None }
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
        let mut done = 0;
        while done < self.buffer.len() {
            match self.file.write_at(&self.buffer[done..], self.written_bytes + done as u64) {
                Ok(0) => {
                    self.error.get_or_insert(io::ErrorKind::WriteZero.into());
                    break;
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.error.get_or_insert(error);
                    break;
                }
            }
        }
        // Half an entry that still fitted is written over by the next.
        let whole = done - done % LogEntry::ENCODED_BYTES;
        self.written_bytes += whole as u64;
        self.lost += ((self.buffer.len() - whole) / LogEntry::ENCODED_BYTES) as u64;
        self.buffer.clear();
    }

    /// Forgets everything pushed so far.
    #[cold]
    pub fn restart(&mut self) {
        self.buffer.clear();
        if self.written_bytes > 0 {
            self.written_bytes = 0;
            if let Err(error) = self.file.set_len(0) {
                self.error.get_or_insert(error);
            }
        }
        self.lost = 0;
    }

    /// A sentence about lost entries, if any were.
    pub fn trouble(&self) -> Option<String> {
        let error = self.error.as_ref().filter(|_| self.lost > 0)?;
        Some(format!("{} log entries were lost while spooling: {error}", self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_plan::{Direction, LogKind};

    fn entry(time_ns: u64) -> LogEntry {
        LogEntry {
            time_ns,
            value: 0,
            maximum: 0,
            offset: 0,
            issue_ns: 0,
            bytes: 0,
            priority: 0,
            kind: LogKind::Lat,
            direction: Direction::Read,
        }
    }

    #[test]
    fn a_full_disk_is_counted_not_fatal() {
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let mut spool = LogSpool::new(full);
        spool.push(&entry(0));
        spool.flush();
        assert!(spool.trouble().unwrap().starts_with("1 log entries were lost"));
    }

    #[test]
    fn a_new_start_forgets_what_is_in_the_file_and_in_the_buffer() {
        let file = tempfile::tempfile().unwrap();
        let mut spool = LogSpool::new(file.try_clone().unwrap());
        for time_ns in 0..3 {
            spool.push(&entry(time_ns));
        }
        spool.flush();
        spool.push(&entry(3));
        spool.restart();
        spool.push(&entry(7));
        spool.flush();
        let mut bytes = [0; LogEntry::ENCODED_BYTES];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(LogEntry::decode(&bytes), Some(entry(7)));
        assert_eq!(file.metadata().unwrap().len(), LogEntry::ENCODED_BYTES as u64);
        assert_eq!(spool.trouble(), None);
    }
}
