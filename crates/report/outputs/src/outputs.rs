//! All outputs of one command, checked against its inputs and each other.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use iolab_observe::FileId;
use rustix::fs::{FileType, Stat};

use crate::identity::Old;
use crate::judge::{self, Name};
use crate::{OutputError, OutputKind, OutputPlace, stream};

/// Returns how the system uses a file, if it does: as swap, as a loop device, as a mount.
type InUse = fn(&Path) -> Option<String>;

/// What one command reads, and where it may write.
#[derive(Debug)]
pub struct Outputs {
    force: bool,
    in_use: InUse,
    /// Files that are read, and what the command uses them for.
    inputs: HashMap<FileId, String>,
    /// Claimed names by directory: which output claims each, and the path as the user wrote it.
    claims: HashMap<(FileId, OsString), (String, PathBuf)>,
}

impl Outputs {
    /// The outputs of a command that may replace any file (`force`) or only files of the same kind.
    /// `in_use` says which files must not be replaced even then.
    pub fn new(force: bool, in_use: InUse) -> Outputs {
        Outputs { force, in_use, inputs: HashMap::new(), claims: HashMap::new() }
    }

    /// Registers a file that the command reads: no output may replace it, under any name. A missing
    /// file needs no protection; a directory stands for all files in it.
    pub fn reads(&mut self, path: &Path, what: &str) {
        let Ok(stat) = rustix::fs::stat(path) else { return };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => drop(self.inputs.insert(FileId::of_stat(&stat), what.to_owned())),
            FileType::Directory => self.reads_folder(path, what, 0),
            _ => {}
        }
    }

    fn reads_folder(&mut self, folder: &Path, what: &str, depth: u32) {
        const DEEPEST: u32 = 8;
        const ENDINGS: [&str; 6] = ["iolab", "partial", "json", "fio", "toml", "log"];
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_input = path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEEPEST => self.reads_folder(&path, what, depth + 1),
                Ok(kind) if kind.is_file() && is_input => self.reads(&path, &format!("a file of {what}")),
                _ => {}
            }
        }
    }

    /// Registers a path that the command writes by other means, such as the data of a job.
    pub fn occupied(&mut self, path: &Path, what: &str) {
        self.reads(path, what);
        if let Ok(name) = Name::open(path) {
            self.claims.insert((name.folder_id, name.name), (what.to_owned(), path.to_owned()));
        }
    }

    /// Judges a path for an output that messages call `what`. The same output may ask again.
    ///
    /// # Errors
    /// The existing file must not be replaced, or no file can be created there.
    pub fn place(&mut self, path: &Path, kind: OutputKind, what: &str) -> Result<OutputPlace, OutputError> {
        if let Some(file) = stream::named_descriptor(path)? {
            let stat = rustix::fs::fstat(&file).map_err(|errno| OutputError::io("looking at", path, errno))?;
            self.not_an_input(path, &stat)?;
            not_a_device(path, &stat)?;
            return Ok(OutputPlace::stream(path, kind, file));
        }
        let name = Name::open(path)?;
        let old = name.stat()?;
        if let Some(stat) = &old {
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::CharacterDevice | FileType::Fifo => {
                    stream::judge(path, stat)?;
                    self.claim(&name, what)?;
                    return Ok(OutputPlace::named_stream(name, kind));
                }
                FileType::Directory => return Err(OutputError::unusable(path, "a folder, not a file")),
                FileType::Socket => return Err(OutputError::unusable(path, "a socket, not a file")),
                _ => {}
            }
            not_a_device(path, stat)?;
            name.not_mounted()?;
            self.not_an_input(path, stat)?;
            self.may_be_replaced(&name, stat, kind)?;
        }
        self.claim(&name, what)?;
        name.writable()?;
        Ok(OutputPlace::name(name, kind, old.as_ref().map(Old::of)))
    }

    fn not_an_input(&self, path: &Path, stat: &Stat) -> Result<(), OutputError> {
        match self.inputs.get(&FileId::of_stat(stat)) {
            Some(what) => Err(OutputError::Input { path: path.to_owned(), what: what.clone() }),
            None => Ok(()),
        }
    }

    fn may_be_replaced(&self, name: &Name, stat: &Stat, kind: OutputKind) -> Result<(), OutputError> {
        let path = name.path.clone();
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if is_file && judge::is_own(name, stat, kind) {
            return Ok(());
        }
        if !self.force {
            return Err(OutputError::Foreign { path, what: judge::described(stat), wanted: kind.described() });
        }
        // A link itself is replaced: its target stays.
        match (self.in_use)(&path).filter(|_| is_file) {
            Some(what) => Err(OutputError::Never { path, what }),
            None => Ok(()),
        }
    }

    fn claim(&mut self, name: &Name, what: &str) -> Result<(), OutputError> {
        let wanted = (what.to_owned(), name.path.clone());
        let claim = self.claims.entry((name.folder_id, name.name.clone())).or_insert_with(|| wanted.clone());
        if claim.0 == wanted.0 && claim.1.as_os_str() == wanted.1.as_os_str() {
            return Ok(());
        }
        Err(OutputError::Clash { path: name.path.clone(), one: claim.0.clone(), other: what.to_owned() })
    }
}

fn not_a_device(path: &Path, stat: &Stat) -> Result<(), OutputError> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
        return Ok(());
    }
    Err(OutputError::Never { path: path.to_owned(), what: "a block device".to_owned() })
}
