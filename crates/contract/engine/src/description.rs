//! The description of an engine, as constant data.

use iolab_options::{EngineTraits, OptionEntry, PageCache, Reach, Settings, Value};

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
    /// Ways of using it that `iolab doctor` tries, the plainest first.
    pub trials: &'static [EngineProbe],
}

/// A way of using an engine that may not work on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineProbe {
    /// What is tried.
    pub topic: &'static str,
    /// Words of the command line that use it.
    pub words: &'static [&'static str],
    /// The consequence when it does not work.
    pub consequence: &'static str,
    /// The remedy; empty if there is none.
    pub mend: &'static str,
}

/// A limit of the machine that an engine depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Memory that may be locked.
    LockedMemory,
    /// Requests of the kernel's native AIO.
    AioRequests,
}

/// Whether an engine, or the kernel for it, spins for completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polling {
    /// Never.
    Never,
    /// Always.
    Always,
    /// When one of these options is on.
    WithOption(&'static [&'static str]),
    /// Unless this option has this value.
    UnlessOption(&'static str, &'static str),
}

/// What an engine can do; a job that asks for more is refused when it is resolved. An engine names
/// its differences from [`Capabilities::FILES`] or [`Capabilities::DEVICES`].
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
    /// Whether one `Trim` can have several ranges.
    pub trims_ranges: bool,
    /// Whether `Sync`, `DataSync` and `SyncFileRange` work; where not, the runner calls the kernel.
    pub syncs: bool,
    /// Whether `direct=1` is possible.
    pub direct: bool,
    /// Whether writing beyond the end makes a file longer. If not, files are laid out in full
    /// first.
    pub extends_files: bool,
    /// What operations do to the files themselves.
    pub effect: FileEffect,
    /// Where operations go.
    pub reach: Reach,
    /// Whether data goes through the page cache.
    pub page_cache: PageCache,
    /// Whether it spins for completions.
    pub polling: Polling,
    /// Whether it reads files that a job only writes, so that they must be open for both.
    pub reads_to_write: bool,
    /// Limits of the machine on which it depends.
    pub needs: &'static [Need],
}

impl Capabilities {
    /// Asynchronous reads, writes, trims and syncs of files, through the kernel's block layer.
    pub const FILES: Capabilities = Capabilities {
        files: FileUse::Descriptors,
        extends_files: true,
        reach: Reach::BlockLayer,
        page_cache: PageCache::UnlessDirect,
        ..Capabilities::DEVICES
    };

    /// The same for devices that the engine opens itself, past the kernel's block layer.
    pub const DEVICES: Capabilities = Capabilities {
        synchronous: false,
        files: FileUse::Devices,
        moves_data: true,
        trims: true,
        trims_ranges: false,
        syncs: true,
        direct: true,
        extends_files: false,
        effect: FileEffect::ByDirection,
        reach: Reach::Device,
        page_cache: PageCache::Never,
        polling: Polling::Never,
        reads_to_write: false,
        needs: &[],
    };

    /// What readers of figures must know about the engine with these options.
    pub fn traits(&self, options: &Settings) -> EngineTraits {
        let value = |name: &str| options.get(name).map(|setting| &setting.value);
        let polls = match self.polling {
            Polling::Never => false,
            Polling::Always => true,
            Polling::WithOption(names) => names.iter().any(|name| value(name) == Some(&Value::Flag(true))),
            Polling::UnlessOption(name, word) => {
                !matches!(value(name), Some(Value::Choice(own) | Value::Text(own)) if own == word)
            }
        };
        EngineTraits {
            reach: self.reach,
            page_cache: self.page_cache,
            synchronous: self.synchronous,
            polls,
            reads_to_write: self.reads_to_write,
        }
    }
}

/// What the operations of an engine do to the files of a job, besides moving data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileEffect {
    /// Writes and trims change content, reads change nothing.
    ByDirection,
    /// Every operation, even a read, changes content or the storage behind it.
    Changes,
    /// Missing files are made; existing ones are left as they are, whatever the direction.
    Makes,
    /// Existing files are removed, whatever the direction.
    Removes,
}

/// What an engine needs of the files of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// Open descriptors: the runner lays out and opens the files.
    Descriptors,
    /// Only paths: the operations create, stat or delete them.
    Paths,
    /// Names of devices in the engine's own language. The engine opens them itself, and describes
    /// them beforehand: [`crate::Engine::device`]. Its jobs are threads of one process, so that
    /// they can share a device.
    Devices,
    /// The same, one device for each job: this option of the engine names it, else `filename`.
    DeviceNamedBy(&'static str),
    /// Names of objects in a store that the engine reaches itself. Their sizes are the job's. Its
    /// jobs are threads of one process, as the library that reaches the store demands.
    Objects,
    /// Nothing: offsets are made up.
    Nothing,
}

impl FileUse {
    /// Whether the engine opens devices itself.
    pub fn is_devices(self) -> bool {
        matches!(self, FileUse::Devices | FileUse::DeviceNamedBy(_))
    }

    /// Whether the engine's jobs are threads of one process.
    pub fn needs_threads(self) -> bool {
        self.is_devices() || self == FileUse::Objects
    }
}
