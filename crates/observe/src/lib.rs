//! What iolab can know of the machine without measuring it: host facts, the block devices under a path and
//! their counters, what a path is, and whether writing to it would destroy something.
//!
//! Everything is read from `/proc`, `/sys` and ordinary system calls through [`System`], whose root can be a
//! fixture tree. What cannot be read is reported as absent, never as an error that stops a run: only the
//! safety check ([`System::hazards`]) says so when it could not look.
//! Nothing here decides what to do about a hazard, reads a clock, or prints.

mod block_tree;
mod counters;
mod device_sampler;
mod file_facts;
mod hazard;
mod host;
mod layout_mark;
mod machine;
mod mounts;
mod names;
mod sampling;
mod signature;
mod system;
mod throttling;

pub use block_tree::{BlockDevice, DeviceNumber};
pub use device_sampler::DeviceSampler;
pub use file_facts::{
    DirectIo, FileFacts, FileKind, direct_io_at, file_facts, files_below, free_bytes, logical_block_bytes,
};
pub use hazard::{Hazard, WriteTarget};
pub use host::{locked_memory_limit, page_bytes};
pub use layout_mark::{LayoutMark, MARK_NAME, is_fio_generated_name, layout_mark, mark_layout};
pub use machine::CpuTicks;
pub use mounts::{Mount, Swap};
pub use sampling::Sampler;
pub use signature::{SIGNATURE_BYTES, signatures};
pub use system::System;
