//! logfs as a mounted file system: requests of the kernel become operations of an open
//! [`LocalVolume`](iolab_logfs::LocalVolume).
//!
//! ```text
//!  kernel ─ iolab_fuse ─▶ Session ─┬─ quick: answered from memory, at once ─▶ reply
//!                                  └─ slow:  a task of the executor ─ Disk ─▶ reply
//! ```
//!
//! One thread does everything: it waits for requests, for the device, for the time to sync changes
//! that were not synced on request, and for a stop. Several threads divide the domains among them,
//! and a request that reaches the wrong thread is forwarded. The kernel checks permissions
//! (`default_permissions`) and caches pages, names, attributes and file locks, which is correct
//! because all changes come through it. [`serve()`] ends by closing the file system, so that
//! everything is durable.
//!
//! What it deliberately does not do: `ioctl`, collapsing or inserting ranges, access times of
//! reads. The promises are in `docs/logfs/durability.md`, the ways of use in `docs/logfs/mount.md`.

mod acl;
mod attributes;
mod changes;
mod directories;
mod error;
mod finished;
mod forwarding;
mod names;
mod nodes;
mod notices;
mod options;
mod payloads;
mod privileges;
mod quick;
mod resources;
mod serve;
mod server;
mod session;
mod slow;
mod syncing;
mod threads;
mod transfers;
mod wake_event;

pub use error::MountError;
pub use iolab_async_io::command_ring::Stop;
pub use iolab_fuse::{FuseError, FuseEvent, FuseTransport, Observer};
pub use options::{Options, UnknownWord};
pub use resources::Mountable;
pub use serve::serve;
pub use threads::{OpenPart, serve_on_threads};
