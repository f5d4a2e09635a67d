//! From a trace to a job with the same effect on storage.
//!
//! ```text
//!  trace ─▶ Survey: roles of files, classes of threads, the stretch to look at      (first reading)
//!        ─▶ Gathered: sizes, places, syncs, gaps of each role and class             (second reading)
//!        ─▶ Model: a section for each, with the estimates and how sure they are ─▶ job_text
//! ```
//! A trace is read twice and never held in memory: memory grows with its files, threads and
//! distinct blocks, the last up to a limit.
//!
//! Estimates and assumptions are comments in the job file. Settings that fio's language lacks are
//! in lines that fio reads as comments (`#iolab: rewrite=8`). Not here: whether the job does what
//! the program did. `iolab validate` measures that.

mod computing;
mod estimate;
mod gather;
mod job_text;
mod model;
mod places;
mod roles;
mod section;
mod survey;

pub use computing::{Computing, LoadShares, ProcessorLoad};
pub use estimate::{Proportion, Typical};
pub use gather::Gathered;
pub use job_text::{JobTextRequest, job_text};
pub use model::{ModelError, ModelRequest, ProgramModel};
pub use places::{HotSet, Places};
pub use roles::{RoleRules, RolesError};
pub use section::{Pace, PlacePattern, Section, SyncRule};
pub use survey::{Survey, TraceStretch};
