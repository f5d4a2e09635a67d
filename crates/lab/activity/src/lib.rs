//! What the activities of this district share: how they fail, whom they tell what goes on, and how
//! far they are.
//!
//! An activity prints nothing and does not end the program. It returns a [`Failure`], and says what
//! a person should know meanwhile to a [`Console`]. The program decides how both are shown.

mod console;
mod failure;
mod progress;

pub use console::{Console, Silent};
pub use failure::{Failure, FailureContext, FailureKind};
pub use progress::{ProgressLine, ProgressUnit, RateEstimate, watched};
