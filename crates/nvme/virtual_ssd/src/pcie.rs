//! The PCIe front: registers, rings and doorbells in, commands and data windows out.
//!
//! ```text
//! registers, doorbells ─▶ Controller   CC, admin queue ─▶ AdminExecutor
//!                     └─▶ Dispatcher   I/O queues      ─▶ IoExecutor ─▶ completions at their time
//!                          └─ PcieData: PRPs and SGLs as data windows
//! ```
//!
//! [`Embedded`] and [`Threaded`] put a controller behind a PCI function of this process.
//! Deliberately not here: what commands do. That is behind `AdminExecutor` and `IoExecutor`, which
//! know nothing of this front.

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
