//! Whether the figures of a recording can be trusted: rules, evidence, consequence, advice.
//!
//! [`find`] checks a recording against every rule of [`RULES`]. It returns what a reader must know
//! before believing the figures, with the numbers as evidence. A rule looks at counters and
//! histograms, never at names of devices or at expected speeds; it finds nothing where the
//! recording lacks what it looks at. [`limits()`] answers another question: what kept the run from
//! being faster. Nothing here measures, does I/O, or changes a figure.

mod between;
mod experiment;
mod facts;
mod judgement;
mod limits;
mod many_hosts;
mod reference;
mod rules;
mod table;
mod text;
mod traffic;
mod wording;

pub use between::{BETWEEN_RUNS, Reached, Words, by_target, different_targets};
pub use judgement::find;
pub use limits::{Bottleneck, BottleneckKind, limits};
pub use reference::{all_words, reference_page};
pub use rules::RuleMatch;
pub use table::{RULES, Rule};
pub use text::{findings_text, limits_text};
