//! Crash consistency of a store: kills a load at any moment, and checks what must exist afterwards.
//!
//! ```text
//!  parent ── starts ─▶ child: opens the store, writes operation after operation
//!    │ ◀── acknowledgements, through a pipe that outlives the child ──┘
//!    ├── kills it, at a moment that the seed decides
//!    ├── lets somebody take away what a crash takes away (caches, a server)
//!    └── opens the store: it holds exactly what the first N operations leave, and N is at least the last
//!        acknowledged operation that was synced
//! ```
//!
//! Operations are numbered and derived from a seed, so that parent and child know the same ones. A
//! single thread writes them, so that their order is known. Each is one batch; the seed also
//! determines whether it is synced. Operations that were not synced may be lost, but only the last
//! ones: a store that keeps a later one and loses an earlier one fails.
//!
//! The caller ([`World`]) starts the child and defines what a crash takes away. Nothing here
//! prints, reads a clock, or names a store.

mod hasty;
mod load;
mod model;
mod operation;
mod rounds;
mod verdict;

pub use hasty::Hasty;
pub use load::{Acknowledged, load};
pub use model::Model;
pub use operation::{Operation, Shape};
pub use rounds::{Round, Stopped, Summary, World, check};
pub use verdict::{Promised, Violation, judge};
