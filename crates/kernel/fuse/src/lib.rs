//! The FUSE protocol: mounting, INIT, and two transports for requests. A [`Service`] answers the
//! requests.
//!
//! ```text
//!  kernel ─ /dev/fuse: classic::serve ─┐
//!         └ io_uring:  uring::serve  ──┴─ Message ─▶ Service ─▶ Reply
//! ```
//!
//! The transports are reads and writes of `/dev/fuse`, and FUSE over io_uring (Linux 6.14 and
//! later), where one system call answers requests and fetches the next ones. A request keeps one
//! slot from its arrival to its answer. A thread that has nothing to do sleeps until the kernel has
//! a request, the thread is asked to end, or one of the service's own descriptors is readable.
//!
//! A server that is killed leaves a dead mount, which `umount -l` or `fusermount3 -u` removes.

pub mod abi;
pub mod channel;
pub mod classic;
mod clone;
pub mod connection;
mod ending;
mod error;
mod moment;
pub mod mount;
pub mod negotiation;
mod possible_cpus;
mod service;
mod unmounter;
pub mod uring;
mod uring_switch;

pub use ending::Ending;
pub use error::FuseError;
pub use moment::{FuseEvent, FuseTransport, Observer};
pub use possible_cpus::possible_cpus;
pub use rustix::mount::MountFlags;
pub use service::{Reply, Service, Taken};
pub use unmounter::Unmounter;
pub use uring_switch::{UringSwitch, permitted};
