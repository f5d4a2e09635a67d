//! A trace as text for people: one line for each operation, or what all of them sum up to.
//!
//! A [`Summary`] takes operations one by one and keeps counts, so that a trace of any length is
//! summed up in the memory of its tables. What a trace does not have is said before what it has.
//! Not here: what the figures mean for a job.

mod coverage;
mod lines;
mod pattern;
mod picture;
mod summary;
mod tables;

pub use coverage::coverage;
pub use lines::{line, line_titles};
pub use pattern::Pattern;
pub use picture::{FilePicture, Picture, Slot};
pub use summary::{CallFigures, FileFigures, Summary, ThreadFigures};
