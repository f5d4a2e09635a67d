//! Crash consistency of a store: a load that is killed at any moment, and what must be there
//! afterwards.
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
//! Operations are numbered and follow from a seed, so that parent and child know the same ones. One
//! thread writes them, so that their order is known; each is one batch, and whether it is synced is
//! the seed's business, too. Operations that were not synced may be lost, but only the last ones: a
//! store that keeps a later one and loses an earlier one fails.
//!
//! What starts the child, and what a crash takes away, is the caller's ([`World`]). Nothing here
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
