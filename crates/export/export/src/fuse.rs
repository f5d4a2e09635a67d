//! Shows any lane to the kernel as one regular file of a fixed size, through FUSE.
//!
//! ```text
//!  application ─ read(2), io_uring, loop device ─▶ kernel ─ /dev/fuse or io_uring ─▶ this crate ─▶ lane
//! ```
//!
//! The protocol and its transports are `iolab_fuse`'s; here is what requests about the one file
//! mean. A request uses one slot from the kernel to the lane and back; aligned data is not copied
//! on the way. One thread serves a lane, because a lane belongs to one thread: the one that calls
//! [`serve()`], or as many as [`serve_queues()`] is told, each with a lane on the same device.
//! Waiting for requests a thread sleeps; with operations in flight it polls the lane and the kernel
//! in turn.
//!
//! What it deliberately is not: a file system with folders, or a cache.
//! A server that is killed leaves a dead mount, which `umount -l` or `fusermount3 -u` takes away.

mod dispatch;
mod error;
mod options;
mod queues;
mod serve;
mod session;
mod shared_tree;
mod tree;

pub use crate::OpenLane;
pub use crate::{LaneLimits, PoolShape, ServedCounts, Size, SizeError, Stop};
pub use error::ExportError;
pub use iolab_fuse::{FuseError, FuseEvent, FuseTransport, Observer};
pub use options::Options;
pub use serve::{Summary, serve, serve_queues};
