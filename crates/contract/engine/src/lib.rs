//! The contract between the runner and every way of reaching storage.
//!
//! An [`Engine`] is cold: a constant description and `open`. A [`Lane`] is hot: owned by one
//! thread, monomorphised into the runner's loop, with the operations submit, flush and reap.
//! Engines never print, never allocate between `open` and drop, and read a clock only to end a
//! wait. Those with a client of something remote write a [`LaneClient`]. The [`conformance`] module
//! holds the tests that every engine instantiates.

mod client_lane;
pub mod conformance;
mod description;
pub mod file_calls;
mod finished;
mod lane;
pub mod mailbox;
mod op;
mod trim_ranges;
pub mod waiting;
mod zones;

pub use client_lane::{ClientLane, LaneClient};
pub use description::{Capabilities, EngineDescription, EngineProbe, FileEffect, FileUse, Need, Polling};
pub use finished::CompletionRow;
pub use iolab_memory::{PoolView, SlotPool};
pub use lane::{
    Completions, DeviceFacts, Engine, EngineLibrary, Lane, LaneError, LaneRequest, OpenError, Submission, TargetFile,
    Wait,
};
pub use op::{Completion, Extent, Op, OpKind, io_priority, pack_priority};
pub use trim_ranges::TrimRanges;
pub use zones::{DeviceZones, ZoneCall, ZoneKind, ZoneStatus};
