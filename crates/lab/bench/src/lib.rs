//! How fast is this? Profiles of patterns, the sequence in which they are measured, and what is
//! said of the results.
//!
//! Everything here turns values into values. The caller makes a safe [`MeasuredTarget`], and runs the job
//! that [`words`] describes; [`measure`] says which job comes when. [`card()`], [`json()`] and
//! [`page()`] are functions of the [`Results`]. Nothing here compares two runs: that is what studies are for.

mod card;
mod drives;
mod json;
mod measured;
mod page;
mod profiles;
mod results;
mod sequence;

pub use card::card;
pub use drives::{KnownDrive, Likeness, likeness};
pub use json::json;
pub use measured::{MeasuredTarget, fill_words, words};
pub use page::page;
pub use profiles::{Access, PROFILES, Pattern, Procedure, Profile};
pub use results::{Case, Reading, Results, Sample, Seen};
pub use sequence::{Measured, Pace, measure};

#[cfg(test)]
mod tests;
