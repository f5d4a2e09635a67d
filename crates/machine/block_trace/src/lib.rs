//! Every request of a block device, from issue to completion, by the kernel's tracepoints: how
//! long, how large.
//!
//! ```text
//!  tracefs: id and layout of block_rq_issue, block_rq_complete          (format.rs)
//!     └─▶ perf_event_open on each CPU, both events into one ring        (kernel/perf_events)
//!            └─▶ records ordered by time ─▶ issue and completion paired by device and sector ─▶ histograms   (pairing.rs)
//! ```
//! A device without a request queue (zram, device mapper) has no such events; of it, what file
//! systems hand it is followed instead (`block_bio_queue`, `block_bio_complete`): the same figures
//! of another thing, and [`Tracer::follows`] says so. Events that the kernel dropped because nobody
//! read them in time are counted; the requests they belonged to are in no histogram. A kernel may
//! leave an event out without a word, too: perf keeps events of one context from nesting, and one
//! seen here (Linux 6.18) passes over some completions that a soft interrupt does on top of another
//! task, a few in ten thousand, which tracefs shows. Such requests are in no histogram either. See
//! perf_event_open(2) and include/trace/events/block.h of Linux.
//!
//! Not here: deciding when to read, and what the figures mean.

mod error;
mod format;
mod pairing;
mod tracer;

pub use error::TraceError;
pub use tracer::{Follows, Tracer};
