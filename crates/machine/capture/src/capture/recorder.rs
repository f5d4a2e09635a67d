//! What a capture writes, and what it counted of it.

use std::collections::HashMap;
use std::io::{self, Write};

use iolab_trace::{End, File, NO_FILE, Operation, Role, Thread, Writer};

use crate::kernel_counts::{Counts, is_counted};

type Identity = (u64, u64, String);

/// The trace that grows. An output that fails stops the writing, not the program that is traced.
pub(crate) struct Recorder<'w> {
    writer: Writer<Box<dyn Write + 'w>>,
    files: HashMap<Identity, u32>,
    roles: Vec<Role>,
    error: Option<io::Error>,
    /// Bytes of calls that the kernel counts, too.
    pub(crate) seen: Counts,
}

impl<'w> Recorder<'w> {
    pub(crate) fn new(writer: Writer<Box<dyn Write + 'w>>) -> Recorder<'w> {
        Recorder { writer, files: HashMap::new(), roles: Vec::new(), error: None, seen: Counts::default() }
    }

    /// The number of a file, by device, inode and path.
    pub(crate) fn file(&mut self, (device, inode): (u64, u64), file: File) -> u32 {
        let identity = (device, inode, file.path.clone());
        if let Some(number) = self.files.get(&identity) {
            return *number;
        }
        let role = file.role;
        let added = self.writer.file(file);
        let number = self.keep(added).unwrap_or(NO_FILE);
        if number != NO_FILE {
            self.roles.push(role);
            self.files.insert(identity, number);
        }
        number
    }

    /// What the path of a file said.
    pub(crate) fn role(&self, file: u32) -> Role {
        self.roles.get(file as usize).copied().unwrap_or_default()
    }

    pub(crate) fn thread(&mut self, thread: Thread) -> u32 {
        let added = self.writer.thread(thread);
        self.keep(added).unwrap_or(0)
    }

    pub(crate) fn operation(&mut self, operation: &Operation) {
        if is_counted(operation.call) {
            let bytes = operation.bytes();
            match operation.call.effect() {
                iolab_trace::Effect::Read => self.seen.read += bytes,
                _ => self.seen.written += bytes,
            }
        }
        if self.error.is_none() {
            let added = self.writer.operation(operation);
            self.keep(added);
        }
    }

    fn keep<T>(&mut self, answer: io::Result<T>) -> Option<T> {
        answer.map_err(|error| self.error = Some(error)).ok()
    }

    /// Ends the trace; its end, and its bytes.
    pub(crate) fn finish(mut self, mut end: End) -> io::Result<(End, u64)> {
        if let Some(error) = self.error {
            return Err(error);
        }
        end.operations = self.writer.operations();
        self.writer.end(end.clone())?;
        Ok((end, self.writer.bytes()))
    }
}
