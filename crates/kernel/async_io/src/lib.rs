//! Asynchronous interfaces of the kernel: native AIO for engines and disks, and io_uring commands
//! for servers of kernel drivers.

pub mod command_ring;
pub mod native_aio;
