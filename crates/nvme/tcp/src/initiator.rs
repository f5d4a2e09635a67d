//! The driver's end: a [`Transport`](iolab_nvme_driver::Transport) to any NVMe/TCP target.
//!
//! ```text
//! Tcp ── admin queue: properties, admin commands, keep alive ──┐
//! TcpQueue ── one connection each: CapsuleCmd ▶, R2T ◀, data ◀▶ ├─ sockets, never waited for in the hot part
//!    shared: is any connection broken? which controller? ──────┘
//! ```
//!
//! Data of reads goes from the receive buffer to the caller's memory, and data of writes from there
//! into the send buffer. One call sends or receives many PDUs.
//!
//! Guarantees: a target that sends invalid answers, does not answer, or closes a connection causes
//! a typed error after bounded time. A broken connection is reconnected with growing pauses, for up
//! to [`TargetAddress::reconnect_ns`](iolab_nvme_association::TargetAddress::reconnect_ns).

mod authenticate;
mod guesses;
mod in_flight;
mod keep_alive;
mod queue;
mod receive;
mod scatter;
mod transport;
mod wire;

pub use queue::TcpQueue;
pub use transport::Tcp;
