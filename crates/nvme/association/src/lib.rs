//! A host's association with a controller: the parts that are the same over every fabric.
//!
//! [`TargetAddress`] names the wanted subsystem, the host and its options. [`Association`] is the
//! state shared by the connections of one controller. [`refused`] and [`authenticate_if_wanted`]
//! handle the answer to Connect, [`discover()`] queries the subsystems of a target, and
//! [`draw_entropy`] returns random bytes for both ends. The crate does not handle connections and
//! their data.
#![forbid(unsafe_code)]

mod address;
mod admission;
mod association;
mod discover;
mod entropy;

pub use address::TargetAddress;
pub use admission::{authenticate_if_wanted, refused, succeeded};
pub use association::Association;
pub use discover::{DiscoverError, discover};
pub use entropy::draw_entropy;
