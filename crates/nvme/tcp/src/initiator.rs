//! The driver's end: a [`Transport`](iolab_nvme_driver::Transport) to any NVMe/TCP target.
//!
//! ```text
//! Tcp ── admin queue: properties, admin commands, keep alive ──┐
//! TcpQueue ── one connection each: CapsuleCmd ▶, R2T ◀, data ◀▶ ├─ sockets, never waited for in the hot part
//!    shared: is any connection broken? which controller? ──────┘
//! ```
//!
//! Data of reads goes from the receive buffer to where the caller wants it, and data of writes from
//! there into the send buffer; many PDUs come and go by one call.
//!
//! Guarantees: a target that answers nonsense, or nothing, or closes a connection is a typed error
//! after bounded time. A broken connection is made again with growing pauses, for as long as
//! [`TargetAddress::reconnect_ns`](iolab_nvme_association::TargetAddress::reconnect_ns) says.

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
