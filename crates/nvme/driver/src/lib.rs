//! A driver for NVMe controllers in user space: no kernel driver, no copies, no locks on the way of
//! an operation.
//!
//! A [`Controller`] is the cold part. It enables the device, identifies namespaces, executes admin
//! commands, reports events, and resets a device that has failed. A [`QueuePair`] is the hot part,
//! owned by one thread. It takes commands ([`QueuePair::read`], …), makes them visible to the
//! device ([`QueuePair::flush`]) and collects completions ([`QueuePair::reap`]). Both are generic
//! over the [`Transport`] that carries commands; [`Pcie`] is its own; `iolab-nvme-tcp` has another.
//!
//! ```text
//!   Controller ── admin queue, identify, events, reset (behind a mutex)
//!     └─▶ QueuePair  read/write/… ▶ ring ▶ flush ▶ doorbell        reap ◀ completion ring
//!                    the shared epoch tells it when the controller was reset
//! ```
//!
//! Guarantees: every accepted command is returned exactly once, whatever the device does, as long
//! as its owner goes on reaping. A device that answers nonsense, or nothing, or is gone causes a
//! typed error after bounded time. Nothing that a device writes makes the driver panic or access
//! memory that is not its own. What a device may access is limited by the mappings of
//! [`iolab_pci_device::DmaMapper`] alone, which an IOMMU enforces.
//!
//! Deliberately not here: scheduling and merging operations, retrying those that failed, reading a
//! clock (one is passed in), power management beyond shutdown, transports other than PCIe.
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
