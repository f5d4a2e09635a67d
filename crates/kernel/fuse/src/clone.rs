//! Another descriptor of the same connection (`FUSE_DEV_IOC_CLONE`, Linux 4.2). A request that is
//! read from it is answered through it. Threads that each have a descriptor share no kernel lock
//! for the requests in progress.
//!
//! Unsafe because it calls `ioctl` with the address of a descriptor's number.
#![allow(unsafe_code, reason = "island: FUSE_DEV_IOC_CLONE")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use crate::FuseError;
use crate::channel::Channel;

/// `_IOR(FUSE_DEV_IOC_MAGIC, 0, uint32_t)` of `include/uapi/linux/fuse.h`.
const FUSE_DEV_IOC_CLONE: u32 = 2 << 30 | 4 << 16 | 229 << 8;

impl Channel {
    /// Creates another channel of this connection.
    ///
    /// # Errors
    /// The error of opening or cloning.
    pub fn another(&self) -> Result<Channel, FuseError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = rustix::fs::open("/dev/fuse", flags, Mode::empty());
        let fd: OwnedFd = opened.map_err(|error| FuseError::NoFuse(error.into()))?;
        let number = self.fd.as_raw_fd() as u32;
        // SAFETY: the call reads the four bytes of `number`, which outlives the call.
        if unsafe { libc::ioctl(fd.as_raw_fd(), FUSE_DEV_IOC_CLONE as libc::Ioctl, &raw const number) } < 0 {
            return Err(FuseError::Connection("FUSE_DEV_IOC_CLONE", io::Error::last_os_error()));
        }
        Ok(Channel { fd })
    }
}
