//! An output that is being written.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::OutputError;
use crate::new_file::NewFile;

/// An output being written. A file that is dropped before it gets its name leaves nothing.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    to: To,
}

#[derive(Debug)]
enum To {
    Stream(File),
    File(NewFile),
}

impl Output {
    pub(crate) fn stream(path: PathBuf, file: File) -> Output {
        Output { path, to: To::Stream(file) }
    }

    pub(crate) fn file(path: PathBuf, file: NewFile) -> Output {
        Output { path, to: To::File(file) }
    }

    /// Its path, as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file or stream itself; writes to a file go to its end.
    pub fn as_file(&self) -> &File {
        match &self.to {
            To::Stream(file) => file,
            To::File(new) => &new.file,
        }
    }

    /// Writes as long as `goes_on` returns true; it is called repeatedly while a pipe is not read.
    /// Returns whether everything was written.
    ///
    /// # Errors
    /// The errors of write(2).
    pub fn write_while(&mut self, mut bytes: &[u8], goes_on: impl Fn() -> bool) -> io::Result<bool> {
        while !bytes.is_empty() {
            if !goes_on() {
                return Ok(false);
            }
            let written = match &mut self.to {
                To::Stream(stream) => write_if_ready(stream, bytes),
                To::File(new) => new.file.write(bytes),
            };
            match written {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Gives a file its name before it is finished: for files that people read while they grow.
    ///
    /// # Errors
    /// It cannot get the name: another file took it, or the system refuses.
    pub fn publish(&mut self) -> Result<(), OutputError> {
        match &mut self.to {
            To::Stream(_) => Ok(()),
            To::File(new) => new.take_name(),
        }
    }

    /// Makes everything written durable, and gives the file its name.
    ///
    /// # Errors
    /// It cannot be made durable, or cannot get the name.
    pub fn finish(mut self) -> Result<(), OutputError> {
        match &mut self.to {
            To::Stream(file) => file.flush().map_err(|error| OutputError::io("writing", &self.path, error)),
            To::File(new) => new.finish(),
        }
    }

    /// Removes a file, unless its name belongs to another file by now.
    pub fn remove(mut self) {
        if let To::File(new) = &mut self.to {
            new.remove();
        }
    }
}

/// Writes as much as a pipe takes atomically (pipe(7)); writes nothing if the pipe stays full for a
/// while.
fn write_if_ready(stream: &mut File, bytes: &[u8]) -> io::Result<usize> {
    const TAKEN_AT_ONCE: usize = 4096;
    const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    let mut ready = [PollFd::new(&*stream, PollFlags::OUT)];
    if rustix::event::poll(&mut ready, Some(&LOOK_EVERY))? == 0 {
        return Ok(0);
    }
    stream.write(&bytes[..bytes.len().min(TAKEN_AT_ONCE)])
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.as_file();
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
