//! Shows any lane to the kernel as one regular file of a fixed size, through FUSE.
//!
//! ```text
//!  application ─ read(2), io_uring, loop device ─▶ kernel ─ /dev/fuse or io_uring ─▶ this crate ─▶ lane
//! ```
//!
//! The protocol and its transports are in `iolab_fuse`; this module handles requests about the one
//! file. A request uses one slot from the kernel to the lane and back, and aligned data are not
//! copied on the way. One thread serves a lane, because a lane belongs to one thread: the caller of
//! [`serve()`], or as many threads as [`serve_queues()`] is told, each with a lane on the same
//! device. While a thread waits for requests it sleeps; with operations in flight it polls the lane
//! and the kernel in turn.
//!
//! It is deliberately neither a file system with directories nor a cache. A server that is killed
//! leaves a dead mount, which `umount -l` or `fusermount3 -u` removes.

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
