//! Counts, amounts and tables as people read them.
//!
//! Text for people only: what the job language reads back is printed by `units`, and so are
//! measured times. Nothing here knows a locale.

mod amounts;
mod columns;
mod wrapping;

pub use amounts::{exact_bytes, exact_ns, grouped, rounded_bytes};
pub use columns::{Side, aligned};
pub use wrapping::{USUAL_COLUMNS, paragraph};
