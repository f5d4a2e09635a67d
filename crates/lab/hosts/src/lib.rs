//! Runs on several hosts, as fio's client and server: a server runs the jobs of clients, a client
//! starts all servers at one moment and makes one recording of what comes back. Also one recording
//! of the parts that ranks have kept, each on its own host (`merging`).
//!
//! ```text
//!  client ──┬── connection ── session (a thread of the server) ── process of the job ── workers
//!           ├── connection ── …
//!           └── gather: one plan, one recording, histograms merged
//! ```
//!
//! The protocol is iolab's own (`message` has its order): programs of fio cannot take part.
//! What jobs of clients may touch is decided in `fence`, who may connect in `server`.

mod address;
mod channel;
mod client;
mod clock_offset;
mod fence;
mod fuzz;
mod gather;
mod greeting;
mod job;
mod launch;
mod merging;
mod message;
mod parcel;
mod peer;
mod rank;
mod ranks;
mod remote_shell;
mod room;
mod seal;
mod server;
mod session;
mod spool;
mod wearing;

pub use address::{DEFAULT_PORT, HostAddress, HostAddressError};
pub use client::{HostJobs, Hosts, connect};
pub use fuzz::fuzz_entry;
pub use job::run_job;
pub use launch::{Launch, LaunchWay, RANK_WORD, launch};
pub use merging::{PartOfRun, merge};
pub use parcel::{PackedJobs, pack};
pub use rank::serve_rank;
pub use seal::SharedSecret;
pub use server::{JobServer, ServerRequest};
