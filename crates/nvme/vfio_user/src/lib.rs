//! vfio-user: a PCI function of another process, behind a Unix socket (QEMU,
//! docs/interop/vfio-user.rst, version 0.1).
//!
//! ```text
//!  client: QEMU, Cloud Hypervisor, SPDK,          server: SPDK, libvfio-user,
//!          VfioUser (this crate)                          VfioUserServer (this crate)
//!     │  VERSION, DMA_MAP (memfd), SET_IRQS (eventfd), REGION_READ … ──▶ │
//!     │  ◀── DMA_READ, DMA_WRITE: memory that cannot be mapped           │
//!     └── doorbells: a page that both map ───────────────────────────────┘
//! ```
//!
//! The server gives each client its own PCI function: configuration space, the registers of an NVMe
//! controller accessed by messages, its doorbells in a page that can be mapped, and MSI-X, MSI and
//! INTx as eventfds. `iolab-device-link` provides the controllers and polls them.
//!
//! Guarantees: neither end trusts the other. Lengths are checked before memory is allocated. The
//! resources of a client are limited ([`MOST_MAPPINGS`] and others). Memory is mapped only if its
//! owner cannot truncate it; other memory is accessed by messages. Every wait has a time limit.
//!
//! Migration, ioregionfds and twin sockets are not supported, because clients do not need them.
#![forbid(unsafe_code)]

mod client;
mod config_space;
mod distant;
#[doc(hidden)]
pub mod hostile;
mod lines;
pub mod protocol;
mod regions;
mod server;
mod session;
mod wire;

pub use client::{VfioUser, VfioUserError};
pub use server::{MOST_CLIENTS, VfioUserServer};
pub use session::{MOST_MAPPED_BYTES, MOST_MAPPINGS};
