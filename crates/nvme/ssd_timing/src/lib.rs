//! How long a storage device takes: timing models of SSDs in virtual time.
//!
//! A [`TimingModel`] computes when a [`TimedCommand`] that arrives now completes, and answers at
//! once. It never waits, reads no clock, starts no threads and stores no data. The same model can
//! therefore serve a virtual device that completes commands when they are due, and a study that
//! simulates a week of a drive's life in seconds.
//!
//! ```
//! use iolab_ssd_timing::{Capacity, TimingModel, Preset, TimedCommand, CompletionTime};
//!
//! let parameters = Preset::named("970pro")?.parameters();
//! let mut drive = TimingModel::build(&parameters, Capacity::Visible(8 << 30))?;
//! let CompletionTime::At(written_ns) = drive.schedule(1_000, &TimedCommand::write(0, 4096)) else { panic!("the buffer is empty") };
//! assert!(written_ns > 1_000);
//! # Ok::<(), iolab_ssd_timing::ParameterError>(())
//! ```
//!
//! Guarantees: the same parameters and requests at the same times give the same answers. A
//! completion is never before its request. Invalid parameters are typed errors when a model is
//! built. Source of the models, where they follow one: Kim et al., "NVMeVirt: A Versatile
//! Software-defined Virtual NVMe Device", FAST '23. The models know no NVMe, no queues, no data,
//! and no randomness.

#![forbid(unsafe_code)]

mod flash;
mod geometry;
pub mod help;
pub mod ideal;
mod link;
mod model;
pub mod nand;
pub mod parameters;
pub mod presets;
mod request;
pub mod simple;
mod statistics;
pub mod study;
mod write_buffer;
pub mod zoned;

pub use model::TimingModel;
pub use parameters::{Capacity, Fidelity, ModelKind, ParameterError, Parameters, VictimPolicy};
pub use presets::{DataSheet, Preset};
pub use request::{CommandKind, CompletionTime, TimedCommand};
pub use statistics::Statistics;
