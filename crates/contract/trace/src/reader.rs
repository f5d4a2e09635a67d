//! Reads a trace in a stream.
//!
//! The input is not trusted. Memory is bounded: one block, and tables whose sizes have limits.
//! Every thread and file number of an operation is in the tables, and every time, offset and length
//! is small enough that sums of two do not overflow. Reading stops at the first frame that is cut
//! off or damaged; everything before it is valid.

use std::io::{self, Read};

use crate::block::Layout;
use crate::frame::{self, Found};
use crate::{End, Facts, File, NO_FILE, Operation, Thread, block};

/// Most files and most threads of a trace, and most bytes of their names.
pub(crate) const MOST_ENTRIES: usize = 1 << 20;
pub(crate) const MOST_NAME_BYTES: usize = 256 << 20;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is something else.
    #[error("not a trace: it does not begin with \"iolab trace 1\"")]
    NoTrace,
    /// It begins as a trace, and has no facts.
    #[error("the start of the trace cannot be read: {0}")]
    NoFacts(&'static str),
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Where a trace ends that is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The first byte that is not good.
    pub at_byte: u64,
    /// What is wrong there.
    pub what: &'static str,
}

/// A trace that is being read.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    at: u64,
    facts: Facts,
    files: Vec<File>,
    threads: Vec<Thread>,
    name_bytes: usize,
    payload: Vec<u8>,
    block: Vec<Operation>,
    next: usize,
    end: Option<End>,
    damage: Option<Damage>,
}

impl<R: Read> Reader<R> {
    /// Begins to read.
    ///
    /// # Errors
    /// It is no trace, or cannot be read.
    pub fn new(mut input: R) -> Result<Reader<R>, ReadError> {
        let mut mark = Vec::new();
        input.by_ref().take(frame::MARK.len() as u64).read_to_end(&mut mark)?;
        if mark != frame::MARK {
            return Err(ReadError::NoTrace);
        }
        let (mut at, mut payload) = (mark.len() as u64, Vec::new());
        let facts = match frame::read(&mut input, &mut payload, &mut at)? {
            Found::Frame(frame::FACTS) => {
                iolab_deserialize::json(&payload).map_err(|_| ReadError::NoFacts("its facts cannot be read"))?
            }
            Found::Frame(_) => return Err(ReadError::NoFacts("it does not start with a facts frame")),
            Found::Nothing => return Err(ReadError::NoFacts("the file is cut off")),
            Found::Damaged(what) => return Err(ReadError::NoFacts(what)),
        };
        let (files, threads, block) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Reader { input, at, facts, files, threads, name_bytes: 0, payload, block, next: 0, end: None, damage: None })
    }

    /// The next operation, in the order in which they ended; `None` at the end.
    ///
    /// # Errors
    /// Those of the input. What is damaged is no error: see [`Reader::damage`].
    pub fn next_operation(&mut self) -> io::Result<Option<Operation>> {
        loop {
            if let Some(operation) = self.block.get(self.next) {
                self.next += 1;
                return Ok(Some(*operation));
            }
            if self.end.is_some() || self.damage.is_some() {
                return Ok(None);
            }
            let at_byte = self.at;
            let taken = match frame::read(&mut self.input, &mut self.payload, &mut self.at)? {
                Found::Frame(kind) => self.take(kind),
                Found::Nothing => Err("the end of the trace is missing"),
                Found::Damaged(what) => Err(what),
            };
            if let Err(what) = taken {
                self.block.clear();
                self.damage = Some(Damage { at_byte, what });
            }
        }
    }

    /// Where it comes from.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The files so far.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The threads so far.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The end, once it was read.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Why there is no end, once that was found.
    pub fn damage(&self) -> Option<Damage> {
        self.damage
    }

    /// Takes a frame.
    fn take(&mut self, kind: u8) -> Result<(), &'static str> {
        match kind {
            frame::FILE => {
                let file: File =
                    iolab_deserialize::json(&self.payload).map_err(|_| "an entry of a file cannot be read")?;
                self.room_for(self.files.len(), file.path.len())?;
                self.files.push(file);
            }
            frame::THREAD => {
                let thread: Thread =
                    iolab_deserialize::json(&self.payload).map_err(|_| "an entry of a thread cannot be read")?;
                self.room_for(self.threads.len(), thread.name.len())?;
                self.threads.push(thread);
            }
            frame::OPERATIONS | frame::OPERATIONS_2 => {
                self.next = 0;
                let layout = if kind == frame::OPERATIONS { Layout::One } else { Layout::Two };
                block::decode(&self.payload, layout, &mut self.block).ok_or("a block of operations cannot be read")?;
                let (files, threads) = (self.files.len() as u64, self.threads.len() as u64);
                let is_known = |operation: &Operation| {
                    (u64::from(operation.file) < files || operation.file == NO_FILE)
                        && u64::from(operation.thread) < threads
                };
                if !self.block.iter().all(is_known) {
                    return Err("an operation refers to an unknown file or thread");
                }
            }
            frame::END => {
                self.end = Some(iolab_deserialize::json(&self.payload).map_err(|_| "the end cannot be read")?);
            }
            frame::OPTIONAL.. => {}
            _ => return Err("a frame of a newer format version"),
        }
        Ok(())
    }

    fn room_for(&mut self, entries: usize, name_bytes: usize) -> Result<(), &'static str> {
        self.name_bytes += name_bytes;
        if entries >= MOST_ENTRIES || self.name_bytes > MOST_NAME_BYTES {
            return Err("too many files or threads");
        }
        Ok(())
    }
}
