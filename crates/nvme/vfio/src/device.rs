//! A PCI function behind VFIO: registers, interrupts, reset and DMA.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use iolab_memory::SharedBytes;
use iolab_pci_device::{DmaBuffer, DmaMapper, Interrupt, MapError, PciError, PciFunction};

use crate::abi::{self, BAR0_REGION, CONFIG_REGION, DEVICE_HAS_RESET, DEVICE_IS_PCI, IRQ_EVENTFD, MSIX_IRQ};
use crate::config_space::ConfigSpace;
use crate::container::{Container, IommuFacts};
use crate::group::Group;
use crate::interrupts::Interrupts;
use crate::registers::{Region, Registers};
use crate::{PciAddress, Sysfs, VfioError, system_call};

/// An open function. Dropping it stops its DMA and closes the group; the kernel does the same when
/// the process ends.
///
/// A window from [`PciFunction::mapped_registers`] keeps the function open while it lives.
#[derive(Debug)]
pub struct VfioDevice {
    address: PciAddress,
    registers: Registers,
    config: ConfigSpace,
    interrupts: Interrupts,
    can_reset: bool,
    // The fields are dropped in this order: the device is closed before the objects that its DMA
    // uses.
    device: Arc<OwnedFd>,
    container: Container,
    _group: Group,
}

impl VfioDevice {
    /// Opens a function that is bound to `vfio-pci`, with its memory space and DMA enabled.
    pub fn open(address: PciAddress) -> Result<VfioDevice, VfioError> {
        let group = Group::of(address, &Sysfs::live())?;
        let container = Container::around(&group)?;
        let device = Arc::new(container.open_function(&group, address)?);
        let mut info = abi::question(abi::DEVICE_INFO_WORDS, 0);
        ask(&device, abi::DEVICE_GET_INFO, &mut info, address)?;
        if info[1] & DEVICE_IS_PCI == 0 || info[2] <= CONFIG_REGION {
            return Err(VfioError::Unsupported(format!("{address} is not a PCI function for VFIO")));
        }
        let config = ConfigSpace::new(Arc::clone(&device), region(&device, CONFIG_REGION, address)?.start);
        let registers = Registers::of(Arc::clone(&device), region(&device, BAR0_REGION, address)?)
            .map_err(VfioError::system(format!("the registers of {address}")))?;
        let interrupts = Interrupts::new(vectors(&device, address)?);
        config.enable().map_err(VfioError::system(format!("enabling {address}")))?;
        let can_reset = info[1] & DEVICE_HAS_RESET != 0;
        Ok(VfioDevice { address, registers, config, interrupts, can_reset, device, container, _group: group })
    }

    /// The address of the function.
    pub fn address(&self) -> PciAddress {
        self.address
    }

    /// The capabilities of its IOMMU.
    pub fn iommu(&self) -> &IommuFacts {
        self.container.facts()
    }
}

fn ask(device: impl AsFd, request: u32, words: &mut [u32], address: PciAddress) -> Result<(), VfioError> {
    let answer = system_call::with_words(device, request, words);
    answer.map(|_| ()).map_err(VfioError::system(format!("what {address} is")))
}

/// Calls twice if the first answer says that capabilities follow.
fn region(device: &Arc<OwnedFd>, index: u32, address: PciAddress) -> Result<Region, VfioError> {
    let mut answer = abi::question(abi::REGION_INFO_WORDS, index);
    ask(device, abi::DEVICE_GET_REGION_INFO, &mut answer, address)?;
    let words = (answer[0] as usize).div_ceil(4);
    if words > answer.len() {
        answer = abi::question(words, index);
        ask(device, abi::DEVICE_GET_REGION_INFO, &mut answer, address)?;
    }
    Ok(Region::parse(&answer))
}

fn vectors(device: &Arc<OwnedFd>, address: PciAddress) -> Result<u16, VfioError> {
    let mut answer = abi::question(abi::IRQ_INFO_WORDS, MSIX_IRQ);
    ask(device, abi::DEVICE_GET_IRQ_INFO, &mut answer, address)?;
    let usable = answer[1] & IRQ_EVENTFD != 0;
    Ok(if usable { u16::try_from(answer[3]).unwrap_or(u16::MAX) } else { 0 })
}

impl PciFunction for VfioDevice {
    fn read_u32(&self, offset: u32) -> u32 {
        self.registers.read_u32(offset)
    }

    fn write_u32(&self, offset: u32, value: u32) {
        self.registers.write_u32(offset, value);
    }

    /// The window ends with the mappable part: the MSI-X table may follow it in the same BAR.
    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes> {
        self.registers.window(offset, 4)
    }

    fn interrupt(&mut self, vector: u16) -> Result<Interrupt, PciError> {
        self.interrupts.connect(self.device.as_fd(), vector)
    }

    fn reset(&mut self) -> Result<(), PciError> {
        let refused = |source| PciError::System { what: format!("resetting {}", self.address), source };
        if !self.can_reset {
            return Err(refused(io::ErrorKind::Unsupported.into()));
        }
        system_call::with_number(&self.device, abi::DEVICE_RESET, 0).map_err(refused)?;
        self.config.enable().map_err(refused)
    }

    fn pause(&self, at_most: Duration) {
        std::thread::sleep(at_most);
    }
}

impl DmaMapper for VfioDevice {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        self.container.map(memory)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.container.unmap(address)
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError> {
        self.container.allocate(bytes)
    }
}

impl Drop for VfioDevice {
    fn drop(&mut self) {
        // A device that does not answer does no DMA, and the kernel resets it on closing.
        let _ = self.config.stop_dma();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_moves_between_threads_as_a_whole_device() {
        fn is_device<T: iolab_pci_device::PciDevice + Send + 'static>() {}
        is_device::<VfioDevice>();
        let absent = VfioDevice::open("ffff:ff:1f.7".parse().unwrap());
        assert!(matches!(absent, Err(VfioError::NotFound(_))));
    }
}
