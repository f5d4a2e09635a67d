//! Real PCI devices in user space: VFIO groups, their IOMMU, and the functions behind them.
//!
//! [`VfioDevice`] is a [`PciFunction`](iolab_pci_device::PciFunction) and a
//! [`DmaMapper`](iolab_pci_device::DmaMapper) over the kernel's `vfio-pci` driver
//! (<https://docs.kernel.org/driver-api/vfio.html>). [`Sysfs`] finds functions, unbinds them from
//! their kernel driver and returns them to it.
//!
//! The device can access only memory that is mapped for it. The IOMMU enforces that; a machine
//! without one is refused. However the process ends, its descriptors are closed, and the kernel
//! stops the device's DMA, resets it and removes the mappings. The device stays bound to its driver
//! until [`Sysfs::restore`].
//!
//! ```text
//!   container (IOMMU mappings) ◀── group (what the IOMMU can tell apart) ◀── device (BARs, config space, interrupts)
//! ```
//!
//! Unsafe island: the kernel's interface is `ioctl(2)`. Not included: VFIO's newer device files
//! (`iommufd`), devices without an IOMMU, hot-plug, and everything specific to NVMe.
#![allow(unsafe_code, reason = "island: ioctl")]

mod abi;
mod address;
mod binding;
mod capability;
mod config_space;
mod container;
mod device;
mod error;
mod group;
mod interrupts;
mod iova;
mod registers;
mod sysfs;
mod system_call;

pub use address::{AddressError, PciAddress};
pub use binding::{BindError, Bound};
pub use container::IommuFacts;
pub use device::VfioDevice;
pub use error::VfioError;
pub use iova::{IovaRange, IovaSpace};
pub use sysfs::{FunctionFacts, Sysfs};
