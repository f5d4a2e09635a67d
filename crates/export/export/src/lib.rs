//! What exporting a lane to the kernel takes, whatever the kernel's interface is called.
//!
//! ```text
//!  kernel request ─▶ Request ─▶ Exporter: alignment, range lock, pieces ─▶ Op ─▶ lane
//!  kernel reply   ◀─ Finished ◀──────── short transfers, shifts ◀─ Completion ◀──┘
//! ```
//!
//! A request that the kernel hands out and the lane operation that serves it use the same slot, so
//! that aligned data travels between the kernel and the lane without being copied here.
//! [`Exporter`] does what block devices leave to their users: unaligned transfers, ranges that must
//! not be rewritten at the same time, transfers that end early. [`CommandRing`] carries the
//! commands of interfaces that speak through io_uring, [`Stop`] ends a server from outside,
//! [`beside()`] runs the threads of a device with several lanes, whose exporters share
//! [`SharedRanges`]. [`fuse`] shows a lane as one file, [`ublk`] as a block device; nothing beside
//! them knows either, prints or reads a clock.

mod beside;
mod blocks;
mod exporter;
pub mod fuse;
mod placement;
mod pool_shape;
mod ram_lane;
mod range_lock;
mod request;
mod shared_ranges;
pub mod ublk;

/// What threads share the range lock by. `tests/interleavings` puts a model checker's in its place.
mod sync {
    pub(crate) use std::sync::{Mutex, MutexGuard};

    /// Runs a test: once here, in every order there.
    #[cfg(test)]
    pub(crate) fn model(test: impl Fn()) {
        test();
    }
}

pub use beside::{OpenLane, OtherThread, Ready, Unfit, beside};
pub use blocks::{Size, SizeError};
pub use exporter::{Exporter, LaneLimits, ServedCounts};
pub use iolab_async_io::command_ring::{CommandRing, RingCommand, RingEvent, Stop};
pub use placement::place_thread;
pub use pool_shape::{PoolMismatch, PoolShape, payload_bytes, slot_bytes};
pub use ram_lane::RamLane;
pub use request::{ExportRequest, Finished, RequestKind};
pub use shared_ranges::SharedRanges;
