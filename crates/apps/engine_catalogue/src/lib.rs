//! The engines of this program. Adding one: its crate, its conformance tests, one line here.
//!
//! The loops of all engines are compiled here: this crate has an optimisation level of its own.
//! `fast_…` compiles loops for the engine's lane; slow engines share theirs, and so do all engines
//! for special jobs. Both come in the kinds that lanes come in: a queue (which may fuse), calls, a
//! performer.

use iolab_engine::EngineDescription;
use iolab_runner::{EngineEntry, Engines};

/// Engines do not know each other, so the bottom engines of SPDK's configurations are chosen here.
type SpdkBdev =
    iolab_engine_spdk_bdev::SpdkBdev<iolab_engine_nvme::Nvme, iolab_engine_libaio::Libaio, iolab_engine_uring::Uring>;

/// Every engine, in the order `iolab engines` lists them.
static ENGINES: &[EngineEntry] = &[
    EngineEntry::fast::<iolab_engine_posix::read_write::Psync>(),
    EngineEntry::slow::<iolab_engine_posix::read_write::Sync>(),
    EngineEntry::slow::<iolab_engine_posix::read_write::Vsync>(),
    EngineEntry::slow::<iolab_engine_posix::read_write::Pvsync>(),
    EngineEntry::fast::<iolab_engine_posix::read_write::Pvsync2>(),
    EngineEntry::slow::<iolab_engine_posix::read_write::Splice>(),
    EngineEntry::fast::<iolab_engine_uring::Uring>(),
    EngineEntry::fast::<iolab_engine_uring::UringCmd>(),
    EngineEntry::fast::<iolab_engine_libaio::Libaio>(),
    EngineEntry::fast::<iolab_engine_nvme::Nvme>(),
    EngineEntry::fast::<SpdkBdev>(),
    EngineEntry::slow::<iolab_engine_nbd::Nbd>(),
    EngineEntry::slow::<iolab_engine_http::Http>(),
    EngineEntry::slow::<iolab_engine_nfs::Nfs>(),
    EngineEntry::slow::<iolab_engine_rbd::Rbd>(),
    EngineEntry::slow::<iolab_engine_rbd::RadosObjects>(),
    EngineEntry::slow::<iolab_engine_gfapi::Gfapi>(),
    EngineEntry::slow::<iolab_engine_gfapi::GfapiAsync>(),
    EngineEntry::slow::<iolab_engine_iscsi::Iscsi>(),
    EngineEntry::slow::<iolab_engine_sg::Sg>(),
    EngineEntry::slow::<iolab_engine_logfs::Logfs>(),
    EngineEntry::slow::<iolab_engine_kv::Kv>(),
    EngineEntry::slow::<iolab_engine_posix::posixaio::PosixAio>(),
    EngineEntry::fast::<iolab_engine_posix::mmap::Mmap>(),
    EngineEntry::slow::<iolab_engine_net::Net>(),
    EngineEntry::fast::<iolab_engine_null::NullEngine>(),
    EngineEntry::slow::<iolab_engine_posix::fileops::FileCreate>(),
    EngineEntry::slow::<iolab_engine_posix::fileops::FileStat>(),
    EngineEntry::slow::<iolab_engine_posix::fileops::FileDelete>(),
    EngineEntry::slow::<iolab_engine_posix::fileops::DirCreate>(),
    EngineEntry::slow::<iolab_engine_posix::fileops::DirStat>(),
    EngineEntry::slow::<iolab_engine_posix::fileops::DirDelete>(),
    EngineEntry::slow::<iolab_engine_posix::tree::Tree>(),
    EngineEntry::slow::<iolab_engine_posix::fileops::Falloc>(),
    EngineEntry::slow::<iolab_engine_posix::fileops::Ftruncate>(),
    EngineEntry::slow::<iolab_engine_null::Cpuio>(),
    EngineEntry::slow::<iolab_engine_null::Exec>(),
];

/// The table for lookups.
pub fn engines() -> Engines {
    Engines::new(ENGINES)
}

/// All descriptions.
pub fn descriptions() -> Vec<&'static EngineDescription> {
    engines().descriptions()
}

/// The engine of this name or alias.
pub fn description(name: &str) -> Option<&'static EngineDescription> {
    engines().description(name)
}
