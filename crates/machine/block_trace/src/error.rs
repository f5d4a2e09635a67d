//! Why the requests of a device cannot be traced.

use std::io;
use std::path::PathBuf;

/// Why there are no request latencies.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The kernel's descriptions of its tracepoints cannot be read.
    #[error("cannot read tracefs ({path}: {source}): as root, run `mount -t tracefs none /sys/kernel/tracing`")]
    Tracefs {
        /// The last path tried.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A description lacks a field.
    #[error("the kernel's block tracepoints have no field {field}")]
    Format {
        /// The field.
        field: &'static str,
    },
    /// Tracepoints cannot be opened.
    #[error("cannot open tracepoints: {0}; they need root or CAP_PERFMON (perf_event_open(2))")]
    Open(io::Error),
    /// There is no device to trace.
    #[error("none of the devices can be traced")]
    NoDevice,
}
