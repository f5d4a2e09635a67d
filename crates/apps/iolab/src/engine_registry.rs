//! The engines of this build. Adding one: its crate, its conformance tests, one line here.

use iolab_engine::{DeviceFacts, EngineDescription, OpenError};
use iolab_runner::EngineEntry;

/// Every engine, in the order `iolab engines` lists them.
pub(crate) static ENGINES: &[EngineEntry] = &[
    EngineEntry::of::<iolab_engine_posix::read_write::Psync>(),
    EngineEntry::of::<iolab_engine_posix::read_write::Sync>(),
    EngineEntry::of::<iolab_engine_posix::read_write::Vsync>(),
    EngineEntry::of::<iolab_engine_posix::read_write::Pvsync>(),
    EngineEntry::of::<iolab_engine_posix::read_write::Pvsync2>(),
    EngineEntry::of::<iolab_engine_uring::Uring>(),
    EngineEntry::of::<iolab_engine_libaio::Libaio>(),
    EngineEntry::of::<iolab_engine_nvme::Nvme>(),
    EngineEntry::of::<iolab_engine_logfs::Logfs>(),
    EngineEntry::of::<iolab_engine_posix::posixaio::PosixAio>(),
    EngineEntry::of::<iolab_engine_posix::mmap::Mmap>(),
    EngineEntry::of::<iolab_engine_null::Null>(),
    EngineEntry::of::<iolab_engine_posix::fileops::FileCreate>(),
    EngineEntry::of::<iolab_engine_posix::fileops::FileStat>(),
    EngineEntry::of::<iolab_engine_posix::fileops::FileDelete>(),
    EngineEntry::of::<iolab_engine_posix::fileops::DirCreate>(),
    EngineEntry::of::<iolab_engine_posix::fileops::DirStat>(),
    EngineEntry::of::<iolab_engine_posix::fileops::DirDelete>(),
    EngineEntry::of::<iolab_engine_posix::fileops::Falloc>(),
    EngineEntry::of::<iolab_engine_posix::fileops::Ftruncate>(),
    EngineEntry::of::<iolab_engine_null::Cpuio>(),
];

/// All descriptions.
pub(crate) fn descriptions() -> Vec<&'static EngineDescription> {
    ENGINES.iter().map(|engine| engine.description).collect()
}

/// The engine of this name or alias.
pub(crate) fn description(name: &str) -> Option<&'static EngineDescription> {
    descriptions().into_iter().find(|engine| engine.name == name || engine.aliases.contains(&name))
}

/// The entry of this name.
pub(crate) fn entry(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|entry| entry.description.name == name)
}

/// What a device is that a job of this engine names, or why it cannot be had.
pub(crate) fn device(engine: &str, name: &str) -> Result<DeviceFacts, OpenError> {
    let none = || OpenError { message: format!("there is no engine {engine}"), errno: None };
    (entry(engine).ok_or_else(none)?.device)(name)
}
