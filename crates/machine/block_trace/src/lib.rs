//! Traces every request of a block device from issue to completion with the kernel's tracepoints,
//! for its latency and size.
//!
//! ```text
//!  tracefs: id and layout of block_rq_issue, block_rq_complete          (format.rs)
//!     └─▶ perf_event_open on each CPU, both events into one ring        (kernel/perf_events)
//!            └─▶ records ordered by time ─▶ issue and completion paired by device and sector ─▶ histograms   (pairing.rs)
//! ```
//! A device without a request queue (zram, device mapper) has no such events. For it, the block I/O
//! that file systems submit is traced instead (`block_bio_queue`, `block_bio_complete`);
//! [`Tracer::follows`] says which of the two the figures describe. Events that the kernel dropped
//! because they were not read in time are counted; their requests are in no histogram. A kernel may
//! also omit an event silently: perf does not nest events of one context, and Linux 6.18 was seen
//! to omit a few in ten thousand completions that a soft interrupt handles on top of another task,
//! while tracefs shows them. Such requests are in no histogram either. See perf_event_open(2) and
//! include/trace/events/block.h of Linux.
//!
//! This crate does not decide when to read, and does not interpret the figures.

mod error;
mod format;
mod pairing;
mod tracer;

pub use error::TraceError;
pub use tracer::{Follows, Tracer};
