//! The vocabulary of option tables: entries, kinds of values, and values.
//!
//! A table is a `static` slice of [`OptionEntry`]. The job language's table is in `jobfile`, an
//! engine's own table in that engine's crate. Help, the manual page, completions, `explain` and the
//! reference docs are all generated from these entries, and each entry contains the examples that
//! test it. This crate parses nothing and decides nothing: `jobfile` turns text into [`Value`]s by
//! [`ValueKind`], and `resolve` turns values into a plan.

mod engine_traits;
mod entry;
mod line;
mod percent;
mod rank;
mod secrets;
mod settings;
mod value;

pub use engine_traits::{EngineTraits, PageCache, Reach};
pub use entry::{AUTOMATIC, Category, Choice, DefaultValue, OptionEntry, SupportStatus, TimeUnit, ValueKind};
pub use line::{NotALine, job_line};
pub use percent::Percent;
pub use rank::Rank;
pub use secrets::{HIDDEN, address_passwords, without_passwords};
pub use settings::{Setting, Settings};
pub use value::{
    BlockSplit, Direction, Distribution, PerDirection, RateProcess, SizeSpec, SplitShare, Value, ZoneShare,
};
