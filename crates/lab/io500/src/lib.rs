//! The phases of IO500 as jobs of ranks, and its score.
//!
//! IO500 runs twelve phases of IOR, mdtest and a parallel find on one storage system. Here each is
//! a run of one job on all ranks, in the words of the job language, so that each has the recording,
//! the percentiles and the findings of any other run. The four phases that write first stop after
//! [`STONEWALL_SECONDS`] and wear out; how far they came is the size of all that follows.
//!
//! Pure: who runs the words, and where, is the program's business.

mod phase;
mod score;
#[cfg(test)]
mod tests;
mod text;

pub use phase::{Io500Phase, PHASES, PhaseKind, PhaseSizes};
pub use score::{Io500Score, PhaseResult, score};
pub use text::{phase_line, score_text, title_line};

/// How long the rules let phases write, s.
pub const STONEWALL_SECONDS: u64 = 300;
