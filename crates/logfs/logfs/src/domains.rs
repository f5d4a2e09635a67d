//! Several domains on one disk, each with an instance of the file system on a core of its own that
//! shares nothing with the others.
//!
//! ```text
//!  thread 0                                   thread 1
//!  ┌─ Volume ── route by inode ─┐ messages   ┌─ Volume ── route by inode ─┐
//!  │  Worker ◀──────────────────┼───────────▶┼─────────────────▶ Worker   │
//!  │  LogFs of domain 0, 2 …    │  (owned    │  LogFs of domain 1, 3 …    │
//!  │  copy of the root          │   data)    │  copy of the root          │
//!  │  master of the root        │            │                            │
//!  └── Disk: own queue ─────────┘            └── Disk: own queue ─────────┘
//! ```
//!
//! The guarantees are in `docs/logfs/durability.md`, "Several domains"; the disk format is in
//! `docs/logfs/format.md`. All cores can also share one thread and one executor, which then decides
//! the order of everything, so that a simulation covers the forwarding too.

mod core_sender;
mod core_setup;
mod local;
mod master;
mod messages;
mod owners;
mod part;
mod reconcile;
mod resize;
mod root;
mod volume;
mod volume_attributes;
mod volume_content;
mod volume_names;
mod worker;

/// The primitives under the messages between cores. `tests/interleavings` replaces them by those of
/// a model checker.
mod sync {
    pub(super) use std::sync::OnceLock;
    pub(super) use std::sync::atomic::{AtomicBool, Ordering, fence};
    pub(super) use std::sync::mpsc::{Receiver, Sender, channel};
    pub(super) use std::thread::{self, Thread};
}

pub use core_sender::CoreSender;
pub use core_setup::{CoreSetup, core_setups, open_volume};
pub use local::LocalVolume;
pub use master::Placement;
pub use messages::CoreDriver;
pub(crate) use owners::{Owners, read_owners, write_owners};
pub(crate) use part::part_of;
pub(crate) use reconcile::{Double, unite};
pub(crate) use resize::finish as finish_resize;
pub use resize::{Resized, resize_cores};
pub use volume::{Answered, Volume};
