//! The registers of a BAR: mapped where the kernel allows it, accessed by calls elsewhere.
//!
//! If a BAR also holds the MSI-X table, only the rest may be mapped. The kernel then lists the
//! mappable parts (`VFIO_REGION_INFO_CAP_SPARSE_MMAP`).

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use iolab_memory::{MappingAccess, SharedBytes};

use crate::abi::{self, REGION_CAP_SPARSE_MMAP, REGION_MAPPABLE};
use crate::capability::Capabilities;

/// The result of a read without a device, as on the bus.
const NOTHING: u32 = u32::MAX;
const PAGE: u64 = 4096;

/// Where a region is in the device's file, and which parts of it can be mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// Offset in the region, and length in bytes.
    pub(crate) mappable: Vec<(u64, u64)>,
}

impl Region {
    /// Decodes the kernel's answer to `VFIO_DEVICE_GET_REGION_INFO`.
    pub(crate) fn parse(answer: &[u32]) -> Region {
        let (bytes, start) = (abi::wide(answer, 4), abi::wide(answer, 6));
        let areas = Capabilities::of(answer, answer[3]).pairs(REGION_CAP_SPARSE_MMAP).unwrap_or(vec![(0, bytes)]);
        let whole_pages = |&(offset, length): &(u64, u64)| {
            offset.is_multiple_of(PAGE) && length >= PAGE && offset.checked_add(length).is_some_and(|end| end <= bytes)
        };
        let may_map = answer[1] & REGION_MAPPABLE != 0;
        let mappable = areas.into_iter().filter(whole_pages).filter(|_| may_map).collect();
        Region { start, bytes, mappable }
    }
}

#[derive(Debug)]
pub(crate) struct Registers {
    device: Arc<OwnedFd>,
    region: Region,
    /// The mapped parts: offset in the region, and the memory.
    mapped: Vec<(u64, SharedBytes)>,
}

impl Registers {
    /// Maps the parts that can be mapped. Other parts are accessed by calls.
    pub(crate) fn of(device: Arc<OwnedFd>, region: Region) -> io::Result<Registers> {
        let mut mapped = Vec::new();
        for &(offset, bytes) in &region.mappable {
            let file = device.try_clone()?;
            let memory = SharedBytes::of_file(file, region.start + offset, bytes as usize, MappingAccess::ReadWrite);
            mapped.extend(memory.ok().map(|memory| (offset, memory)));
        }
        Ok(Registers { device, region, mapped })
    }

    /// The mapped bytes from `offset` to the end of the mapped part, if they include `at_least`
    /// bytes.
    pub(crate) fn window(&self, offset: u32, at_least: usize) -> Option<SharedBytes> {
        let offset = u64::from(offset);
        self.mapped.iter().find_map(|(start, memory)| {
            let within = usize::try_from(offset.checked_sub(*start)?).ok()?;
            let rest = memory.len().checked_sub(within).filter(|rest| *rest >= at_least)?;
            memory.window(within, rest)
        })
    }

    pub(crate) fn read_u32(&self, offset: u32) -> u32 {
        if let Some(memory) = self.window(offset, 4) {
            return memory.load_u32(0, Ordering::Acquire);
        }
        let mut bytes = [0; 4];
        match self.place(offset).map(|place| rustix::io::pread(self.device.as_fd(), &mut bytes, place)) {
            Some(Ok(4)) => u32::from_le_bytes(bytes),
            _ => NOTHING,
        }
    }

    pub(crate) fn write_u32(&self, offset: u32, value: u32) {
        if let Some(memory) = self.window(offset, 4) {
            memory.store_u32(0, value, Ordering::Release);
        } else if let Some(place) = self.place(offset) {
            // A write that does not arrive is silently lost, as on the bus. The driver notices it
            // in its next read.
            let _ = rustix::io::pwrite(self.device.as_fd(), &value.to_le_bytes(), place);
        }
    }

    /// Offset of a register in the device's file, if the register exists.
    fn place(&self, offset: u32) -> Option<u64> {
        (u64::from(offset) + 4 <= self.region.bytes).then_some(self.region.start + u64::from(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A region of four pages at 1 MiB, mappable except for its third page if `sparse`.
    fn answer(sparse: bool) -> Vec<u32> {
        let mut words = vec![0, 7, 0, 0, 0x4000, 0, 0x10_0000, 0];
        if sparse {
            words[3] = 32;
            words.extend([1 | 1 << 16, 0, 2, 0, 0, 0, 0x2000, 0, 0x3000, 0, 0x1000, 0]);
        }
        words
    }

    #[test]
    fn regions_are_mapped_as_far_as_the_kernel_allows() {
        assert_eq!(Region::parse(&answer(false)).mappable, [(0, 0x4000)]);
        let region = Region::parse(&answer(true));
        assert_eq!((region.start, region.bytes), (0x10_0000, 0x4000));
        assert_eq!(region.mappable, [(0, 0x2000), (0x3000, 0x1000)]);
        let mut none = answer(true);
        none[1] = 3;
        assert!(Region::parse(&none).mappable.is_empty());
        let mut outside = answer(true);
        outside[16] = 0x8000;
        assert_eq!(Region::parse(&outside).mappable, [(0, 0x2000)]);
    }

    #[test]
    fn registers_are_the_same_words_mapped_or_not() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(0x10_4000).unwrap();
        let device: Arc<OwnedFd> = Arc::new(file.into());
        let mapped = Registers::of(Arc::clone(&device), Region::parse(&answer(true))).unwrap();
        let mut region = Region::parse(&answer(true));
        region.mappable.clear();
        let by_calls = Registers::of(device, region).unwrap();
        for offset in [0, 0x1ffc, 0x2000, 0x3010] {
            mapped.write_u32(offset, 0x1234_0000 + offset);
            assert_eq!(by_calls.read_u32(offset), 0x1234_0000 + offset);
            by_calls.write_u32(offset, offset);
            assert_eq!(mapped.read_u32(offset), offset);
        }
        for registers in [&mapped, &by_calls] {
            assert_eq!(registers.read_u32(0x4000), NOTHING, "behind the end");
            registers.write_u32(0x4000, 7);
        }
        assert_eq!(mapped.window(0x1000, 8).unwrap().len(), 0x1000, "to the end of the part");
        assert!(mapped.window(0x2000, 4).is_none() && by_calls.window(0, 4).is_none());
    }
}
