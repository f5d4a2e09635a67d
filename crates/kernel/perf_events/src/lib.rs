//! Tracepoints of the kernel as perf events: the layout of their records, and the rings to which
//! they are written.
//!
//! ```text
//!  tracefs: id and layout of a tracepoint  ─▶ TracepointLayout      (layout.rs)
//!  perf_event_open on a CPU                ─▶ Ring        (ring.rs) ─▶ records, and how many were lost
//! ```
//! See perf_event_open(2) and Documentation/trace/events.rst of Linux. The choice of tracepoints
//! and the meaning of their records belong to the callers.

mod layout;
mod ring;

pub use layout::TracepointLayout;
pub use ring::{Ring, RingRecord, RingSize, RingTarget, Tracepoint, TracepointSample};
