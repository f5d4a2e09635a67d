//! What may be written to: one place that every write, extension and removal of a job's files and
//! devices goes through.
//!
//! ```text
//! path ─ opening ─▶ open file ─ guard ─▶ may be changed? ─▶ the same open file, for the job
//!        no link that         by identity, mark,
//!        nobody asked for     content, use
//! ```
//!
//! Names say nothing here: what counts is what is open ([`Identity`]), the mark that iolab leaves
//! on what it makes ([`mark_layout`]), whether data would be lost, and whether somebody uses it.
//! [`Guard::judge`] looks before a run and changes nothing; [`Guard::open`] and [`Guard::remove`]
//! judge again what they open, so that a file which was exchanged in between is judged, too.
//! [`shortages`] tells whether there is room for what a run will write. What a device without a
//! kernel driver holds is told by its first bytes ([`signatures`]).

mod guard;
mod hazard;
mod identity;
mod in_use;
mod loop_status;
mod mark;
mod opening;
mod request;
mod room;
mod signature;

pub use guard::{Guard, hazards_at};
pub use hazard::{Danger, Hazard};
pub use identity::Identity;
pub use mark::{LayoutMark, MARK_NAME, layout_mark, mark_layout};
pub use request::{GuardRules, GuardedPath, JudgedHazard, OpenMode, PathChange, Presence, Refusal, Removal};
pub use room::{Shortage, SpaceNeed, shortages};
pub use signature::{SIGNATURE_BYTES, signatures};
