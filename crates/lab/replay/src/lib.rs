//! Traces as the operations of jobs.
//!
//! ```text
//!  before the run    trace ─▶ Feeder ─▶ Translation ─▶ survey: files, shares of threads, what is left out
//!  in each worker    trace ─▶ Feeder ─▶ Translation ─▶ Order ─▶ operations with times and gates ─▶ the runner's feed
//! ```
//! A trace is read in a stream, each time: memory does not grow with it. What other programs wrote
//! (fio's iolog, strace's text, blktrace's files) becomes a trace on the way, in a thread of its
//! own.
//!
//! Every worker reads the whole trace and keeps its own share, so that all of them count the
//! operations of the others alike: that is what the order around syncs is told in.

mod feeder;
mod order;
mod supply;
mod survey;
mod translation;

pub use supply::supply;
pub use survey::{overlaps, survey};
