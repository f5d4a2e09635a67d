//! The traits of engines by name, for plans and recordings from before engines described
//! themselves.
//!
//! No engine is ever added here: newer plans contain the traits of their engines.

use iolab_options::{EngineTraits, PageCache, Reach, Settings, Value};

/// Options that make an engine, or the kernel on its behalf, spin while waiting for completions.
const POLLING: [&str; 3] = ["hipri", "sqthread_poll", "userspace_reap"];

/// The traits of an old plan's engine.
pub(crate) fn traits(name: &str, options: &Settings) -> EngineTraits {
    let (reach, page_cache) = match name {
        "psync" | "sync" | "vsync" | "pvsync" | "pvsync2" | "io_uring" | "libaio" | "posixaio" => {
            (Reach::BlockLayer, PageCache::UnlessDirect)
        }
        "mmap" => (Reach::BlockLayer, PageCache::Always),
        "nvme" => (Reach::Device, PageCache::Never),
        "logfs" => (Reach::Private, PageCache::Never),
        "null" => (Reach::Nothing, PageCache::Never),
        "cpuio" => (Reach::Processor, PageCache::Never),
        "filecreate" | "filestat" | "filedelete" | "dircreate" | "dirstat" | "dirdelete" | "falloc" | "ftruncate" => {
            (Reach::Names, PageCache::Never)
        }
        _ => (Reach::Unknown, PageCache::Never),
    };
    let is_on = |name: &&str| options.get(name).map(|setting| &setting.value) == Some(&Value::Flag(true));
    EngineTraits {
        reach,
        page_cache,
        synchronous: !matches!(name, "vsync" | "io_uring" | "libaio" | "posixaio" | "nvme" | "logfs" | "null"),
        polls: POLLING.iter().any(is_on),
        reads_to_write: name == "mmap",
    }
}
