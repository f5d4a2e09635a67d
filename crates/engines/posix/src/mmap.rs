//! The engine `mmap`: files mapped into memory, data copied.
//!
//! A read or write is a `memcpy` between the mapping and the slot: no system call, but page faults,
//! which are what one measures. Files of up to 1 GiB are mapped whole when the lane opens. Of a
//! larger file, a window of 1 GiB is mapped at a time, and moving it (`munmap(2)`, `mmap(2)`) is
//! part of the operation that needed it.
//!
//! A mapping cannot extend a file. An operation that reaches past the end moves only the bytes
//! before it; one wholly past the end reads nothing or fails to write with `ENOSPC`. An operation
//! on a part that was truncated while mapped, or that its device cannot deliver, fails with `EIO`
//! (the kernel raises `SIGBUS`, `mmap(2)`; see `iolab_memory::FaultWatch`).
#![allow(unsafe_code, reason = "island: mmap, msync, madvise and copies between mappings and slot buffers")]

mod lane;
mod mapped_file;

pub use lane::MmapLane;

use iolab_engine::{Capabilities, Engine, EngineDescription, LaneRequest, OpenError};
use iolab_options::{Category, DefaultValue, OptionEntry, PageCache, ValueKind};

/// The options of `mmap`.
pub const MMAP_OPTIONS: &[OptionEntry] = &[OptionEntry {
    name: "thp",
    category: Category::Engine,
    kind: ValueKind::Bool,
    default: DefaultValue::Text("0"),
    summary: "Ask for transparent huge pages (MADV_HUGEPAGE)",
    details: "Each mapping is advised with MADV_HUGEPAGE, so that file systems with large folios (tmpfs mounted with \
              huge=advise, xfs, ext4) may map huge pages.",
    accepts: &[("1", "1"), ("0", "0")],
    rejects: &["2", "huge"],
    ..OptionEntry::BLANK
}];

/// The engine `mmap`.
#[derive(Debug)]
pub struct Mmap;

impl Engine for Mmap {
    type Lane = MmapLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "mmap",
        aliases: &[],
        summary: "Files mapped into memory, data copied with memcpy",
        details: "Reads and writes copy between the mapping and the buffer; the kernel sees page faults only. fsync \
            and fdatasync become msync(2), sync_file_range(2) stays itself; trim is BLKDISCARD on a block device and \
            a punched hole (fallocate) in a file. direct=1 is imitated: after every operation its pages are written \
            out (msync) and dropped (madvise, posix_fadvise). Files over 1 GiB are mapped 1 GiB at a time. If a file \
            is truncated while it is mapped, operations on the missing part fail with EIO.",
        options: MMAP_OPTIONS,
        capabilities: Capabilities {
            synchronous: true,
            extends_files: false,
            page_cache: PageCache::Always,
            reads_to_write: true,
            ..Capabilities::FILES
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<MmapLane, OpenError> {
        MmapLane::open(request, mapped_file::WINDOW_BYTES)
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod conformance {
    use super::Mmap;

    iolab_engine::conformance_suite!(mmap, Mmap);
    iolab_engine::conformance_suite!(direct, Mmap, ConformanceSetup::default().direct());
    iolab_engine::conformance_suite!(huge_pages, Mmap, ConformanceSetup::default().flag("thp", true));
}
