//! What resolving needs to know of the machine, as questions: the implementation with real I/O
//! stands elsewhere.

use std::path::{Path, PathBuf};

use iolab_engine::{DeviceFacts, OpenError};
use iolab_options::Settings;
use iolab_plan::{ReplayRules, ReplaySurvey};

/// Answers about the machine the job will run on. Must not change anything.
pub trait MachineFacts {
    /// What is at this path, following symbolic links.
    fn at(&self, path: &Path) -> PathKind;
    /// Every regular file below a directory, recursively, sorted; or why it cannot be listed.
    fn files_below(&self, directory: &Path) -> Result<Vec<PathBuf>, String>;
    /// Bytes an unprivileged user may still write to the file system holding `path` (or its nearest
    /// existing parent); `None` if unknown.
    fn free_bytes(&self, path: &Path) -> Option<u64>;
    /// Numbers of the CPUs online, ascending.
    fn cpus_online(&self) -> Vec<usize>;
    /// Default size of a huge page, bytes.
    fn huge_page_bytes(&self) -> u64;
    /// The text of a file that a job names, or why it cannot be read.
    fn text(&self, path: &Path) -> Result<String, String> {
        Err(format!("{}: there are no files here", path.display()))
    }
    /// What the files of one trace hold, or why they cannot be replayed.
    fn survey(&self, paths: &[String], _rules: &ReplayRules) -> Result<ReplaySurvey, String> {
        Err(format!("{}: there are no traces here", paths.join(":")))
    }
    /// What a device is that `engine` opens by itself and that a job names in the engine's
    /// language, with these options of it, or why it is not available.
    fn device(&self, engine: &str, name: &str, _options: &Settings) -> Result<DeviceFacts, OpenError> {
        Err(OpenError { message: format!("{name}: there are no devices of {engine} here"), errno: None })
    }
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing.
    Missing,
    /// A regular file of this many bytes.
    File(u64),
    /// A block device of this many bytes.
    BlockDevice(u64),
    /// A character device.
    CharacterDevice,
    /// A directory.
    Directory,
}
