//! The link between a driver and a device model in another process: shared memory, and a socket for
//! rare requests.
//!
//! The device's registers are a memfd that both processes map, so a doorbell is a store in one
//! process and a load in the other. The driver's memory also consists of memfds. The driver sends
//! their descriptors and the bus addresses that it has chosen, and the device maps them. For each
//! interrupt, the driver sends one end of a socket pair. Only mappings, interrupts, resets and
//! questions need a message ([`message`]); commands need none.
//!
//! Each connection is one PCI function with its own controller. When a driver closes its socket, or
//! is killed, its function and mappings are removed; no manual cleanup is needed.
//!
//! Neither end trusts the other. Each asks the kernel for the identity of the other, maps nothing
//! that the other could truncate, and never waits without a limit. A server limits the resources of
//! each driver ([`MOST_MAPPINGS`] and others).
//!
//! [`Link`] is the driver's end and implements the traits of `iolab-pci-device`. [`Server`] is the
//! device's end and does not depend on NVMe: its user provides the functions ([`Functions`]).
#![forbid(unsafe_code)]

mod client;
mod driver;
pub mod message;
mod peer;
mod server;
mod service;
mod socket;

pub use client::{Link, LinkError, ask};
pub use driver::{Function, Functions, MOST_MAPPED_BYTES, MOST_MAPPINGS};
pub use server::{MOST_DRIVERS, Server};
pub use service::{MoreStatistics, RunningDrive, ServeError, ServeOptions, Service, listen, serve};
