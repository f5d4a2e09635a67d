//! Traces as the operations of jobs.
//!
//! ```text
//!  before the run    trace ─▶ Feeder ─▶ Translation ─▶ survey: files, shares of threads, what is left out
//!  in each worker    trace ─▶ Feeder ─▶ Translation ─▶ Order ─▶ operations with times and gates ─▶ the runner's feed
//! ```
//! A trace is read as a stream, each time: memory does not grow with it. Other programs' records
//! (fio's iolog, strace's text, blktrace's files) are converted to a trace by a separate thread.
//!
//! Every worker reads the whole trace and keeps its own share, so that all of them count the
//! operations of the others in the same way: the order around syncs is expressed in these counts.

mod feeder;
mod merging;
mod order;
mod supply;
mod survey;
mod translation;

pub use merging::MergeOfTraces;
pub use supply::supply;
pub use survey::{overlaps, survey};
