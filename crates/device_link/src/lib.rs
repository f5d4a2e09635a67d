//! The link between a driver and a device model in another process: shared memory, and a socket for what is rare.
//!
//! The device's registers are a memfd that both map, so a doorbell is a store in one process and a load in the other.
//! The driver's memory is memfds, too: it sends their descriptors with the bus addresses it has chosen, and the device
//! maps them. Interrupts are sockets that the driver sends, one end of a pair for each. Only mapping, interrupts, reset and questions take a
//! message ([`message`]); no message is sent for a command.
//!
//! Each connection is one PCI function with a controller of its own. When a driver closes its socket, or is killed,
//! the function and its mappings go away with it; nothing has to be cleaned up by hand.
//!
//! Neither end trusts the other one: each asks the kernel who it is, maps nothing that the other could shorten, and waits
//! for nothing without a limit. A server gives each driver its share and no more ([`MOST_MAPPINGS`] and its neighbours).
//!
//! [`Link`] is the driver's end and implements the traits of `iolab-pci-device`. [`Server`] is the device's end and
//! knows nothing of NVMe: whoever runs it makes the functions ([`Functions`]).
#![forbid(unsafe_code)]

mod client;
mod driver;
pub mod message;
mod peer;
mod server;
mod socket;

pub use client::{Link, LinkError, ask};
pub use driver::{MOST_DRIVERS, MOST_MAPPED_BYTES, MOST_MAPPINGS};
pub use server::{Function, Functions, Server};
