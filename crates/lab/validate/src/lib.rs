//! Whether a job does what an application does.
//!
//! ```text
//!  job, application in turns ─▶ Blocks: commits/s, device requests of each block  ─┐
//!  trace of the application, trace of the job ─▶ Fingerprint of each              ─┴▶ Validation ─▶ verdict, scores
//! ```
//! The speed of real disks changes from minute to minute, so a prediction is compared with a
//! simultaneous observation, not with an earlier figure. A score is 1 if job and application are
//! the same: for rates, sizes and times the smaller over the larger, for shares 1 minus the
//! difference, for distributions of sizes 1 minus the distance of Kolmogorov and Smirnov.
//!
//! Not here: taking a trace, and printing.

mod application;
mod blocks;
mod fingerprint;
mod validation;

pub use application::{Application, RateSource};
pub use blocks::{Block, DeviceRates, JobRuns, TurnsRequest, take_turns};
pub use fingerprint::{Fingerprint, kolmogorov_smirnov};
pub use validation::{Prediction, Score, Validation};
