//! Writes a trace: facts, then files, threads and operations as they come, then the end.
//!
//! Operations are gathered into blocks. A block is written when it is full, when it spans a second,
//! or when [`Writer::flush`] says so: whoever is killed loses little.

use std::io::{self, Write};

use crate::anonymous::Anonymous;
use crate::{End, Facts, File, Operation, Thread, block, frame};

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
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(output: W, facts: &Facts) -> io::Result<Writer<W>> {
        Writer::begin(output, facts.clone(), None)
    }

    /// Begins a trace that hides paths, names and the command: every part of a path becomes a number.
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
        let mut writer = Writer { output, block, files: 0, threads: 0, operations: 0, bytes, anonymous };
        writer.json(frame::FACTS, &facts)?;
        Ok(writer)
    }

    /// Adds a file to the table; returns its number.
    ///
    /// # Errors
    /// Those of the output.
    pub fn file(&mut self, mut file: File) -> io::Result<u32> {
        if let Some(anonymous) = &mut self.anonymous {
            file.path = anonymous.path(&file.path);
        }
        self.json(frame::FILE, &file)?;
        self.files += 1;
        Ok(self.files - 1)
    }

    /// Adds a thread to the table; returns its number.
    ///
    /// # Errors
    /// Those of the output.
    pub fn thread(&mut self, mut thread: Thread) -> io::Result<u32> {
        if self.anonymous.is_some() {
            thread.name.clear();
        }
        self.json(frame::THREAD, &thread)?;
        self.threads += 1;
        Ok(self.threads - 1)
    }

    /// Adds an operation. Its thread and its file must be in the tables. Numbers beyond what a trace
    /// holds are brought within.
    ///
    /// # Errors
    /// Those of the output.
    pub fn operation(&mut self, operation: &Operation) -> io::Result<()> {
        let operation = operation.within_bounds();
        let is_known = operation.file < self.files || operation.file == crate::NO_FILE;
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

    /// Writes what there is.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            let payload = block::encode(&self.block);
            self.block.clear();
            self.bytes += frame::write(&mut self.output, frame::OPERATIONS, &payload)?;
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

    /// Writes the end, behind which nothing may come; the count of operations is the writer's own.
    ///
    /// # Errors
    /// Those of the output.
    pub fn end(&mut self, end: End) -> io::Result<()> {
        self.flush()?;
        let operations = self.operations;
        self.json(frame::END, &End { operations, ..end })?;
        self.output.flush()
    }

    /// Writes the end, and gives the output back.
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
