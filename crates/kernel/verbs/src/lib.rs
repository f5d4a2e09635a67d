//! RDMA through `librdmacm` and `libibverbs`, which are loaded on first use.
//!
//! ```text
//! Adapter::towards(address) ─ the adapter that reaches it
//!    ├ register(memory) ─▶ Registration: a key with which a peer reads and writes the memory itself
//!    └ connect(request) ─▶ Endpoint: a reliable connection
//!                             begin_send, post ─▶ messages      poll ◀─ messages, ends of sends
//! ```
//!
//! Guarantees: a call returns after bounded time. A missing library is an error that says how to
//! install it. No value from a peer is used as a position. Memory that a peer may access is
//! [`SharedBytes`](iolab_memory::SharedBytes), to which no reference exists. It stays mapped for as
//! long as the adapter can access it. Not included: the meaning of messages, listening for
//! connections, other kinds of queue pairs.
//!
//! Four calls of verbs are not functions of the library but entries of a table inside it. [`abi`]
//! declares the required parts of its structures, and a suite compares them with the headers.

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
