//! Whether a job does what an application does.
//!
//! ```text
//!  job, application in turns ─▶ Blocks: commits/s, device requests of each block  ─┐
//!  trace of the application, trace of the job ─▶ Fingerprint of each              ─┴▶ Validation ─▶ verdict, scores
//! ```
//! Disks of this world are another from minute to minute, so that a prediction is held against what
//! was observed beside it, not against a figure from before. A score is 1 where job and application
//! are the same: of rates, sizes and times the smaller over the larger, of shares what is left of
//! the difference, of distributions of sizes 1 minus the distance of Kolmogorov and Smirnov.
//!
//! Not here: how a trace is taken, and what is printed.

mod application;
mod blocks;
mod fingerprint;
mod validation;

pub use application::{Application, RateSource};
pub use blocks::{Block, DeviceRates, JobRuns, TurnsRequest, take_turns};
pub use fingerprint::{Fingerprint, kolmogorov_smirnov};
pub use validation::{Prediction, Score, Validation};
