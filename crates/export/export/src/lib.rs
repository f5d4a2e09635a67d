//! What is needed to export a lane to the kernel, through any kernel interface, and to the network.
//!
//! ```text
//!  kernel request ─▶ Request ─▶ Exporter: alignment, range lock, pieces ─▶ Op ─▶ lane
//!  kernel reply   ◀─ Finished ◀──────── short transfers, shifts ◀─ Completion ◀──┘
//! ```
//!
//! A request of the kernel and the lane operation that serves it use the same slot, so that aligned
//! data travel between the kernel and the lane without a copy here. [`Exporter`] does what block
//! devices leave to their users: unaligned transfers, ranges that must not be rewritten at the same
//! time, short transfers. [`CommandRing`] carries the commands of interfaces that use io_uring,
//! [`Stop`] ends a server from outside, and [`beside()`] runs the threads of a device with several
//! lanes, whose exporters share [`SharedRanges`]. [`fuse`] shows a lane as one file, [`ublk`] as a
//! block device, [`nbd`] as an export of NBD; the other modules know none of them. Nothing here
//! prints, and only [`nbd`] reads a clock.

mod beside;
mod blocks;
mod exporter;
pub mod fuse;
pub mod nbd;
mod placement;
mod pool_shape;
mod ram_lane;
mod range_lock;
mod request;
mod shared_ranges;
pub mod ublk;

/// The primitives with which threads share the range lock. `tests/interleavings` replaces them by
/// those of a model checker.
mod sync {
    pub(crate) use std::sync::{Mutex, MutexGuard};

    /// Runs a test: once here, in every possible order there.
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
