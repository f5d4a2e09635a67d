//! `zonemode=zbd`: writes go to the write pointers of zones, whatever offset the pattern drew.
//!
//! ```text
//!  pattern ─ op ─▶ [Placing] ─ op at a write pointer ─▶ the loop ─▶ lane
//!                     │ ▲ completions
//!                     ▼ │
//!                  [ZoneTable], shared by all workers on the device
//! ```
//!
//! Guarantees: at most one write of a zone is in flight, from whichever worker, so writes of a zone
//! are sequential on every device. No more zones are open than the plan allows. A zone is reset
//! only when nobody reads it or writes to it.

mod placing;
mod share;
mod table;

pub(crate) use placing::{Placing, begin};
pub(crate) use share::{ZoneShares, shares};
pub(crate) use table::ZoneTable;
