//! Linux's native AIO (io_submit(2), linux/aio_abi.h): contexts and their completion rings, without
//! libaio.
//!
//! The owner of an operation knows its meaning, and keeps its memory alive.
#![allow(unsafe_code, reason = "island: system calls with addresses, and a ring that the kernel writes")]

pub mod abi;
mod context;

pub use context::Context;
