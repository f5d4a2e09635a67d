//! An output that is being written.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::OutputError;
use crate::new_file::NewFile;

/// What is being written. A file that is dropped before it has its name leaves nothing.
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

    /// The file or stream itself; what is written to a file goes to its end.
    pub fn as_file(&self) -> &File {
        match &self.to {
            To::Stream(file) => file,
            To::File(new) => &new.file,
        }
    }

    /// Gives a file its name before it is finished: for what grows as people look at it.
    ///
    /// # Errors
    /// It cannot have the name: another file took it, or the kernel says no.
    pub fn publish(&mut self) -> Result<(), OutputError> {
        match &mut self.to {
            To::Stream(_) => Ok(()),
            To::File(new) => new.take_name(),
        }
    }

    /// Makes all that was written durable, and gives the file its name.
    ///
    /// # Errors
    /// It cannot be made durable, or cannot have the name.
    pub fn finish(mut self) -> Result<(), OutputError> {
        match &mut self.to {
            To::Stream(file) => file.flush().map_err(|error| OutputError::io("writing", &self.path, error)),
            To::File(new) => new.finish(),
        }
    }

    /// Removes a file, unless its name is another's by now.
    pub fn remove(mut self) {
        if let To::File(new) = &mut self.to {
            new.remove();
        }
    }
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
