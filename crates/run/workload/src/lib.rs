//! The deterministic stream of operations of one worker, and the contents of its written buffers.
//!
//! [`OpStream`] turns a [`iolab_plan::WorkloadPlan`], the extents of the files and the limits of a
//! pass into batches of [`iolab_engine::Op`]; [`BufferFiller`] turns a [`iolab_plan::BufferPlan`]
//! into bytes. The same plan and seed give the same stream and the same bytes on every machine:
//! even the transcendental functions are this crate's own. Nothing here does I/O, reads a clock or
//! allocates after construction.
//!
//! A stream is assembled once, from parts chosen by the plan, and compiled for that combination:
//!
//! ```text
//!   directions ─┐
//!   files ──────┤
//!   placement ──┼─▶ stream ─▶ [pairs] ─▶ [cadence] ─▶ OpBatch
//!   sizes ──────┘           trimwrite     syncs
//! ```

mod assemble;
mod batch;
mod bitmap;
mod buffers;
mod cadence;
mod curves;
mod directions;
mod distribution;
mod error;
mod files;
mod lfsr;
mod op_stream;
mod pairs;
mod permutation;
mod placement;
mod priorities;
mod random;
mod shape;
mod sizes;
mod stream;
mod within;

pub use batch::OpBatch;
pub use buffers::BufferFiller;
pub use error::WorkloadError;
pub use iolab_engine::Extent;
pub use op_stream::OpStream;
pub use shape::PassLimits;
pub use stream::Source;
