//! What an engine says of itself, as constant data.

use iolab_options::OptionEntry;

/// An engine's constant description: its names, its own options, what it can do.
#[derive(Debug)]
pub struct EngineDescription {
    /// Name in `ioengine=`.
    pub name: &'static str,
    /// Other names it answers to.
    pub aliases: &'static [&'static str],
    /// One line for `iolab engines`.
    pub summary: &'static str,
    /// More for `iolab engines NAME` and the docs: which system calls an operation becomes.
    pub details: &'static str,
    /// The engine's own options.
    pub options: &'static [OptionEntry],
    /// What it can do.
    pub capabilities: Capabilities,
}

/// What an engine can do; a job that asks for more is refused when it is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether an operation is complete when `submit` returns: the queue is never deeper than one.
    pub synchronous: bool,
    /// What the engine needs of files.
    pub files: FileUse,
    /// Whether operations move data, so that buffers and bandwidth mean something.
    pub moves_data: bool,
    /// Whether `Trim` works.
    pub trims: bool,
    /// Whether `Sync`, `DataSync` and `SyncFileRange` work; where not, the runner calls the kernel.
    pub syncs: bool,
    /// Whether `direct=1` is possible.
    pub direct: bool,
    /// Whether writing beyond the end makes a file longer. Where not, files are laid out in full first.
    pub extends_files: bool,
    /// What operations do to the files themselves.
    pub effect: FileEffect,
}

/// What the operations of an engine do to the files of a job, beside moving data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileEffect {
    /// Writes and trims change content, reads change nothing.
    ByDirection,
    /// Every operation changes content or the storage behind it, a read too.
    Changes,
    /// What is missing is made; what exists is left as it is, whatever the direction.
    Makes,
    /// What exists is removed, whatever the direction.
    Removes,
}

/// What an engine needs of the files of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// Open descriptors: the runner lays out and opens the files.
    Descriptors,
    /// Only paths: the operations create, stat or delete them.
    Paths,
    /// Names of devices in the engine's own language. The engine opens them itself, and says beforehand what they are:
    /// [`crate::Engine::device`]. Its jobs are threads of one process, so that they can share a device.
    Devices,
    /// Nothing: offsets are made up.
    Nothing,
}
