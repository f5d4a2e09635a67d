//! The engines on the plain system calls: `sync`, `psync`, `vsync`, `pvsync`, `pvsync2` and
//! `splice`.
//!
//! | engine | a read or write becomes | else |
//! | --- | --- | --- |
//! | [`Sync`] | `read(2)`, `write(2)` | `lseek(2)` first, unless the file is already at the offset |
//! | [`Psync`] | `pread64(2)`, `pwrite64(2)` | |
//! | [`Vsync`] | `readv(2)`, `writev(2)` of a run of adjacent operations | `lseek(2)` as for `sync` |
//! | [`Pvsync`] | `preadv(2)`, `pwritev(2)` | |
//! | [`Pvsync2`] | `preadv2(2)`, `pwritev2(2)` with flags | |
//! | [`Splice`] | `splice(2)` and `vmsplice(2)` through a pipe | |
//!
//! Trims and syncs are those of `iolab-engine`: `BLKDISCARD` or a punched hole, `fsync`,
//! `fdatasync`, `sync_file_range`. Interrupted calls are repeated, short transfers are reported as
//! such, errors as negative errno. The thread's own I/O priority applies:
//! [`iolab_engine::Op::priority`] is ignored, because these calls take none.
#![allow(unsafe_code, reason = "island: read, write, lseek, splice and their vectored kin on slot buffers")]

mod direct_offset;
mod engines;
mod lane;
mod pvsync2;
mod seeking;
mod splicing;
mod vsync;

pub use direct_offset::{Pread, Preadv};
pub use engines::{Psync, Pvsync, Pvsync2, Splice, Sync, Vsync};
pub use lane::{PosixLane, Stretch, Transfer};
pub use pvsync2::{PVSYNC2_OPTIONS, Preadv2};
pub use seeking::Seeking;
pub use splicing::Spliced;
pub use vsync::VsyncLane;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod conformance {
    use super::{Psync, Pvsync, Pvsync2, Splice, Sync, Vsync};

    iolab_engine::conformance_suite!(sync, Sync);
    iolab_engine::conformance_suite!(psync, Psync);
    iolab_engine::conformance_suite!(psync_direct, Psync, ConformanceSetup::default().direct());
    iolab_engine::conformance_suite!(vsync, Vsync);
    iolab_engine::conformance_suite!(vsync_direct, Vsync, ConformanceSetup::default().direct());
    iolab_engine::conformance_suite!(pvsync, Pvsync);
    iolab_engine::conformance_suite!(pvsync2, Pvsync2);
    iolab_engine::conformance_suite!(pvsync2_hipri, Pvsync2, ConformanceSetup::default().flag("hipri", true).direct());
    iolab_engine::conformance_suite!(splice, Splice);
    iolab_engine::conformance_suite!(splice_direct, Splice, ConformanceSetup::default().direct());
}
