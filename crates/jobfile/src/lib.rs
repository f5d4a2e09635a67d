//! The job language: fio's job files and command line, read into typed settings with the place of each.
//!
//! `text → JobSet`. No I/O (includes and the environment come through [`Surroundings`]), no clock, no defaults:
//! `resolve` turns a [`JobSet`] into a plan. The option table is [`OPTIONS`].

mod job_set;

pub use job_set::{Diagnostic, JobSection, JobSet, Severity, Surroundings};
