//! RDMA through `librdmacm` and `libibverbs`, which are loaded when they are first needed.
//!
//! ```text
//! Adapter::towards(address) ─ the adapter that reaches it
//!    ├ register(memory) ─▶ Registration: a key with which a peer reads and writes the memory itself
//!    └ connect(request) ─▶ Endpoint: a reliable connection
//!                             begin_send, post ─▶ messages      poll ◀─ messages, ends of sends
//! ```
//!
//! Guarantees: a call returns after bounded time; a library that is missing is an error that says
//! what installs it; nothing that a peer sends is taken for a position. Memory that a peer may
//! reach is [`SharedBytes`](iolab_memory::SharedBytes), to which no reference exists, and stays
//! mapped for as long as the adapter can reach it. Deliberately not here: what the messages mean,
//! listening for connections, other kinds of queue pairs.
//!
//! Four calls of verbs are not functions of the library but entries of a table inside of it;
//! [`abi`] declares what has to be known of its structures, and a suite compares that with the
//! headers.

pub mod abi;
mod adapter;
mod completions;
mod endpoint;
mod error;
mod event;
mod library;

pub use adapter::{Adapter, Registration};
pub use endpoint::{Arrival, ConnectRequest, Endpoint};
pub use error::VerbsError;
