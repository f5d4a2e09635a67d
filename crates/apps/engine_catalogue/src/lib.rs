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
    EngineEntry::fast_performer::<iolab_engine_posix::read_write::Psync>(),
    EngineEntry::slow_performer::<iolab_engine_posix::read_write::Sync>(),
    EngineEntry::slow_queue::<iolab_engine_posix::read_write::Vsync>(),
    EngineEntry::slow_performer::<iolab_engine_posix::read_write::Pvsync>(),
    EngineEntry::fast_performer::<iolab_engine_posix::read_write::Pvsync2>(),
    EngineEntry::slow_performer::<iolab_engine_posix::read_write::Splice>(),
    EngineEntry::fast_fusing::<iolab_engine_uring::Uring>(),
    EngineEntry::fast_fusing::<iolab_engine_uring::UringCmd>(),
    EngineEntry::fast_queue::<iolab_engine_libaio::Libaio>(),
    EngineEntry::fast_queue::<iolab_engine_nvme::Nvme>(),
    EngineEntry::fast_queue::<SpdkBdev>(),
    EngineEntry::slow_queue::<iolab_engine_nbd::Nbd>(),
    EngineEntry::slow_calls::<iolab_engine_http::Http>(),
    EngineEntry::slow_queue::<iolab_engine_nfs::Nfs>(),
    EngineEntry::slow_queue::<iolab_engine_rbd::Rbd>(),
    EngineEntry::slow_queue::<iolab_engine_rbd::RadosObjects>(),
    EngineEntry::slow_calls::<iolab_engine_gfapi::Gfapi>(),
    EngineEntry::slow_queue::<iolab_engine_gfapi::GfapiAsync>(),
    EngineEntry::slow_queue::<iolab_engine_iscsi::Iscsi>(),
    EngineEntry::slow_queue::<iolab_engine_sg::Sg>(),
    EngineEntry::fast_fusing::<iolab_engine_logfs::Logfs>(),
    EngineEntry::slow_performer::<iolab_engine_kv::Kv>(),
    EngineEntry::slow_queue::<iolab_engine_posix::posixaio::PosixAio>(),
    EngineEntry::fast_performer::<iolab_engine_posix::mmap::Mmap>(),
    EngineEntry::slow_queue::<iolab_engine_net::Net>(),
    EngineEntry::fast_fusing::<iolab_engine_null::NullEngine>(),
    EngineEntry::slow_calls::<iolab_engine_posix::fileops::FileCreate>(),
    EngineEntry::slow_calls::<iolab_engine_posix::fileops::FileStat>(),
    EngineEntry::slow_calls::<iolab_engine_posix::fileops::FileDelete>(),
    EngineEntry::slow_calls::<iolab_engine_posix::fileops::DirCreate>(),
    EngineEntry::slow_calls::<iolab_engine_posix::fileops::DirStat>(),
    EngineEntry::slow_calls::<iolab_engine_posix::fileops::DirDelete>(),
    EngineEntry::slow_calls::<iolab_engine_posix::tree::Tree>(),
    EngineEntry::slow_calls::<iolab_engine_posix::fileops::Falloc>(),
    EngineEntry::slow_calls::<iolab_engine_posix::fileops::Ftruncate>(),
    EngineEntry::slow_calls::<iolab_engine_null::Cpuio>(),
    EngineEntry::slow_calls::<iolab_engine_null::Exec>(),
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
