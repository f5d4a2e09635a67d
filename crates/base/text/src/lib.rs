//! Counts, amounts and tables as people read them, indented JSON, the names of error numbers, and
//! Base64.
//!
//! Text for people, but for JSON and Base64: what the job language reads back is printed by
//! `units`, and so are measured times. Nothing here knows a locale.

mod amounts;
pub mod base64;
mod columns;
mod counted;
mod errno;
mod indented;
mod nearest;
mod wrapping;

pub use amounts::{exact_bytes, exact_ns, grouped, rounded_bytes, size_text};
pub use columns::{Alignment, aligned};
pub use counted::{counted, every, noun};
pub use errno::errno_by_name;
pub use indented::indented;
pub use nearest::closest;
pub use wrapping::{USUAL_COLUMNS, paragraph};
