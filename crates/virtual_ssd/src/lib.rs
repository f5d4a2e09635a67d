//! A virtual NVMe SSD: a controller for any correct host, in this process or behind shared memory.
//!
//! ```text
//!            Subsystem: namespaces, media, timing model, fault plan, health counters
//!                 │ shared by
//!        ┌────────┴────────┐
//!   Controller         Controller            one per host: registers, admin queue, features, events
//!    │       │
//! Dispatcher Dispatcher                      I/O queue pairs, each polled by one thread
//! ```
//!
//! A controller reads its host's memory through `HostMemory` of `iolab-pci-device` and is read by the host through
//! registers in memory. [`Embedded`] is the device for a driver in the same thread,
//! [`Threaded`] one with threads of its own. It follows NVM Express 1.4 with what
//! hosts of 2.0 ask for: command sets, Copy, zoned namespaces.
//!
//! Guarantees: nothing that a host writes, maps or takes away makes the device panic or touch memory that is not
//! mapped for it; every invalid command has the specification's status. Deliberately not here: transports, metadata
//! and protection information, reservations, firmware updates, security commands.
#![forbid(unsafe_code)]

mod admin;
mod config;
mod controller;
mod copier;
mod dispatcher;
mod embedded;
mod fault;
mod health;
#[doc(hidden)]
pub mod hostile;
mod io;
mod mailbox;
mod media;
mod namespace;
mod queue;
mod refusal;
mod registers;
mod room;
mod state_file;
mod statistics;
mod subsystem;
mod threaded;
mod timing;
mod transfer;
mod zones;

pub use config::{Age, Config, ConfigError, KEYS, Key, Parameter, parameters};
pub use controller::{Controller, ControllerError, Wiring};
pub use copier::Copier;
pub use dispatcher::Dispatcher;
pub use embedded::{Embedded, EmbeddedError};
pub use fault::{Fault, FaultError, FaultKind, Operation, Stripe};
pub use health::Totals;
pub use media::{HugePages, MediaKind, MemoryPages};
pub use registers::{REGISTER_BYTES, Registers};
pub use state_file::{data_made_for, is_state, path_of as state_path};
pub use statistics::DriveStatistics;
pub use subsystem::Subsystem;
pub use threaded::{Threaded, Threads};
pub use zones::ZoneLayout;
