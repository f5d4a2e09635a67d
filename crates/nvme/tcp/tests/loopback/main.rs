//! Tests of the driver with the target of this crate.
#![allow(clippy::unwrap_used, reason = "tests")]

mod access;
mod authentication;
mod contents;
mod failures;
mod hostile;
mod hosts;
mod links;
mod rig;
