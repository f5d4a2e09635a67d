//! A driver for NVMe controllers in user space: no kernel driver, no copies, no locks on the way of an operation.
//!
//! A [`Controller`] is the cold part: it enables the device, knows its namespaces, runs admin commands, reports events
//! and resets the device when it has lost its way. A [`QueuePair`] is the hot part: one thread owns it, accepts commands
//! into its ring ([`QueuePair::read`], …), makes them visible with one doorbell ([`QueuePair::flush`]) and collects
//! completions ([`QueuePair::reap`]).
//!
//! ```text
//!   Controller ── admin queue, identify, events, reset (behind a mutex)
//!     └─▶ QueuePair  read/write/… ▶ ring ▶ flush ▶ doorbell        reap ◀ completion ring
//!                    the shared epoch tells it when the controller was reset
//! ```
//!
//! What is guaranteed: every accepted command is handed back exactly once, whatever the device does, as long as its owner
//! goes on reaping; a device that answers nonsense, nothing, or is gone ends in a typed error after bounded time; nothing
//! a device writes makes the driver panic or touch memory that is not its own. What a device reads and writes is
//! limited by the mappings of [`iolab_pci_device::DmaMapper`] alone, which is what an IOMMU enforces.
//!
//! What it deliberately does not do: schedule, merge or retry operations that the device answered with an error;
//! keep time by itself (a clock is passed in); power management beyond shutdown; controllers over fabrics.
#![forbid(unsafe_code)]

mod admin_queue;
mod controller;
mod data_pointer;
mod doorbell;
mod error;
mod namespace;
mod options;
mod queue_pair;
mod ring;

pub use controller::{Controller, Event, EventDetail, Facts, Recovery};
pub use data_pointer::DmaSlice;
pub use error::{DriverError, Fault};
pub use namespace::{MetadataPlace, Namespace, ZoneLayout};
pub use options::{ControllerOptions, DataPointer, QueueOptions, WaitPolicy};
pub use queue_pair::{Completion, Loss, Outcome, QueuePair, Refusal, Submit, ZoneReport};
