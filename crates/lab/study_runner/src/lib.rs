//! Runs studies: one job under several settings, in blocks, each trial in a process of its own.
//!
//! ```text
//! study file ─▶ reading ─▶ Study, job ─▶ cost (plans every configuration)
//!                                   └──▶ folder ─▶ trials ─▶ recordings ─▶ analysis, report
//! ```
//! The definition of a study, its design and the conclusions from its trials are in the crate
//! `study`, which does no I/O. This crate has what needs the machine: folders, processes, hooks.

mod begun;
pub mod bends;
mod collections;
mod cost;
mod default_folder;
mod device;
mod folder;
mod hooks;
mod place;
mod preconditioning;
mod progress;
mod reading;
pub mod report;
mod running;
mod trials;

pub use begun::BegunStudy;
pub use collections::{files_of, folders_of};
pub use default_folder::default_folder;
pub use device::with_device;
pub use folder::Folder;
pub use place::Permissions;
pub use reading::{StudyForm, begin, complete, lay_out, located, read};
pub use running::{StudyEnd, StudyRunner, results_json};
