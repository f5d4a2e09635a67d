//! What the activities of this district share: failures, messages to the user, and progress.
//!
//! An activity prints nothing and does not end the program. It returns a [`Failure`], and sends
//! messages to a [`Console`] meanwhile. The program decides how both are shown.

mod console;
mod failure;
mod progress;

pub use console::{Console, Silent};
pub use failure::{Failure, FailureContext, FailureKind};
pub use progress::{ProgressLine, ProgressUnit, RateEstimate, watched};
