//! Decides what may be written to: every write, extension and removal of a job's files and devices
//! goes through here.
//!
//! ```text
//! path ─ opening ─▶ open file ─ guard ─▶ may be changed? ─▶ the same open file, for the job
//!        no unwanted          by identity, mark,
//!        links                content, use
//! ```
//!
//! Names do not matter here. What matters is the open file or device ([`Identity`]), the mark that
//! iolab leaves on files that it creates ([`mark_layout`]), whether data would be lost, and whether
//! it is in use. [`Guard::judge`] checks before a run and changes nothing; [`Guard::open`] and
//! [`Guard::remove`] judge again what they open, so that a file that was replaced in between is
//! also judged. [`shortages`] says whether there is enough space for what a run will write. The
//! first bytes of a device without a kernel driver show what it contains ([`signatures`]).

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
pub use room::{FileSystemRoom, Shortage, SpaceNeed, rooms, shortages};
pub use signature::{SIGNATURE_BYTES, signatures};
