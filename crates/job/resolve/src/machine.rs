//! The questions about the machine that resolving asks. The implementation with real I/O is
//! elsewhere.

use std::path::{Path, PathBuf};

use iolab_engine::{DeviceFacts, DeviceZones, OpenError};
use iolab_options::Settings;
use iolab_plan::{ReplayRules, ReplaySurvey};

/// Answers about the machine that runs the job. Must not change anything.
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
    /// At most `most` bytes from the beginning of a file that a pattern names, or why it cannot be
    /// read.
    fn content(&self, path: &Path, _most: usize) -> Result<Vec<u8>, String> {
        Err(format!("{}: there are no files here", path.display()))
    }
    /// The contents of the files of one trace, or why they cannot be replayed.
    fn survey(&self, paths: &[String], _rules: &ReplayRules) -> Result<ReplaySurvey, String> {
        Err(format!("{}: there are no traces here", paths.join(":")))
    }
    /// How a block device is divided into zones; `None` if it is not.
    fn zones(&self, _path: &Path) -> Option<DeviceZones> {
        None
    }
    /// As [`MachineFacts::zones`], of a device that `engine` opens by itself; or why it is not
    /// available.
    fn zones_of_device(
        &self,
        _engine: &str,
        _name: &str,
        _options: &Settings,
    ) -> Result<Option<DeviceZones>, OpenError> {
        Ok(None)
    }
    /// The facts about a device that `engine` opens by itself, named in the engine's notation, with
    /// these options; or why it is not available.
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
