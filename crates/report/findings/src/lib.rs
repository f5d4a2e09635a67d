//! What the figures of a recording are worth: rules, evidence, consequence, advice.
//!
//! [`find`] holds a recording against every rule of [`RULES`] and says what a reader must know
//! before believing its figures, with the numbers that say so. A rule looks at counters and
//! histograms, never at names of devices or at how fast something ought to be, and is silent where
//! the recording does not hold what it looks at. [`limits()`] asks the other question, what kept
//! the run from being faster. Nothing here measures, does I/O, or changes a figure.

mod between;
mod facts;
mod limits;
mod reference;
mod rules;
mod table;
mod text;
mod traffic;
mod wording;

pub use between::{BETWEEN_RUNS, Reached, Words, by_target, different_targets};
pub use limits::{Bottleneck, BottleneckKind, limits};
pub use reference::{all_words, reference_page};
pub use rules::RuleMatch;
pub use table::{RULES, Rule, find};
pub use text::{findings_text, limits_text};
