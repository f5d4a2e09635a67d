//! The content of blocks to be verified, and the diagnosis of a block with other content.
//!
//! A write is divided into *intervals*, each with its own [`Header`] and checksum. The content
//! between the headers follows from (seed, run, offset, generation). So the only thing to keep of a
//! write is the *generation* of its intervals: two bytes each, in a [`GenerationMap`].
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
//! | `generations.rs` | the expected content of intervals, shared by the workers of a file |
//! | `durability.rs` | what a loss of power may have left of each interval |
//! | `aftermath.rs` | whether an interval is admissible after a loss of power |
//! | `diagnosis.rs` | the kind of corruption of a block |
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
