//! The job language: fio's job files and command line, parsed into typed settings, each with its
//! place in the source.
//!
//! `text → JobSet`. No I/O (includes and the environment come through [`Surroundings`]), no clock,
//! no defaults: `resolve` turns a [`JobSet`] into a plan. The option table is [`OPTIONS`].
//! Everything about options (parsing, help, reference, spelling advice, their tests) is derived
//! from it.

mod collect;
pub mod command_line;
mod expand;
mod fuzz;
pub mod help;
mod job_set;
mod options;
mod parse;
mod raw;
mod reader;
mod render;
mod secret_names;
mod secrets;
mod values;

#[cfg(test)]
mod test_surroundings;
#[cfg(test)]
mod tests;

pub use fuzz::fuzz_entry;
pub use job_set::{
    Diagnostic, DiagnosticSeverity, Expansion, JobSection, JobSet, KeywordFacts, ParseFailure, Surroundings,
};
pub use options::{DEVICE_PREFIX, OPTIONS, find_option, suggest};
pub use parse::{Input, ParseRequest, parse, without_effect};
pub use reader::OWN_LINE;
pub use render::render;
pub use secrets::SecretSetting;
pub use values::{NumberRules, ValueError, canonical, default_value, parse_value, pattern_bytes};
