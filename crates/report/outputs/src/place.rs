//! A path that was judged: an output may be written there.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::RenameFlags;
use rustix::io::Errno;

use crate::identity::Old;
use crate::judge::Name;
use crate::new_file::NewFile;
use crate::output::Output;
use crate::{OutputError, OutputKind, stream};

/// Where an output is to be written.
#[derive(Debug)]
pub struct OutputPlace {
    path: PathBuf,
    kind: OutputKind,
    at: At,
}

#[derive(Debug)]
enum At {
    Stream(File),
    /// A pipe or device. It is opened only when it is written to, so that a pipe's reader does not
    /// see its end before.
    NamedStream(Name),
    Name(Name, Option<Old>),
}

impl OutputPlace {
    pub(crate) fn stream(path: &Path, kind: OutputKind, file: File) -> OutputPlace {
        OutputPlace { path: path.to_owned(), kind, at: At::Stream(file) }
    }

    pub(crate) fn named_stream(name: Name, kind: OutputKind) -> OutputPlace {
        OutputPlace { path: name.path.clone(), kind, at: At::NamedStream(name) }
    }

    pub(crate) fn name(name: Name, kind: OutputKind, old: Option<Old>) -> OutputPlace {
        OutputPlace { path: name.path.clone(), kind, at: At::Name(name, old) }
    }

    /// Its path, as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a terminal, a pipe or a device, so that no file can be created next to it.
    pub fn is_stream(&self) -> bool {
        matches!(self.at, At::Stream(_) | At::NamedStream(_))
    }

    /// The existing file, if there is one and it can be read.
    pub fn existing(&self) -> Option<File> {
        match &self.at {
            At::Name(name, Some(old)) => name.open_file(old.id),
            _ => None,
        }
    }

    /// Whether the path is taken.
    pub fn is_taken(&self) -> bool {
        matches!(&self.at, At::Name(_, Some(_)))
    }

    /// Renames the existing file to the first free name of `NAME.1`, `NAME.2`, …, and returns that
    /// name.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn set_aside(&mut self) -> Result<PathBuf, OutputError> {
        const MOST: u32 = 100_000;
        let At::Name(name, old) = &mut self.at else { return Ok(self.path.clone()) };
        for number in 1..MOST {
            let mut aside = name.name.clone();
            aside.push(format!(".{number}"));
            match rename_to_free(name, &aside) {
                Ok(()) => {
                    *old = None;
                    return Ok(self.path.with_file_name(aside));
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(OutputError::io("renaming", &self.path, errno)),
            }
        }
        Err(OutputError::io("renaming", &self.path, io::ErrorKind::AlreadyExists))
    }

    /// Begins writing: to a new file, or to the stream.
    ///
    /// # Errors
    /// No file can be created there.
    pub fn begin(self) -> Result<Output, OutputError> {
        match self.at {
            At::Stream(file) => Ok(Output::stream(self.path, file)),
            At::NamedStream(name) => Ok(Output::stream(self.path, stream::open(&name)?)),
            At::Name(name, old) => Ok(Output::file(self.path, NewFile::make(name, self.kind, old)?)),
        }
    }

    /// Writes the whole output.
    ///
    /// # Errors
    /// It cannot be written; an existing file is then unchanged.
    pub fn write(self, bytes: &[u8]) -> Result<(), OutputError> {
        use std::io::Write;
        let path = self.path.clone();
        let mut output = self.begin()?;
        output.write_all(bytes).map_err(|error| OutputError::io("writing", &path, error))?;
        output.finish()
    }
}

fn rename_to_free(name: &Name, to: &std::ffi::OsString) -> Result<(), Errno> {
    let (folder, from) = (&name.folder, &name.name);
    match rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => match crate::new_file::id_of(folder, to)? {
            Some(_) => Err(Errno::EXIST),
            None => rustix::fs::renameat(folder, from, folder, to),
        },
        renamed => renamed,
    }
}
