//! A PCI function as seen by its driver. Except for the doorbells, nothing here is on the hot path:
//! no call is made for every command.

use std::io;
use std::time::Duration;

use iolab_memory::SharedBytes;

use crate::Interrupt;

/// Registers, doorbells, interrupts and reset of one function.
pub trait PciFunction: Send {
    /// Reads the 32-bit register at `offset` of BAR 0, a multiple of 4. All ones if the device is
    /// gone.
    fn read_u32(&self, offset: u32) -> u32;

    /// Writes the 32-bit register at `offset` of BAR 0.
    fn write_u32(&self, offset: u32, value: u32);

    /// BAR 0 as memory, from `offset` to its end, for registers that are written often. `None` if
    /// that part of the BAR cannot be mapped or is shorter.
    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes>;

    /// Makes the function signal `vector` (MSI-X) by an eventfd that can be waited for.
    fn interrupt(&mut self, vector: u16) -> Result<Interrupt, PciError>;

    /// Resets the function (function-level reset). Registers then have their values after power-on.
    fn reset(&mut self) -> Result<(), PciError>;

    /// Passes time while the driver waits for the device, at most about `at_most`. A device that
    /// lives in the calling thread works during this call.
    fn pause(&self, at_most: Duration);

    /// Reads the 64-bit register at `offset` as two halves, the low one first.
    fn read_u64(&self, offset: u32) -> u64 {
        let low = self.read_u32(offset);
        u64::from(low) | u64::from(self.read_u32(offset + 4)) << 32
    }

    /// Writes the 64-bit register at `offset` as two halves, the low one first.
    fn write_u64(&self, offset: u32, value: u64) {
        self.write_u32(offset, value as u32);
        self.write_u32(offset + 4, (value >> 32) as u32);
    }
}

/// Maps memory of the host for the function.
pub trait DmaMapper: Send {
    /// Maps all of `memory` (whole pages) at consecutive bus addresses, and returns the first.
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError>;

    /// Removes the mapping that starts at `address`. The device must already have stopped using it.
    fn unmap(&mut self, address: u64) -> Result<(), MapError>;

    /// Allocates and maps `bytes` of zeroed memory (rounded up to pages). Its pages are contiguous
    /// for the device.
    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError>;
}

/// A complete device, which is the result of opening a transport.
pub trait PciDevice: PciFunction + DmaMapper {}

impl<T: PciFunction + DmaMapper> PciDevice for T {}

/// Memory of the driver that the device also accesses.
#[derive(Debug, Clone)]
pub struct DmaBuffer {
    /// The bytes.
    pub memory: SharedBytes,
    /// The bus address of its first byte.
    pub address: u64,
}

/// Why memory could not be mapped for a device.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The memory does not consist of whole pages.
    #[error("{bytes} bytes of memory at {address:#x} are not whole pages of {page_bytes} bytes")]
    Unaligned {
        /// Where the memory starts in this process.
        address: usize,
        /// Its size.
        bytes: usize,
        /// The page size of the device's address space.
        page_bytes: usize,
    },
    /// There is no free space among the addresses that the device can use.
    #[error("no range of {bytes} bytes of bus addresses is free (the device can address up to {limit:#x})")]
    NoAddress {
        /// Requested bytes.
        bytes: usize,
        /// The last address that the device can use.
        limit: u64,
    },
    /// There is no such mapping.
    #[error("nothing is mapped at bus address {address:#x}")]
    Unknown {
        /// The given address.
        address: u64,
    },
    /// The system refused the request.
    #[error("{what}: {source}")]
    System {
        /// What was tried, and what a user can do.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// A device failed to do something that every PCI function can do.
#[derive(Debug, thiserror::Error)]
pub enum PciError {
    /// The function has no such vector, or no interrupts.
    #[error("there is no interrupt vector {vector}: the function has {available}")]
    NoVector {
        /// The requested vector.
        vector: u16,
        /// How many it has.
        available: u16,
    },
    /// The system refused the request.
    #[error("{what}: {source}")]
    System {
        /// What was tried, and what a user can do.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The device is gone: the other end has closed, or its registers read as all ones.
    #[error("the device was removed ({0})")]
    Gone(String),
}
