//! A user-space driver for NVMe controllers: no kernel driver, no copies, and no locks on the path
//! of an operation.
//!
//! A [`Controller`] is the cold part. It enables the device, identifies namespaces, executes admin
//! commands, reports events, and resets a device that has failed. A [`QueuePair`] is the hot part,
//! owned by one thread. It takes commands ([`QueuePair::read`], …), makes them visible to the
//! device ([`QueuePair::flush`]) and collects completions ([`QueuePair::reap`]). Both are generic
//! over the [`Transport`] that carries commands. This crate contains [`Pcie`]; `iolab-nvme-tcp`
//! contains another.
//!
//! ```text
//!   Controller ── admin queue, identify, events, reset (behind a mutex)
//!     └─▶ QueuePair  read/write/… ▶ ring ▶ flush ▶ doorbell        reap ◀ completion ring
//!                    the shared epoch shows that the controller was reset
//! ```
//!
//! Guarantees: every accepted command is returned exactly once, whatever the device does, as long
//! as its owner keeps reaping. A device that sends invalid answers, does not answer, or is gone
//! causes a typed error after bounded time. Nothing that a device writes makes the driver panic or
//! access memory that does not belong to it. Only the mappings of [`iolab_pci_device::DmaMapper`]
//! limit what a device may access; an IOMMU enforces them.
//!
//! Not included on purpose: scheduling and merging operations, retrying failed operations, reading
//! a clock (one is passed in), power management beyond shutdown, transports other than PCIe.
#![forbid(unsafe_code)]

mod admin_queue;
mod controller;
mod error;
mod namespace;
mod options;
mod pcie;
mod queue_pair;
mod transport;

pub use controller::{AsyncEvent, Controller, ControllerFacts, ControllerReset, EventDetail};
pub use error::{DriverError, ResetCause};
pub use namespace::{MetadataPlace, Namespace, ZoneLayout};
pub use options::{ControllerOptions, DataPointer, QueueOptions, WaitPolicy};
pub use pcie::{Pcie, PcieQueue};
pub use queue_pair::{BlockBuffers, CommandOutcome, Completion, Loss, QueuePair, Refusal, Submit, ZoneReport};
pub use transport::{
    ADMIN_DATA_BYTES, ADMIN_DATA_SLOTS, ADMIN_ENTRIES, AdminCommands, Completions, Connection, ControllerSetup,
    DataPointerWords, DataWindow, QueueLife, QueueRequest, SlotMemory, Submission, Transport, TransportQueue,
};
