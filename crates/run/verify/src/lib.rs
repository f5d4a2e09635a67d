//! What blocks hold that are to be verified, and what is wrong with a block that holds something
//! else.
//!
//! A write is cut into *intervals*, each with a [`Header`] and a checksum of its own. What is
//! between the headers follows from (seed, run, offset, generation), so that nothing has to be kept
//! of a write but the *generation* of its intervals: two bytes each, in a [`GenerationMap`].
//!
//! ```text
//!  a write of three intervals:   | header, data | header, data | header, data |
//!  with verify_offset:           | data, header, data | ...
//! ```
//!
//! | file | what it has |
//! | --- | --- |
//! | `recipe.rs` | fills blocks, checks blocks |
//! | `header.rs`, `kind.rs`, `content.rs`, `pattern.rs` | the parts of an interval |
//! | `known_sums.rs` | the sums of plain content, without reading it |
//! | `generations.rs` | what each interval must hold, shared between the workers of a file |
//! | `durability.rs` | what a loss of power may have left of each interval |
//! | `aftermath.rs` | whether an interval holds what it may hold then |
//! | `diagnosis.rs` | what kind of corruption a block shows |
//! | `sources.rs` | operations that read back, and that discard |
//!
//! Nothing here does I/O or reads a clock.

mod aftermath;
mod content;
mod diagnosis;
mod durability;
mod generations;
mod header;
mod kind;
mod known_sums;
mod pattern;
mod recipe;
mod sources;

pub use aftermath::Held;
pub use diagnosis::{BlockDamage, Interval, WantedContent};
pub use durability::{Completed, CrashBound, bound_of};
pub use generations::{Expected, GenerationMap, Word};
pub use header::Header;
pub use kind::checksum;
pub use recipe::{Mismatch, Recipe, Why};
pub use sources::{Beside, ReadBack, ReadKnown, simulate};
