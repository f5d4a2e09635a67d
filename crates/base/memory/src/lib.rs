//! Memory that the kernel or a device works on: aligned pools of slots, bytes shared with a device,
//! pages shared between processes.
//!
//! Unsafe island: it maps memory and returns raw pointers, because the kernel writes to buffers
//! while no Rust reference to them exists. It also turns the loss of a mapped page into an error.
//! It does not interpret the bytes.
#![allow(unsafe_code, reason = "island: mmap, raw slot pointers, and SIGBUS of mapped files")]

mod fault_watch;
mod shared;
mod shared_bytes;
mod slot_pool;

pub use fault_watch::{FaultWatch, Lost};
pub use shared::{SharedRegion, SharedState};
pub use shared_bytes::{MappingAccess, PageSize, SharedBytes, SharedWord, is_sealed};
pub use slot_pool::{Backing, PoolError, PoolView, SlotPool};
