//! The table in which the driver describes requests, one descriptor for each tag.
//!
//! Mapped from `/dev/ublkcN`. The driver writes a descriptor before it completes the tag's command,
//! and does not change it until the tag is committed.
//!
//! Unsafe: maps memory and reads what the kernel writes there.
#![allow(unsafe_code, reason = "island: a mapping that the driver writes")]

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;

use crate::ublk::abi::{DESCRIPTOR_BYTES, Descriptor, MOST_DEPTH};

/// The table.
#[derive(Debug)]
pub(crate) struct Descriptors {
    base: NonNull<u8>,
    tags: usize,
    mapped_bytes: usize,
}

impl Descriptors {
    /// Maps the table of a queue of a device. Tables are as far apart as the longest possible one
    /// needs.
    pub(crate) fn map(fd: RawFd, queue: u16, tags: usize) -> io::Result<Descriptors> {
        let offset = i64::from(queue) * (MOST_DEPTH * DESCRIPTOR_BYTES) as i64;
        let mapped_bytes = (tags * DESCRIPTOR_BYTES).next_multiple_of(4096);
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), mapped_bytes, libc::PROT_READ, flags, fd, offset) };
        match NonNull::new(address.cast()) {
            Some(base) if address != libc::MAP_FAILED => Ok(Descriptors { base, tags, mapped_bytes }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The request of a tag. The driver must have completed the tag's command.
    #[inline]
    pub(crate) fn get(&self, tag: u16) -> Descriptor {
        let tag = usize::from(tag);
        assert!(tag < self.tags, "tag {tag} of {}", self.tags);
        // SAFETY: the tag was checked against the table, which is mapped as long as this value
        // lives; the driver does not write a descriptor between completing its tag and the next
        // commit of it.
        let bytes = unsafe { self.base.add(tag * DESCRIPTOR_BYTES).cast::<[u8; DESCRIPTOR_BYTES]>().read_volatile() };
        Descriptor::parse(&bytes)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping made in `map`, unmapped once, here.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_tag_is_found_in_the_table() {
        let file = memfd_create("table", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 4096).unwrap();
        rustix::io::pwrite(&file, &[5, 0, 0, 0, 9], 24).unwrap();
        let table = Descriptors::map(file.as_raw_fd(), 0, 2).unwrap();
        assert_eq!(table.get(1), Descriptor { operation: 5, sectors: 9, start_sector: 0 });
        assert_eq!(table.get(0), Descriptor { operation: 0, sectors: 0, start_sector: 0 });
        ftruncate(&file, 2 * 98_304 + 4096).unwrap();
        rustix::io::pwrite(&file, &[1, 0, 0, 0, 7], 2 * 98_304).unwrap();
        let table = Descriptors::map(file.as_raw_fd(), 2, 2).unwrap();
        assert_eq!(table.get(0), Descriptor { operation: 1, sectors: 7, start_sector: 0 }, "the third queue's");
    }

    #[test]
    #[should_panic(expected = "tag 2 of 2")]
    fn a_tag_beyond_the_table_is_a_bug() {
        let file = memfd_create("table", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 4096).unwrap();
        Descriptors::map(file.as_raw_fd(), 0, 2).unwrap().get(2);
    }
}
