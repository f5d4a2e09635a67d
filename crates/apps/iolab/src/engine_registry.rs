//! The engines of this build. Adding one: its crate, its conformance tests, one line here.

use iolab_engine::EngineDescription;
use iolab_runner::{EngineEntry, Engines};

/// Engines do not know each other, so the bottom engines of SPDK's configurations are chosen here.
type SpdkBdev =
    iolab_engine_spdk_bdev::SpdkBdev<iolab_engine_nvme::Nvme, iolab_engine_libaio::Libaio, iolab_engine_uring::Uring>;

/// Every engine, in the order `iolab engines` lists them.
static ENGINES: &[EngineEntry] = &[
    EngineEntry::of::<iolab_engine_posix::read_write::Psync>(),
    EngineEntry::of::<iolab_engine_posix::read_write::Sync>(),
    EngineEntry::of::<iolab_engine_posix::read_write::Vsync>(),
    EngineEntry::of::<iolab_engine_posix::read_write::Pvsync>(),
    EngineEntry::of::<iolab_engine_posix::read_write::Pvsync2>(),
    EngineEntry::of::<iolab_engine_posix::read_write::Splice>(),
    EngineEntry::of::<iolab_engine_uring::Uring>(),
    EngineEntry::of::<iolab_engine_uring::UringCmd>(),
    EngineEntry::of::<iolab_engine_libaio::Libaio>(),
    EngineEntry::of::<iolab_engine_nvme::Nvme>(),
    EngineEntry::of::<SpdkBdev>(),
    EngineEntry::of::<iolab_engine_nbd::Nbd>(),
    EngineEntry::of::<iolab_engine_http::Http>(),
    EngineEntry::of::<iolab_engine_nfs::Nfs>(),
    EngineEntry::of::<iolab_engine_rbd::Rbd>(),
    EngineEntry::of::<iolab_engine_iscsi::Iscsi>(),
    EngineEntry::of::<iolab_engine_sg::Sg>(),
    EngineEntry::of::<iolab_engine_logfs::Logfs>(),
    EngineEntry::of::<iolab_engine_kv::Kv>(),
    EngineEntry::of::<iolab_engine_posix::posixaio::PosixAio>(),
    EngineEntry::of::<iolab_engine_posix::mmap::Mmap>(),
    EngineEntry::of::<iolab_engine_net::Net>(),
    EngineEntry::of::<iolab_engine_null::NullEngine>(),
    EngineEntry::of::<iolab_engine_posix::fileops::FileCreate>(),
    EngineEntry::of::<iolab_engine_posix::fileops::FileStat>(),
    EngineEntry::of::<iolab_engine_posix::fileops::FileDelete>(),
    EngineEntry::of::<iolab_engine_posix::fileops::DirCreate>(),
    EngineEntry::of::<iolab_engine_posix::fileops::DirStat>(),
    EngineEntry::of::<iolab_engine_posix::fileops::DirDelete>(),
    EngineEntry::of::<iolab_engine_posix::fileops::Falloc>(),
    EngineEntry::of::<iolab_engine_posix::fileops::Ftruncate>(),
    EngineEntry::of::<iolab_engine_null::Cpuio>(),
    EngineEntry::of::<iolab_engine_null::Exec>(),
];

/// The table for lookups.
pub(crate) fn engines() -> Engines {
    Engines::new(ENGINES)
}

/// All descriptions.
pub(crate) fn descriptions() -> Vec<&'static EngineDescription> {
    engines().descriptions()
}

/// The engine of this name or alias.
pub(crate) fn description(name: &str) -> Option<&'static EngineDescription> {
    engines().description(name)
}
