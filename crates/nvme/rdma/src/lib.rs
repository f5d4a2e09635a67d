//! NVMe over RDMA, the host's end: the driver's transport to a target that reads and writes this
//! host's memory by itself (NVMe over RDMA Transport).
//!
//! ```text
//! Rdma ── admin queue: properties, admin commands, keep alive ──┐
//! RdmaQueue ── a queue pair each: command capsule ▶, response ◀  ├─ messages of iolab-verbs
//!    data: the controller reads and writes it with the key of its registration
//! ```
//!
//! A command is a message of 64 bytes, behind which little data of a write may follow; a response
//! is one of 16. All other data is named by address, length and key, and no processor of the host
//! moves it. Memory is registered once, when it is mapped.
//!
//! Guarantees: a target that answers nonsense, or nothing, or goes away is a typed error after
//! bounded time; a broken connection is made again, as over TCP. Deliberately not here: a target,
//! TLS, invalidation of keys by the target.
#![forbid(unsafe_code)]

mod connect;
mod connection_line;
mod keep_alive;
mod queue;
mod regions;
mod transport;

pub use queue::RdmaQueue;
pub use transport::Rdma;
