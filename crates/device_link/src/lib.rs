//! The link between a driver and a device model in another process: shared memory, and a socket for what is rare.
//!
//! The device's registers are a memfd that both map, so a doorbell is a store in one process and a load in the other.
//! The driver's memory is memfds, too: it sends their descriptors with the bus addresses it has chosen, and the device
//! maps them. Interrupts are eventfds that the driver sends. Only mapping, interrupts, reset and questions take a
//! message ([`message`]); no message is sent for a command.
//!
//! Each connection is one PCI function with a controller of its own. When a driver closes its socket, or is killed,
//! the function and its mappings go away with it; nothing has to be cleaned up by hand.
//!
//! [`Link`] is the driver's end and implements the traits of `iolab-pci-device`. [`Server`] is the device's end and
//! knows nothing of NVMe: whoever runs it makes the functions ([`Functions`]).
#![forbid(unsafe_code)]

mod client;
pub mod message;
mod server;
mod socket;

pub use client::{Link, LinkError, ask};
pub use server::{Function, Functions, Server};
