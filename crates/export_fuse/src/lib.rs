//! Shows any lane to the kernel as one regular file of a fixed size, through FUSE.
//!
//! ```text
//!  application ─ read(2), io_uring, loop device ─▶ kernel ─ /dev/fuse or io_uring ─▶ this crate ─▶ lane
//! ```
//!
//! The protocol is spoken here from its bytes on, over two transports: reads and writes of `/dev/fuse`, and FUSE over
//! io_uring (Linux 6.14 and later), where one system call answers requests and fetches the next. A request uses one
//! slot from the kernel to the lane and back; aligned data is not copied on the way. One thread serves: the one that
//! calls [`serve()`], because a lane belongs to one thread. Waiting for requests it sleeps; with operations in flight it
//! polls the lane and the kernel in turn.
//!
//! What it deliberately is not: a file system with folders, a cache, or a server for several lanes.
//! A server that is killed leaves a dead mount, which `umount -l` or `fusermount3 -u` takes away.

mod abi;
mod channel;
mod classic;
mod dispatch;
mod error;
mod mount;
mod negotiation;
mod options;
mod possible_cpus;
mod serve;
mod session;
mod tree;
mod unmounter;
mod uring;
mod uring_switch;

pub use error::ExportError;
pub use iolab_export::{Limits, PoolShape, Size, SizeError, Stop, Tally};
pub use options::{Moment, Observer, Options, Transport};
pub use serve::{Summary, serve};
