//! The `ioctl(2)` calls of VFIO, and the only unsafe code of this crate.
//!
//! The calls are unsafe because the kernel reads and writes the memory that the argument points to.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::abi::{GROUP_GET_DEVICE_FD, GROUP_SET_CONTAINER, bytes_of};

fn checked(answer: i32) -> io::Result<i32> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// A request whose argument is a number.
pub(crate) fn with_number(file: impl AsFd, request: u32, argument: u32) -> io::Result<i32> {
    // SAFETY: the requests this is used for (version, extension, kind of IOMMU, reset) take their
    // argument by value.
    checked(unsafe { libc::ioctl(file.as_fd().as_raw_fd(), request as libc::Ioctl, libc::c_ulong::from(argument)) })
}

/// A request whose argument is a structure that begins with its size.
///
/// The size in the first word must be that of `words`, or the call is refused: the kernel accesses
/// no more than that. The caller that builds a mapping request is responsible for what it lets a
/// device access (`crate::container`).
pub(crate) fn with_words(file: impl AsFd, request: u32, words: &mut [u32]) -> io::Result<i32> {
    if words.first() != Some(&bytes_of(words.len())) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: `words` is as long as its first word says, and is borrowed exclusively during the
    // call.
    checked(unsafe { libc::ioctl(file.as_fd().as_raw_fd(), request as libc::Ioctl, words.as_mut_ptr()) })
}

/// Adds a group to a container.
pub(crate) fn set_container(group: impl AsFd, container: impl AsFd) -> io::Result<()> {
    let container = container.as_fd().as_raw_fd();
    let request = GROUP_SET_CONTAINER as libc::Ioctl;
    // SAFETY: the argument points to one descriptor, which the kernel reads.
    checked(unsafe { libc::ioctl(group.as_fd().as_raw_fd(), request, &raw const container) })?;
    Ok(())
}

/// Opens a device of a group by its name.
pub(crate) fn device_of_group(group: impl AsFd, name: &CStr) -> io::Result<OwnedFd> {
    let request = GROUP_GET_DEVICE_FD as libc::Ioctl;
    // SAFETY: the argument is a C string, which the kernel reads.
    let device = checked(unsafe { libc::ioctl(group.as_fd().as_raw_fd(), request, name.as_ptr()) })?;
    // SAFETY: the kernel has just made this descriptor for this process, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(device) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_that_lies_about_its_size_never_reaches_the_kernel() {
        let file = std::fs::File::open("/dev/null").unwrap();
        for mut words in [vec![12, 0], vec![], vec![0, 0]] {
            let error = with_words(&file, crate::abi::GROUP_GET_STATUS, &mut words).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        let error = with_words(&file, crate::abi::GROUP_GET_STATUS, &mut [8, 0]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "an honest one does");
    }
}
