//! A container: the IOMMU domain of a group, and the memory that its devices may access.
//!
//! The container holds a window of each mapped memory, so that it stays alive and pinned.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use iolab_memory::{MappingAccess, SharedBytes};
use iolab_pci_device::{DmaBuffer, DmaMapper, MapError};
use rustix::io::Errno;

use crate::abi::{self, IOMMU_CAP_IOVA_RANGES};
use crate::capability::Capabilities;
use crate::group::{Group, is, open_device_file};
use crate::{IovaRange, IovaSpace, PciAddress, VfioError, system_call};

/// The kernel's description of a device's IOMMU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IommuFacts {
    /// The bus addresses that it translates.
    pub ranges: Vec<IovaRange>,
    /// Its smallest page, in bytes.
    pub page_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Container {
    file: File,
    facts: IommuFacts,
    space: IovaSpace,
    mapped: BTreeMap<u64, SharedBytes>,
}

impl Container {
    /// Creates a container with a group.
    pub(crate) fn around(group: &Group) -> Result<Container, VfioError> {
        let file = open_device_file(Path::new("/dev/vfio/vfio"))?;
        let version =
            system_call::with_number(&file, abi::GET_API_VERSION, 0).map_err(VfioError::system("VFIO's version"))?;
        let has_model = system_call::with_number(&file, abi::CHECK_EXTENSION, abi::TYPE1V2_IOMMU)
            .map_err(VfioError::system("VFIO's IOMMU types"))?;
        if version != abi::API_VERSION || has_model == 0 {
            return Err(VfioError::Unsupported(format!(
                "the kernel's VFIO (version {version}) has no type 1 IOMMU: modprobe vfio_iommu_type1"
            )));
        }
        group.join(&file)?;
        system_call::with_number(&file, abi::SET_IOMMU, abi::TYPE1V2_IOMMU).map_err(iommu_refused)?;
        let facts = iommu_facts(&file)?;
        let space = IovaSpace::new(&facts.ranges, facts.page_bytes);
        Ok(Container { file, facts, space, mapped: BTreeMap::new() })
    }

    /// Opens a function of the group in this container.
    pub(crate) fn open_function(&self, group: &Group, address: PciAddress) -> Result<OwnedFd, VfioError> {
        let name = CString::new(address.to_string()).map_err(|error| VfioError::Unsupported(error.to_string()))?;
        system_call::device_of_group(group, &name).map_err(VfioError::system(format!("opening {address}")))
    }

    pub(crate) fn facts(&self) -> &IommuFacts {
        &self.facts
    }

    fn map_at(&mut self, address: u64, memory: &SharedBytes) -> Result<(), MapError> {
        let bytes = memory.len() as u64;
        let device_may_write = memory.access() == MappingAccess::ReadWrite;
        let mut order = abi::map_dma(memory.as_ptr() as u64, address, bytes, device_may_write);
        system_call::with_words(&self.file, abi::IOMMU_MAP_DMA, &mut order).map_err(|source| {
            let what = match Errno::from_io_error(&source) {
                Some(Errno::NOMEM) => format!(
                    "{bytes} bytes for a device exceed the locked-memory limit (ulimit -l; LimitMEMLOCK= in systemd)"
                ),
                Some(Errno::NOSPC) => "the IOMMU has no room for more mappings: map fewer, larger pieces".to_owned(),
                _ => format!("mapping {bytes} bytes at bus address {address:#x}"),
            };
            MapError::System { what, source }
        })?;
        self.mapped.insert(address, memory.clone());
        Ok(())
    }
}

impl DmaMapper for Container {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        let (start, bytes, page_bytes) = (memory.as_ptr() as usize, memory.len(), self.facts.page_bytes as usize);
        if bytes == 0 || !bytes.is_multiple_of(page_bytes) || !start.is_multiple_of(page_bytes) {
            return Err(MapError::Unaligned { address: start, bytes, page_bytes });
        }
        let address = self.space.allocate(bytes as u64);
        let address = address.ok_or(MapError::NoAddress { bytes, limit: self.space.last_address() })?;
        match self.map_at(address, memory) {
            Ok(()) => Ok(address),
            Err(error) => {
                self.space.release(address);
                Err(error)
            }
        }
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        let memory = self.mapped.get(&address).ok_or(MapError::Unknown { address })?;
        let mut order = abi::unmap_dma(address, memory.len() as u64);
        system_call::with_words(&self.file, abi::IOMMU_UNMAP_DMA, &mut order)
            .map_err(|source| MapError::System { what: format!("unmapping bus address {address:#x}"), source })?;
        self.mapped.remove(&address);
        self.space.release(address);
        Ok(())
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError> {
        let bytes = bytes.max(1).next_multiple_of(self.facts.page_bytes as usize);
        // The memory is shared, so that the device and a process forked later still use the same
        // memory.
        let memory = SharedBytes::memfd("iolab-dma", bytes)
            .map_err(|source| MapError::System { what: format!("{bytes} bytes of memory for a device"), source })?;
        let address = self.map(&memory)?;
        Ok(DmaBuffer { memory, address })
    }
}

fn iommu_refused(source: io::Error) -> VfioError {
    let what = if is(&source, Errno::PERM) {
        "the IOMMU does not check interrupts (no interrupt remapping), so the kernel refuses; a trusted device can be \
         used after: echo Y > /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"
    } else {
        "attaching the device to the IOMMU (dmesg may say more)"
    };
    VfioError::System { what: what.to_owned(), source }
}

/// Calls twice, because the first answer only contains the full length.
fn iommu_facts(container: &File) -> Result<IommuFacts, VfioError> {
    let mut words = abi::IOMMU_INFO_WORDS;
    for _ in 0..2 {
        let mut answer = abi::question(words, 0);
        system_call::with_words(container, abi::IOMMU_GET_INFO, &mut answer)
            .map_err(VfioError::system("what the IOMMU can do"))?;
        words = (answer[0] as usize).div_ceil(4);
        if words <= answer.len() {
            return Ok(parse_iommu_info(&answer));
        }
    }
    Err(VfioError::Unsupported("the kernel's description of the IOMMU grows while it is read".to_owned()))
}

fn parse_iommu_info(answer: &[u32]) -> IommuFacts {
    const HAS_PAGE_SIZES: u32 = 1 << 0;
    const HAS_CAPABILITIES: u32 = 1 << 1;
    const PAGE: u64 = 4096;
    /// Addresses that every IOMMU of the supported platforms translates, for kernels that do not
    /// report them (before 5.4): 39 bits without the interrupt window of x86.
    const USUAL: [IovaRange; 2] =
        [IovaRange { first: 0, last: 0xfedf_ffff }, IovaRange { first: 0xfef0_0000, last: (1 << 39) - 1 }];
    let sizes = if answer[1] & HAS_PAGE_SIZES != 0 { abi::wide(answer, 2) } else { PAGE };
    // The lowest bit is the smallest page. Pages smaller than the processor's cannot be pinned
    // individually.
    let page_bytes = (1u64 << sizes.trailing_zeros().min(30)).max(PAGE);
    let first = if answer[1] & HAS_CAPABILITIES != 0 { answer[4] } else { 0 };
    let reported = Capabilities::of(answer, first).pairs(IOMMU_CAP_IOVA_RANGES);
    let ranges = reported
        .map_or(USUAL.to_vec(), |pairs| pairs.into_iter().map(|(first, last)| IovaRange { first, last }).collect());
    IommuFacts { ranges, page_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iommu_of_39_bits_is_understood() {
        let mut answer = vec![0, 3, 0x4020_1000, 0, 24, 0];
        answer.extend([1 | 1 << 16, 0, 2, 0]);
        answer.extend([0, 0, 0xfedf_ffff, 0, 0xfef0_0000, 0, 0xffff_ffff, 0x7f]);
        let facts = parse_iommu_info(&answer);
        assert_eq!(facts.page_bytes, 4096);
        let last: Vec<u64> = facts.ranges.iter().map(|range| range.last).collect();
        assert_eq!(last, [0xfedf_ffff, (1 << 39) - 1]);
    }

    #[test]
    fn a_kernel_that_does_not_say_gets_what_is_usual() {
        let facts = parse_iommu_info(&[24, 1, 0x1_0000, 0, 0, 0]);
        assert_eq!(facts.page_bytes, 65536, "an Arm machine with large pages");
        assert_eq!(facts.ranges[1].last, (1 << 39) - 1);
        assert_eq!(parse_iommu_info(&[24, 0, 0, 0, 0, 0]).page_bytes, 4096);
    }
}
