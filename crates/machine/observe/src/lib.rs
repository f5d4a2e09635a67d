//! What is known of the machine without measuring it: host facts, the block devices below a path
//! with their counters, processes with their processor time, and properties of paths.
//!
//! Everything is read from `/proc`, `/sys` and ordinary system calls through [`System`], whose root
//! can be a fixture tree. What cannot be read is reported as absent, never as an error that stops a
//! run. Nothing here makes decisions, reads a clock, or prints.

mod block_tree;
mod counters;
mod device_number;
mod device_sampler;
mod file_facts;
mod file_id;
mod host;
mod identity;
mod machine;
mod mounts;
mod names;
mod network;
mod processes;
mod sampling;
mod sock_diag;
mod system;
mod throttling;
mod zoned;

pub use block_tree::{BlockDeviceFacts, folder_names, partitions};
pub use device_number::DeviceNumber;
pub use device_sampler::DeviceSampler;
pub use file_facts::{
    DirectIo, FileFacts, FileKind, direct_io_at, file_facts, files_below, free_bytes, logical_block_bytes,
};
pub use file_id::FileId;
pub use host::{host_name, locked_memory_limit, page_bytes};
pub use identity::HARDWARE_QUEUES;
pub use machine::{CpuActivity, CpuTicks};
pub use mounts::{MountEntry, Swap};
pub use network::NetworkSampler;
pub use processes::{ProcessTime, RunAndWait, descendants};
pub use sampling::Sampler;
pub use sock_diag::unix_socket_ends;
pub use system::System;
#[cfg(any(test, feature = "fixtures"))]
pub use system::fixtures::Fixture;
pub use zoned::ZonedDisk;
