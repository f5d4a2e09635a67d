//! A lane as an export of NBD: for qemu, nbd-client, nbdcopy, and the engine `nbd` of other hosts.
//!
//! ```text
//! server   listens, one thread for each client
//! session  one client: handshake, then requests ─▶ Exporter ─▶ lane, replies in the order they finish
//! ```
//!
//! Each client has a lane of its own, opened on its thread; clients share the range lock. A flush
//! of one client covers the others, if it does for the lanes. What clients send is bounded: names,
//! options, lengths, requests in flight, clients, and the time for a handshake. The protocol is in
//! the crate `iolab-nbd`, TLS in `iolab-tls`. Deliberately not here: several exports, block status.

mod replies;
mod server;
mod session;

pub use server::{MOST_CLIENTS, NbdPlace, NbdServer, NbdServerOptions};
pub use session::SharedOpenLane;
