//! The PCIe front: takes registers, rings and doorbells, and produces commands and data windows.
//!
//! ```text
//! registers, doorbells ─▶ Controller   CC, admin queue ─▶ AdminExecutor
//!                     └─▶ Dispatcher   I/O queues      ─▶ IoExecutor ─▶ completions at their time
//!                          └─ PcieData: PRPs and SGLs as data windows
//! ```
//!
//! [`Embedded`] and [`Threaded`] put a controller behind a PCI function of this process.
//! `AdminExecutor` and `IoExecutor` execute the commands, independently of this front.

mod controller;
mod copier;
mod data;
mod dispatcher;
mod embedded;
pub mod hostile;
mod queue;
mod registers;
mod threaded;

pub use controller::{Controller, ControllerError, Wiring};
pub use copier::Copier;
pub use dispatcher::Dispatcher;
pub use embedded::{Embedded, EmbeddedError};
pub use registers::{REGISTER_BYTES, Registers};
pub use threaded::{ThreadCounts, Threaded};
