//! A virtual NVMe SSD: a controller for any correct host, in this process or over shared memory.
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
//! A front receives commands from a host and returns the answers. Behind it, [`AdminExecutor`] and
//! [`IoExecutor`] execute the commands, independent of the front. The front of this crate is PCIe
//! ([`Controller`]): it accesses its host's memory through `HostMemory` of `iolab-pci-device`, and
//! the host accesses its registers in memory. [`Embedded`] is a device for a driver in the same
//! thread; [`Threaded`] has its own threads. The device follows NVM Express 1.4, with the features
//! that hosts of 2.0 need: command sets, Copy, zoned namespaces.
//!
//! Guarantees: nothing that a host writes, maps or unmaps makes the device panic or access memory
//! that is not mapped for it. Every invalid command is answered with the specification's status.
//! The crate has no sockets and no processes. Metadata and protection information, reservations,
//! firmware updates, and security commands are not supported.
#![forbid(unsafe_code)]

mod access;
mod admin;
#[doc(hidden)]
pub mod capsules;
mod command_error;
mod config;
mod controller_record;
mod data_window;
mod fault;
mod file_space;
mod health;
mod io;
mod mailbox;
mod media;
mod namespace;
mod pcie;
mod state_file;
mod statistics;
mod subsystem;
mod timing;
mod zones;

/// The synchronisation of messages and doorbells. `tests/interleavings` replaces this module with
/// that of a model checker.
mod sync {
    pub(crate) use std::sync::Mutex;
    pub(crate) use std::sync::atomic::{AtomicBool, Ordering, fence};

    /// Runs a test: once here, and in every possible order under the model checker.
    #[cfg(test)]
    pub(crate) fn model(test: impl Fn()) {
        test();
    }
}

pub use access::{SubsystemPort, access_state};
pub use admin::{AdminExecutor, AdminReply, FrontFeatures};
pub use command_error::CommandError;
pub use config::{Age, Config, ConfigError, KEYS, Key, Parameter, ZoneLayout, parameters};
pub use controller_record::{Answer, ControllerRecord, Notice};
pub use data_window::{DataDirection, DataWindow, Unreachable};
pub use fault::{Fault, FaultError, FaultKind, FaultOperation, PlannedFaults, Stripe};
pub use health::HealthTotals;
pub use io::{ExecutionStep, IoExecutor};
pub use media::{BlockStore, HugePages, MediaKind, MemoryPages};
#[doc(hidden)]
pub use pcie::hostile;
pub use pcie::{
    Controller, ControllerError, Copier, Dispatcher, Embedded, EmbeddedError, REGISTER_BYTES, Registers, ThreadCounts,
    Threaded, Wiring,
};
pub use state_file::{data_made_for, is_state, path_of as state_path};
pub use statistics::DriveStatistics;
pub use subsystem::Subsystem;
