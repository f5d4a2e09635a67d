//! vfio-user: a PCI function that another process has, behind a Unix socket (QEMU,
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
//! The server gives each client a PCI function of its own: configuration space, the registers of
//! an NVMe controller behind messages, its doorbells in a page that can be mapped, MSI-X, MSI and
//! INTx as eventfds. The controllers are those of `iolab-device-link`, and so is what polls them.
//!
//! Guarantees: neither end trusts the other one. Lengths are checked before memory is taken, the
//! resources of a client are limited ([`MOST_MAPPINGS`] and others), memory is mapped only if its
//! owner cannot take it away again, and nothing waits without a limit. Memory that cannot be mapped
//! is reached by messages.
//!
//! Deliberately not here: migration, ioregionfds and twin sockets, which a client can do without.
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
