//! Shows any lane to the kernel as one regular file of a fixed size, through FUSE.
//!
//! ```text
//!  application ─ read(2), io_uring, loop device ─▶ kernel ─ /dev/fuse or io_uring ─▶ this crate ─▶ lane
//! ```
//!
//! The protocol is spoken here from its bytes on, over two transports: reads and writes of `/dev/fuse`, and FUSE over
//! io_uring (Linux 6.14 and later), where one system call answers requests and fetches the next. A request uses one
//! slot from the kernel to the lane and back; aligned data is not copied on the way. One thread serves a lane, because a
//! lane belongs to one thread: the one that calls [`serve()`], or as many as [`serve_queues()`] is told, each with a lane
//! on the same device. Waiting for requests a thread sleeps; with operations in flight it polls the lane and the kernel
//! in turn.
//!
//! What it deliberately is not: a file system with folders, or a cache.
//! A server that is killed leaves a dead mount, which `umount -l` or `fusermount3 -u` takes away.

mod abi;
mod channel;
mod classic;
mod clone;
mod dispatch;
mod ending;
mod error;
mod mount;
mod negotiation;
mod options;
mod possible_cpus;
mod queues;
mod serve;
mod session;
mod shared_tree;
mod tree;
mod unmounter;
mod uring;
mod uring_switch;

pub use error::ExportError;
pub use iolab_export::OpenLane;
pub use iolab_export::{Limits, PoolShape, Size, SizeError, Stop, Tally};
pub use options::{Moment, Observer, Options, Transport};
pub use serve::{Summary, serve, serve_queues};
