//! Tracepoints of the kernel by perf events: where the fields of their records are, and the rings
//! that they are written into.
//!
//! ```text
//!  tracefs: id and layout of a tracepoint  ─▶ TracepointLayout      (layout.rs)
//!  perf_event_open on a CPU                ─▶ Ring        (ring.rs) ─▶ records, and how many were lost
//! ```
//! See perf_event_open(2) and Documentation/trace/events.rst of Linux. The choice of tracepoints
//! and the meaning of their records are not here.

mod layout;
mod ring;

pub use layout::TracepointLayout;
pub use ring::{Ring, RingRecord, RingSize, RingTarget, Tracepoint, TracepointSample};
