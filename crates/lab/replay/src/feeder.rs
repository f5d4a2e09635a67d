//! Opens a trace, or a file that is converted to one, as a stream of operations in the order in
//! which they began.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::UNIX_EPOCH;

use iolab_plan::TraceIdentity;
use iolab_trace::{MARK, Operation, Ordered, Reader};
use iolab_trace_import::{Form, ImportError, blktrace, iolog, strace};

/// Operations that are held back to bring them into the order in which they began.
const WINDOW: usize = 4096;
/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// A trace that is read.
pub(crate) struct Feeder {
    operations: Ordered<Box<dyn Read + Send>>,
    /// The result of the converting thread.
    converted: Option<Receiver<Result<(), String>>>,
    name: String,
}

impl Feeder {
    /// Opens the files of one trace.
    pub(crate) fn open(paths: &[String]) -> Result<Feeder, String> {
        let name = paths.join(":");
        let said = |error: &dyn std::fmt::Display| format!("{name}: {error}");
        let mut files = Vec::new();
        for path in paths {
            let file = iolab_bounded_read::open(Path::new(path)).map_err(|error| format!("{path}: {error}"))?;
            files.push(file);
        }
        let Some(first) = files.first_mut() else { return Err("no trace is named".to_owned()) };
        let mut head = Vec::new();
        Read::by_ref(first).take(MARK.len() as u64).read_to_end(&mut head).map_err(|error| said(&error))?;
        let first = files.remove(0);
        let whole: Box<dyn Read + Send> = Box::new(io::Cursor::new(head.clone()).chain(first));
        if head == MARK {
            if !files.is_empty() {
                return Err(format!("{name}: only the files of one blktrace are read together"));
            }
            let input: Box<dyn Read + Send> = Box::new(BufReader::with_capacity(BUFFER_BYTES, whole));
            let reader = Reader::new(input).map_err(|error| said(&error))?;
            return Ok(Feeder { operations: Ordered::new(reader, WINDOW), converted: None, name });
        }
        let (input, converted) = convert(Form::of(&head), whole, files).map_err(|error| said(&error))?;
        let reader = Reader::new(input).map_err(|_| {
            // The conversion ended before the first byte of a trace: the thread knows the reason.
            converted.recv().ok().and_then(Result::err).map_or_else(|| said(&"it cannot be read"), |why| said(&why))
        })?;
        Ok(Feeder { operations: Ordered::new(reader, WINDOW), converted: Some(converted), name })
    }

    /// The next operation in the order in which they began.
    pub(crate) fn next_operation(&mut self) -> Result<Option<Operation>, String> {
        let operation = self.operations.next_operation().map_err(|error| format!("{}: {error}", self.name))?;
        if operation.is_none() {
            if let Some(Err(reason)) = self.converted.take().and_then(|converted| converted.recv().ok()) {
                return Err(format!("{}: {reason}", self.name));
            }
            if let Some(damage) = self.trace().damage() {
                return Err(format!(
                    "{}: {} at byte {}: only what comes before can be replayed; make a whole trace of it first",
                    self.name, damage.what, damage.at_byte
                ));
            }
        }
        Ok(operation)
    }

    /// The tables of the trace so far.
    pub(crate) fn trace(&self) -> &Reader<Box<dyn Read + Send>> {
        self.operations.reader()
    }
}

/// The identity of a trace's files.
pub(crate) fn identity(paths: &[String]) -> Result<TraceIdentity, String> {
    let mut identity = TraceIdentity::default();
    for path in paths {
        let metadata = std::fs::metadata(path).map_err(|error| format!("{path}: {error}"))?;
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified_unix_ns = modified.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(0));
        identity.bytes += metadata.len();
        identity.modified_unix_ns = identity.modified_unix_ns.max(modified_unix_ns);
    }
    Ok(identity)
}

type Converted = (Box<dyn Read + Send>, Receiver<Result<(), String>>);

/// Starts a thread that converts another program's record into a trace.
fn convert(form: Form, first: Box<dyn Read + Send>, others: Vec<File>) -> io::Result<Converted> {
    let (pieces, received) = sync_channel(4);
    let (tell, told) = sync_channel(1);
    let work = move || {
        let output = Pieces { pieces, piece: Vec::with_capacity(BUFFER_BYTES) };
        let buffered = |input| BufReader::with_capacity(BUFFER_BYTES, input);
        let several = !others.is_empty();
        let imported = match form {
            Form::Blktrace => {
                let others = others.into_iter().map(|file| Box::new(file) as Box<dyn Read + Send>);
                let inputs = std::iter::once(first).chain(others).map(buffered).collect();
                blktrace::import(inputs, output, Vec::new(), false)
            }
            _ if several => Err(ImportError::Unknown {
                what: "several files".to_owned(),
                advice: "only the files of one blktrace are read together",
            }),
            Form::Iolog => iolog::import(&mut buffered(first), output, Vec::new(), false),
            Form::Strace => strace::import(&mut buffered(first), output, Vec::new(), false),
        };
        // If the worker has ended before the trace, there is no receiver.
        let _ = tell.send(imported.map(drop).map_err(|error| error.to_string()));
    };
    std::thread::Builder::new().name("convert".to_owned()).spawn(work)?;
    Ok((Box::new(Joined { pieces: received, piece: Vec::new(), at: 0 }), told))
}

/// The thread's end: sends bytes in pieces.
struct Pieces {
    pieces: SyncSender<Vec<u8>>,
    piece: Vec<u8>,
}

impl Pieces {
    fn send(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(BUFFER_BYTES));
        self.pieces.send(piece).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= BUFFER_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        // Without a receiver, the data is not needed.
        let _ = self.send();
    }
}

/// The reader's end.
struct Joined {
    pieces: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Joined {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            let Ok(piece) = self.pieces.recv() else { return Ok(0) };
            (self.piece, self.at) = (piece, 0);
        }
        let count = buffer.len().min(self.piece.len() - self.at);
        buffer[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
