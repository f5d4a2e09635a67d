//! Memory the kernel or a device works on: aligned slot pools, bytes shared with a device, pages shared between
//! processes.
//!
//! Unsafe island: it maps memory and hands out raw pointers, because a buffer is written by the kernel
//! while no Rust reference to it exists. It does not know what the bytes mean.
#![allow(unsafe_code)] // island: mmap and raw slot pointers

mod shared;
mod shared_bytes;
mod slot_pool;

pub use shared::{SharedRegion, SharedState};
pub use shared_bytes::{Access, PageSize, SharedBytes, SharedWord};
pub use slot_pool::{Backing, PoolError, PoolView, SlotPool};
