//! Loads a key-value store as RocksDB's `db_bench` does, and reports more than it: the latency of
//! every operation, response times under a rate, the device's traffic, and the pending work of the
//! store.
//!
//! ```text
//! words ─ flags ─▶ Settings ─ session ─▶ BenchmarkResult … ─▶ lines of db_bench, JSON, a recording
//!                                │ threads: keys, values, meter
//!                                └ one store, shared
//! ```
//!
//! Flags, names, keys and result lines are those of `db_bench` according to its behaviour and
//! documentation, so that programs that call it or read its output still work. With the same seed,
//! random keys are the same.

mod benchmarks;
mod db_bench;
mod findings;
mod flags;
mod folder;
mod json;
mod keys;
mod lines;
mod loads;
mod meter;
mod recording;
mod result;
mod session;
mod settings;
mod store_options;
mod values;

pub use benchmarks::{BENCHMARKS, Benchmark, Load};
pub use db_bench::{TheirLine, may_replace, their_lines, their_words};
pub use findings::{all_findings, findings};
pub use flags::{FLAGS, Flag, FlagError, help};
pub use folder::TellError;
pub use json::{json, json_of_theirs};
pub use lines::{header, line};
pub use recording::{job_words, recording};
pub use result::{BenchmarkResult, Direction, Tally, ThreadResult};
pub use session::{Ended, Session};
pub use settings::{Distribution, Settings};
