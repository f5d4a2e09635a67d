//! A trace as text for people: one line for each operation, or a summary.
//!
//! A [`Summary`] takes operations one by one and keeps only counts, so that its memory does not
//! depend on the length of the trace. What a trace lacks is printed before its content. Not here:
//! what the figures mean for a job.

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
