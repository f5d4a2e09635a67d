//! The disk interface that a file system needs: aligned reads and writes, flushes and discards that
//! complete later.
//!
//! ```text
//!  owner ─ Request { tag, action with its buffer } ─▶ submit ┐
//!                                                            ├ device
//!  owner ◀─ Completion { tag, buffer, result } ◀──── reap ───┘
//! ```
//!
//! A request owns its buffer until its completion returns it, so that nothing else can access bytes
//! that a device works on. A [`BlockDevice`] is owned by one thread. Disks: [`RamDisk`];
//! [`UringDisk`] for files and block devices, without a copy; [`FileDisk`] where io_uring is not
//! permitted ([`open_disk()`] chooses); [`LaneDisk`] over any lane of an engine, which copies
//! between buffers and the lane's slots. Decorators: [`Counting`], [`Delayed`], [`Faulty`] and
//! [`Shuffled`]; [`Traced`], whose trace gives what a crash at any moment leaves; and [`Volatile`],
//! for which the end of the process is a power failure.
//!
//! A write is durable once a flush that was submitted after the write's completion has completed.
//! Nothing here caches or retries; small adjacent requests that go to a kernel together are merged.

#[cfg(test)]
mod agreement;
mod aio_disk;
mod buffer;
mod counting;
mod delayed;
mod device;
mod faulty;
mod file_disk;
mod flights;
mod lane_disk;
mod open_disk;
mod opened_file;
mod ram_disk;
mod shuffled;
mod traced;
mod uring_disk;
mod volatile;

pub use buffer::{Buffer, Divided};
pub use counting::{Counting, Counts};
pub use delayed::{Delayed, Delays};
pub use device::{Action, ActionKind, BlockDevice, DeviceError, DiskCompletion, DiskRequest, Geometry};
pub use faulty::Faulty;
pub use file_disk::FileDisk;
pub use flights::{MERGED_MOST_BYTES, UNMERGED_BYTES};
pub use lane_disk::LaneDisk;
pub use open_disk::open_disk;
pub use opened_file::{Caching, DiskOptions};
pub use ram_disk::RamDisk;
pub use shuffled::Shuffled;
pub use traced::{CrashPoints, Survival, Trace, Traced};
pub use uring_disk::UringDisk;
pub use volatile::Volatile;
