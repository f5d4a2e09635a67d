//! Shows any lane to the kernel as a block device, `/dev/ublkbN`, through ublk (Linux 6.4 and
//! later).
//!
//! ```text
//!  file system, application ─▶ /dev/ublkbN ─▶ ublk_drv ─ io_uring commands on /dev/ublkcN ─▶ this crate ─▶ lane
//! ```
//!
//! A request uses one slot from the kernel to the lane and back: only the driver copies its data,
//! from and to the slot. One thread serves one queue, because a lane belongs to one thread: the
//! caller of [`serve()`], or as many threads as [`serve_queues()`] is told, each with a lane on the
//! same device. A thread sleeps when there is nothing to do, and polls the lane while operations
//! are in flight.
//!
//! Deliberately not supported: recovery of a device by a second server, and the driver's own
//! zero-copy modes. A server that is killed leaves a dead device, which [`delete`] removes. See
//! `Documentation/block/ublk.rst` and `include/uapi/linux/ublk_cmd.h`.

mod abi;
mod control;
mod descriptors;
mod driver;
mod error;
mod options;
mod queue;
mod queues;
mod serve;
#[cfg(test)]
mod simulated;

pub use crate::OpenLane;
pub use crate::{LaneLimits, PoolShape, ServedCounts, Size, SizeError, Stop};
pub use error::ExportError;
pub use options::{Observer, Options, UblkEvent};
pub use serve::{Summary, delete, serve, serve_queues};
