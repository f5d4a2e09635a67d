//! What a worker counts during a run: latencies, totals, intervals, depths, logs. Each worker has
//! its own recorder.
//!
//! Four recorders serve the hot loop, chosen once from the plan: [`FullRecorder`] (all latencies,
//! nothing else), [`CountingRecorder`] (no latencies: fio's `gtod_reduce`), [`PerFileRecorder`]
//! (all latencies, and each file's) and [`DetailedRecorder`] (any subset of latencies, response
//! time, log files, a latency limit). None allocates per operation, reads a clock or knows an
//! engine: stamps come from the runner.

mod block_errors;
mod detailed;
mod files;
mod interval_stream;
mod intervals;
mod latencies;
mod logs;
mod priorities;
mod recorder;
mod spool;
mod tally;

pub use detailed::DetailedRecorder;
pub use files::PerFileRecorder;
pub use interval_stream::IntervalStream;
pub use intervals::{IntervalSeries, Totals};
pub use recorder::{CountingRecorder, FullRecorder, LatencyExceeded, Recorder, Run, Sample};
pub use tally::WorkerCounters;
