//! A host's association with a controller, as far as it is the same over every fabric.
//!
//! [`TargetAddress`] says which subsystem is wanted, by whom and how. [`Association`] is what the
//! connections of one controller share. [`refused`] and [`authenticate_if_wanted`] are what follows
//! the answer to Connect, [`discover()`] asks a target what it has, and [`draw_entropy`] is the
//! randomness of both ends. Deliberately not here: connections and what goes over them.
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
