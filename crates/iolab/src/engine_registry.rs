//! The engines of this build. Adding one: its crate, its conformance tests, one line here.

use iolab_engine::{DeviceFacts, EngineDescription};
use iolab_runner::EngineEntry;

/// Every engine, in the order `iolab engines` lists them.
pub(crate) static ENGINES: &[EngineEntry] = &[
    EngineEntry::of::<iolab_engine_posix::Psync>(),
    EngineEntry::of::<iolab_engine_posix::Sync>(),
    EngineEntry::of::<iolab_engine_posix::Vsync>(),
    EngineEntry::of::<iolab_engine_posix::Pvsync>(),
    EngineEntry::of::<iolab_engine_posix::Pvsync2>(),
    EngineEntry::of::<iolab_engine_uring::Uring>(),
    EngineEntry::of::<iolab_engine_libaio::Libaio>(),
    EngineEntry::of::<iolab_engine_nvme::Nvme>(),
    EngineEntry::of::<iolab_engine_logfs::Logfs>(),
    EngineEntry::of::<iolab_engine_posixaio::PosixAio>(),
    EngineEntry::of::<iolab_engine_mmap::Mmap>(),
    EngineEntry::of::<iolab_engine_null::Null>(),
    EngineEntry::of::<iolab_engine_fileops::FileCreate>(),
    EngineEntry::of::<iolab_engine_fileops::FileStat>(),
    EngineEntry::of::<iolab_engine_fileops::FileDelete>(),
    EngineEntry::of::<iolab_engine_fileops::DirCreate>(),
    EngineEntry::of::<iolab_engine_fileops::DirStat>(),
    EngineEntry::of::<iolab_engine_fileops::DirDelete>(),
    EngineEntry::of::<iolab_engine_fileops::Falloc>(),
    EngineEntry::of::<iolab_engine_fileops::Ftruncate>(),
    EngineEntry::of::<iolab_engine_cpuio::Cpuio>(),
];

/// All descriptions.
pub(crate) fn descriptions() -> Vec<&'static EngineDescription> {
    ENGINES.iter().map(|engine| engine.description).collect()
}

/// The engine of this name or alias.
pub(crate) fn description(name: &str) -> Option<&'static EngineDescription> {
    descriptions().into_iter().find(|engine| engine.name == name || engine.aliases.contains(&name))
}

/// What a device is that a job of this engine names, or why it cannot be had.
pub(crate) fn device(engine: &str, name: &str) -> Result<DeviceFacts, String> {
    let entry = ENGINES.iter().find(|entry| entry.description.name == engine);
    let entry = entry.ok_or_else(|| format!("there is no engine {engine}"))?;
    (entry.device)(name).map_err(|error| error.message)
}
