//! Stores log entries while a worker runs: in a file, block by block.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use iolab_recording::{LogEntry, LoggedOperation, SpoolBlock};

/// Appends blocks of records to a file. A full disk loses blocks, never the run: lost entries are
/// counted. The file always holds whole blocks, unless the worker is killed while it writes one.
#[derive(Debug)]
pub(crate) struct LogSpool {
    file: File,
    written_bytes: u64,
    block: SpoolBlock,
    /// Lines per operation in all logs together.
    lines: u64,
    lost: u64,
    error: Option<io::Error>,
}

impl LogSpool {
    /// A spool that writes to `file` from its beginning, first `block`. Each operation makes this
    /// number of `lines` in the logs.
    pub(crate) fn new(file: File, block: SpoolBlock, lines: usize) -> LogSpool {
        LogSpool { file, written_bytes: 0, block, lines: lines as u64, lost: 0, error: None }
    }

    /// Appends an operation; one in a few thousand costs a write(2).
    #[inline]
    pub(crate) fn operation(&mut self, operation: &LoggedOperation) {
        self.block.operation(operation);
        if self.block.is_full() {
            self.flush();
        }
    }

    /// Appends a window.
    pub(crate) fn window(&mut self, entry: &LogEntry) {
        self.block.window(entry);
        if self.block.is_full() {
            self.flush();
        }
    }

    /// Writes the buffered records.
    #[cold]
    pub(crate) fn flush(&mut self) {
        let (operations, windows) = self.block.records();
        if operations == 0 && windows == 0 {
            return;
        }
        let bytes = self.block.seal();
        match self.file.write_all_at(bytes, self.written_bytes) {
            Ok(()) => self.written_bytes += bytes.len() as u64,
            Err(error) => {
                self.error.get_or_insert(error);
                self.lost += u64::from(operations) * self.lines + u64::from(windows);
                // The file may contain a part of the block, which would be read if no later block
                // overwrote it.
                let _ = self.file.set_len(self.written_bytes);
            }
        }
        self.block.clear();
    }

    /// Discards all records so far.
    #[cold]
    pub(crate) fn restart(&mut self) {
        self.block.clear();
        if self.written_bytes > 0 {
            self.written_bytes = 0;
            if let Err(error) = self.file.set_len(0) {
                self.error.get_or_insert(error);
            }
        }
        self.lost = 0;
    }

    /// A sentence about lost entries, if any were.
    pub(crate) fn trouble(&self) -> Option<String> {
        let error = self.error.as_ref().filter(|_| self.lost > 0)?;
        Some(format!("{} log entries were lost while spooling: {error}", self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_recording::{BlockHeader, SpooledRecord};

    fn spool(file: File) -> LogSpool {
        LogSpool::new(file, SpoolBlock::new(false, true), 3)
    }

    fn at(time_ns: u64) -> LoggedOperation {
        LoggedOperation { time_ns, issue_ns: time_ns, ..LoggedOperation::default() }
    }

    #[test]
    fn a_full_disk_is_counted_not_fatal() {
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let mut spool = spool(full);
        spool.operation(&at(0));
        spool.operation(&at(1));
        spool.flush();
        assert!(spool.trouble().unwrap().starts_with("6 log entries were lost"));
    }

    #[test]
    fn a_new_start_forgets_what_is_in_the_file_and_in_the_buffer() {
        let file = tempfile::tempfile().unwrap();
        let mut spool = spool(file.try_clone().unwrap());
        for time_ns in 0..3 {
            spool.operation(&at(time_ns));
        }
        spool.flush();
        spool.operation(&at(3));
        spool.restart();
        spool.operation(&at(7));
        spool.flush();
        let length = file.metadata().unwrap().len() as usize;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let (header, rest) = bytes.split_first_chunk().unwrap();
        let header = BlockHeader::decode(header).unwrap();
        assert_eq!(header.length(), rest.len());
        assert_eq!(header.records(rest).collect::<Vec<_>>(), [SpooledRecord::Operation(at(7))]);
        assert_eq!(spool.trouble(), None);
    }
}
