//! How fast is this storage? Profiles of patterns, the order of measurements, and the presentation
//! of results.
//!
//! Everything here turns values into values. The caller makes a safe [`MeasuredTarget`], and runs
//! the job that [`words`] describes; [`measure`] says which job comes when. [`card()`], [`json()`]
//! and [`page()`] are functions of the [`BenchResults`]. Nothing here compares two runs: that is
//! what studies are for.

mod card;
mod drives;
mod json;
mod measured;
mod page;
mod profiles;
mod results;
mod sequence;

pub use card::card;
pub use drives::{Likeness, likeness};
pub use json::json;
pub use measured::{MeasuredTarget, fill_words, words};
pub use page::page;
pub use profiles::{AccessPattern, BenchPattern, BenchProfile, PROFILES, Procedure, RoundPlan};
pub use results::{BenchResults, Case, KnownDrive, PatternSample, Reading, RunFindings};
pub use sequence::{MeasuredRounds, measure};

#[cfg(test)]
mod tests;
