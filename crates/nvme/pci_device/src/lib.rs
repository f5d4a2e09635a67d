//! The interface that a driver needs from a PCI function, and that a device model needs from its
//! host.
//!
//! A driver is written against [`PciFunction`] and [`DmaMapper`], a device against [`HostMemory`]
//! and [`InterruptTable`]. Between them is either VFIO and a real device, or a [`DmaTable`] and a
//! model in the same process or in another one. The crate depends neither on NVMe nor on a
//! transport.
//!
//! ```text
//!   driver ──▶ PciFunction (registers, doorbells, interrupts, reset) ──▶ device
//!          ──▶ DmaMapper (memory → bus address)        HostMemory (bus address → memory) ◀──
//! ```
//!
//! Registers are little-endian words in a BAR. The doorbells, which are written for every batch of
//! commands, are returned once as [`SharedBytes`], so that ringing one is a store instead of a
//! dynamic call.
#![forbid(unsafe_code)]

mod dma_table;
mod function;
mod host_memory;
mod interrupt;

pub use dma_table::{DmaPlace, DmaTable};
pub use function::{DmaBuffer, DmaMapper, MapError, PciDevice, PciError, PciFunction};
pub use host_memory::{DistantMemory, DmaFault, HostMemory};
pub use interrupt::{Interrupt, InterruptTable};
pub use iolab_memory::{MappingAccess, SharedBytes, SharedWord};
