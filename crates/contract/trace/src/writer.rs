//! Writes a trace: facts, then files, threads and operations as they come, then the end.
//!
//! Operations are gathered into blocks. A block is written when it is full, when it spans a second,
//! and by [`Writer::flush`], so that a killed program loses little.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::reader::{MOST_ENTRIES, MOST_NAME_BYTES as READERS_MOST};
use crate::{End, Facts, File, NO_FILE, Operation, Thread, Unseen, block, frame};

/// Most bytes of names: far within what a reader takes.
const MOST_NAME_BYTES: usize = READERS_MOST / 2;
/// A block spans no longer than this, ns, by the times of its operations.
const BLOCK_NS: u64 = 1_000_000_000;

/// A trace that is being written.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    block: Vec<Operation>,
    files: u32,
    threads: u32,
    operations: u64,
    bytes: u64,
    anonymous: Option<Anonymous>,
    name_bytes: usize,
    /// Whether the table of files takes no more.
    is_full: bool,
    /// Files and threads for which the tables had no room.
    left_out: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(output: W, facts: &Facts) -> io::Result<Writer<W>> {
        Writer::begin(output, facts.clone(), None)
    }

    /// Begins a trace that hides paths, names and the command: every part of a path becomes a
    /// number.
    ///
    /// # Errors
    /// Those of the output.
    pub fn anonymous(output: W, facts: &Facts) -> io::Result<Writer<W>> {
        let facts = Facts { anonymous: true, command: Vec::new(), ..facts.clone() };
        Writer::begin(output, facts, Some(Anonymous::default()))
    }

    fn begin(mut output: W, facts: Facts, anonymous: Option<Anonymous>) -> io::Result<Writer<W>> {
        output.write_all(frame::MARK)?;
        let block = Vec::with_capacity(block::MOST);
        let bytes = frame::MARK.len() as u64;
        let (files, threads, operations, name_bytes, left_out) = (0, 0, 0, 0, 0);
        let mut writer = Writer {
            output,
            block,
            files,
            threads,
            operations,
            bytes,
            anonymous,
            name_bytes,
            is_full: false,
            left_out,
        };
        writer.json(frame::FACTS, &facts)?;
        Ok(writer)
    }

    /// Adds a file to the table. Returns its number, or [`NO_FILE`] if the table is full, which the
    /// end of the trace reports.
    ///
    /// # Errors
    /// Those of the output.
    pub fn file(&mut self, mut file: File) -> io::Result<u32> {
        if self.is_full {
            self.left_out += 1;
            return Ok(NO_FILE);
        }
        if let Some(anonymous) = &mut self.anonymous {
            file.path = anonymous.path(&file.path);
        }
        if !self.has_room(self.files, file.path.len()) {
            self.is_full = true;
            return Ok(NO_FILE);
        }
        self.json(frame::FILE, &file)?;
        self.files += 1;
        Ok(self.files - 1)
    }

    /// Adds a thread to the table. Returns its number, or that of the last if the table is full,
    /// which the end of the trace reports.
    ///
    /// # Errors
    /// Those of the output.
    pub fn thread(&mut self, mut thread: Thread) -> io::Result<u32> {
        if self.anonymous.is_some() {
            thread.name.clear();
        }
        if self.threads > 0 && !self.has_room(self.threads, thread.name.len()) {
            return Ok(self.threads - 1);
        }
        self.json(frame::THREAD, &thread)?;
        self.threads += 1;
        Ok(self.threads - 1)
    }

    /// Whether a table of so many entries may have another; if not, it is counted.
    fn has_room(&mut self, entries: u32, name_bytes: usize) -> bool {
        let has_room = (entries as usize) < MOST_ENTRIES && self.name_bytes + name_bytes <= MOST_NAME_BYTES;
        match has_room {
            true => self.name_bytes += name_bytes,
            false => self.left_out += 1,
        }
        has_room
    }

    /// Adds an operation. Its thread and its file must be in the tables. Numbers beyond what a
    /// trace holds are clamped.
    ///
    /// # Errors
    /// Those of the output.
    pub fn operation(&mut self, operation: &Operation) -> io::Result<()> {
        let operation = operation.within_bounds();
        let is_known = operation.file < self.files || operation.file == NO_FILE;
        assert!(
            is_known && operation.thread < self.threads,
            "a file or thread of a trace was used before it was added"
        );
        let spans = self.block.first().map_or(0, |first| operation.time_ns.saturating_sub(first.time_ns));
        if self.block.len() == block::MOST || spans > BLOCK_NS {
            self.flush()?;
        }
        self.block.push(operation);
        self.operations += 1;
        Ok(())
    }

    /// Writes the operations gathered so far.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            let payload = block::encode(&self.block);
            self.block.clear();
            self.bytes += frame::write(&mut self.output, frame::OPERATIONS_2, &payload)?;
        }
        self.output.flush()
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the end frame, the last one; the writer fills in the count of operations.
    ///
    /// # Errors
    /// Those of the output.
    pub fn end(&mut self, mut end: End) -> io::Result<()> {
        self.flush()?;
        if self.left_out > 0 {
            let what = "files and threads beyond the table limits: their operations have no file, or another thread";
            end.unseen.push(Unseen { what: what.to_owned(), count: Some(self.left_out), bytes: None });
        }
        let operations = self.operations;
        self.json(frame::END, &End { operations, ..end })?;
        self.output.flush()
    }

    /// Writes the end frame and returns the output.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self, end: End) -> io::Result<W> {
        self.end(end)?;
        Ok(self.output)
    }

    fn json(&mut self, kind: u8, value: &impl serde::Serialize) -> io::Result<()> {
        let payload = serde_json::to_vec(value)?;
        self.bytes += frame::write(&mut self.output, kind, &payload)?;
        Ok(())
    }
}

/// Anonymous paths: each part of a path becomes a number, equal parts the same number.
/// `/var/lib/a/x.db` becomes `/1/2/3/4`. Which files share a folder remains visible, nothing else.
#[derive(Debug, Default)]
pub(crate) struct Anonymous {
    numbers: HashMap<String, usize>,
}

impl Anonymous {
    /// The replacement of a path.
    pub(crate) fn path(&mut self, path: &str) -> String {
        let parts: Vec<String> = path.split('/').map(|part| self.part(part)).collect();
        parts.join("/")
    }

    fn part(&mut self, part: &str) -> String {
        if part.is_empty() {
            return String::new();
        }
        let next = self.numbers.len() + 1;
        self.numbers.entry(part.to_owned()).or_insert(next).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Flags, Reader};

    #[test]
    fn what_the_tables_have_no_room_for_is_counted() {
        let mut writer = Writer::new(Vec::new(), &Facts::default()).unwrap();
        writer.name_bytes = MOST_NAME_BYTES - 15;
        let file = |writer: &mut Writer<Vec<u8>>, path: &str| {
            writer.file(File { path: path.to_owned(), ..File::default() }).unwrap()
        };
        assert_eq!(file(&mut writer, "/ten/bytes"), 0);
        assert_eq!(file(&mut writer, "/ten/bytes"), NO_FILE);
        assert_eq!(file(&mut writer, "/"), NO_FILE, "from the first on, none is taken");
        assert_eq!(writer.thread(Thread { name: "five.".to_owned(), ..Thread::default() }).unwrap(), 0);
        assert_eq!(writer.thread(Thread { name: "six...".to_owned(), ..Thread::default() }).unwrap(), 0);
        let (call, flags) = (Call::Write, Flags::default());
        let (time_ns, duration_ns, thread, offset, length, result) = (1, 1, 0, None, 5, 5);
        let operation = Operation { time_ns, duration_ns, thread, call, file: NO_FILE, offset, length, result, flags };
        writer.operation(&operation).unwrap();
        let bytes = writer.finish(End::default()).unwrap();
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        assert_eq!(reader.next_operation().unwrap(), Some(operation));
        assert_eq!(reader.next_operation().unwrap(), None);
        assert_eq!(reader.end().map(|end| end.unseen[0].count), Some(Some(3)));
    }
}
