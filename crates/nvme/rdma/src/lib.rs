//! NVMe over RDMA, the host's end: the driver's transport to a target that reads and writes this
//! host's memory directly (NVMe over RDMA Transport).
//!
//! ```text
//! Rdma ── admin queue: properties, admin commands, keep alive ──┐
//! RdmaQueue ── a queue pair each: command capsule ▶, response ◀  ├─ messages of iolab-verbs
//!    data: the controller reads and writes it with the key of its registration
//! ```
//!
//! A command is a message of 64 bytes, which a small amount of write data may follow; a response is
//! one of 16. All other data is described by address, length and key, and no processor of the host
//! copies it. Memory is registered once, when it is mapped.
//!
//! Guarantees: a target that sends invalid answers, does not answer, or disappears causes a typed
//! error after bounded time. A broken connection is reestablished, as over TCP. Not included: a
//! target, TLS, invalidation of keys by the target.
#![forbid(unsafe_code)]

mod connect;
mod connection_line;
mod keep_alive;
mod queue;
mod regions;
mod transport;

pub use queue::RdmaQueue;
pub use transport::Rdma;
