//! The driver and the target of this crate against each other.
#![allow(clippy::unwrap_used, reason = "tests")]

mod authentication;
mod contents;
mod failures;
mod hostile;
mod hosts;
mod links;
mod rig;
