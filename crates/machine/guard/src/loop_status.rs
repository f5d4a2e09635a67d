//! The file behind a loop device, as reported by the kernel (loop(4)): the inode, not the name it
//! once had.
//!
//! Unsafe because `LOOP_GET_STATUS64` fills a structure.
#![allow(unsafe_code, reason = "island: an ioctl that has no safe wrapper")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use iolab_observe::{DeviceNumber, FileId};

use crate::Identity;

/// `LOOP_GET_STATUS64` (linux/loop.h).
const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;

/// Words of `struct loop_info64` (linux/loop.h): 232 bytes, of which the first three words matter
/// here.
const INFO_WORDS: usize = 29;

/// The file behind the loop device at `node`; `None` if there is none, or if this process may not
/// ask.
pub(crate) fn backing(node: &Path) -> Option<Identity> {
    let node = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(node).ok()?;
    let mut info = [0_u64; INFO_WORDS];
    // SAFETY: the kernel writes one `struct loop_info64`, for which there is room, and keeps no
    // address.
    let answer = unsafe { libc::ioctl(node.as_raw_fd(), LOOP_GET_STATUS64, info.as_mut_ptr()) };
    let [device, inode, shown_device, ..] = info;
    match (answer, shown_device) {
        (0, 0) => Some(Identity::Inode(FileId { device, inode })),
        (0, shown) => Some(Identity::Device(DeviceNumber::from_raw(shown))),
        _ => None,
    }
}
