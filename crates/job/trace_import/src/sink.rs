//! The destination of imported operations: assigns numbers to files and threads, takes the time of
//! the first operation as the beginning, and counts unrecognised input.

use std::collections::HashMap;
use std::io::Write;

use iolab_trace::{End, Facts, File, FileKind, NO_FILE, Operation, Role, Thread, Unseen, Writer};

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// The end of the trace.
    pub end: End,
    /// Bytes of the trace.
    pub bytes: u64,
}

/// How many lines or records were not recognised, and the first of them.
#[derive(Debug, Default)]
pub(crate) struct Puzzles {
    pub(crate) count: u64,
    /// Its number, from 1.
    pub(crate) first: u64,
}

/// A trace being written.
pub(crate) struct Sink<W> {
    writer: Writer<W>,
    files: HashMap<String, u32>,
    threads: HashMap<u32, u32>,
    last_ns: u64,
    pub(crate) puzzles: Puzzles,
    unseen: Vec<Unseen>,
}

impl<W: Write> Sink<W> {
    pub(crate) fn new(output: W, facts: &Facts) -> Result<Sink<W>, ImportError> {
        let begin = if facts.anonymous { Writer::anonymous } else { Writer::new };
        let writer = begin(output, facts).map_err(ImportError::Output)?;
        let (files, threads) = (HashMap::new(), HashMap::new());
        Ok(Sink { writer, files, threads, last_ns: 0, puzzles: Puzzles::default(), unseen: Vec::new() })
    }

    /// The number of a file, by its path.
    pub(crate) fn file(&mut self, path: &str) -> Result<u32, ImportError> {
        if let Some(number) = self.files.get(path) {
            return Ok(*number);
        }
        let kind = kind_of(path);
        let role = if kind == FileKind::Regular { Role::of_path(path) } else { Role::Other };
        let file = File { path: path.to_owned(), kind, role, size_bytes: None };
        let number = self.writer.file(file).map_err(ImportError::Output)?;
        if number != NO_FILE {
            self.files.insert(path.to_owned(), number);
        }
        Ok(number)
    }

    /// The number of a thread, by its id in the input.
    pub(crate) fn thread(&mut self, id: u32, process: u32, name: &str) -> Result<u32, ImportError> {
        if let Some(number) = self.threads.get(&id) {
            return Ok(*number);
        }
        let thread = Thread { process, id, name: name.to_owned() };
        let number = self.writer.thread(thread).map_err(ImportError::Output)?;
        if self.threads.len() == number as usize {
            self.threads.insert(id, number);
        }
        Ok(number)
    }

    pub(crate) fn operation(&mut self, operation: &Operation) -> Result<(), ImportError> {
        self.last_ns = self.last_ns.max(operation.end_ns());
        self.writer.operation(operation).map_err(ImportError::Output)
    }

    /// A line or record, counted from 1, was not recognised.
    pub(crate) fn puzzled(&mut self, number: u64) {
        if self.puzzles.count == 0 {
            self.puzzles.first = number;
        }
        self.puzzles.count += 1;
    }

    /// Records that something is missing from the trace.
    pub(crate) fn unseen(&mut self, what: impl Into<String>, count: u64) {
        if count > 0 {
            self.unseen.push(Unseen { what: what.into(), count: Some(count), bytes: None });
        }
    }

    /// Ends the trace; `unit` names the parts of the input.
    pub(crate) fn finish(mut self, unit: &str) -> Result<Imported, ImportError> {
        let Puzzles { count, first } = self.puzzles;
        self.unseen(format!("{unit} not understood, the first is number {first}"), count);
        let operations = self.writer.operations();
        let unseen = std::mem::take(&mut self.unseen);
        let end = End { elapsed_ns: self.last_ns, operations, unseen, ..End::default() };
        self.writer.end(end.clone()).map_err(ImportError::Output)?;
        Ok(Imported { end, bytes: self.writer.bytes() })
    }
}

/// The kind of a path, or of the text that strace and procfs write in its place.
fn kind_of(path: &str) -> FileKind {
    const STARTS: [(&str, FileKind); 21] = [
        ("pipe:", FileKind::Pipe),
        ("socket:", FileKind::Socket),
        ("TCP:", FileKind::Socket),
        ("TCPv6:", FileKind::Socket),
        ("UDP:", FileKind::Socket),
        ("UDPv6:", FileKind::Socket),
        ("UNIX:", FileKind::Socket),
        ("UNIX-", FileKind::Socket),
        ("NETLINK:", FileKind::Socket),
        ("anon_inode:", FileKind::Kernel),
        ("/memfd:", FileKind::Kernel),
        ("/proc/", FileKind::Kernel),
        ("/sys/", FileKind::Kernel),
        ("/dev/shm/", FileKind::Kernel),
        ("/dev/sd", FileKind::BlockDevice),
        ("/dev/nvme", FileKind::BlockDevice),
        ("/dev/vd", FileKind::BlockDevice),
        ("/dev/dm-", FileKind::BlockDevice),
        ("/dev/loop", FileKind::BlockDevice),
        ("/dev/block/", FileKind::BlockDevice),
        ("/dev/", FileKind::CharacterDevice),
    ];
    let found = STARTS.iter().find(|(start, _)| path.starts_with(start)).map(|(_, kind)| *kind);
    found.unwrap_or(if path.starts_with('/') { FileKind::Regular } else { FileKind::Unknown })
}

/// Why something cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input cannot be read.
    #[error("{0}")]
    Input(std::io::Error),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Output(std::io::Error),
    /// It is another kind of file.
    #[error("{what}: {advice}")]
    Unknown {
        /// What was found.
        what: String,
        /// What to do.
        advice: &'static str,
    },
}
