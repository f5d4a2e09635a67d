//! The host's memory as accessed by a device, by bus address.

use iolab_memory::{MappingAccess, SharedBytes};

/// Memory of a host that has mapped some of it for the device.
///
/// A device never trusts an address: it looks the address up here, and a fault is a normal result.
/// A returned window stays readable after the host unmaps it, but the device must not use it once
/// the [`HostMemory::generation`] has changed and the address does not resolve again.
pub trait HostMemory: Send {
    /// The `bytes` from `address`, if one mapping contains them all and allows `access`.
    fn window(&mut self, address: u64, bytes: usize, access: MappingAccess) -> Result<SharedBytes, DmaFault>;

    /// Whether an access would succeed now, even if it spans several mappings.
    fn reaches(&mut self, address: u64, bytes: usize, access: MappingAccess) -> bool {
        self.window(address, bytes, access).is_ok()
    }

    /// Copies from `address` into `to`; the bytes may be in several adjacent mappings.
    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), DmaFault>;

    /// Copies `from` to `address`.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), DmaFault>;

    /// Copies `bytes` from the device's own memory `from`, starting at `offset`, to `address`.
    fn copy_in(&mut self, address: u64, from: &SharedBytes, offset: usize, bytes: usize) -> Result<(), DmaFault>;

    /// Copies `bytes` from `address` to the device's own memory `to`, starting at `offset`.
    fn copy_out(&mut self, address: u64, to: &SharedBytes, offset: usize, bytes: usize) -> Result<(), DmaFault>;

    /// A number that changes when a mapping is removed. Reading it costs one load.
    fn generation(&self) -> u64;
}

/// Memory of a host that a device cannot map, but accesses by requests to the host.
pub trait DistantMemory: std::fmt::Debug + Send + Sync {
    /// Whether the host has allowed this access of the device.
    fn reaches(&self, address: u64, bytes: usize, access: MappingAccess) -> bool;

    /// Reads the bytes from `address`. Waits for the host, for a limited time.
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), DmaFault>;

    /// Writes bytes to `address`, and waits until they have arrived, for a limited time.
    fn write(&self, address: u64, from: &[u8]) -> Result<(), DmaFault>;
}

/// The device accessed an address that is not mapped, or not for this kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no mapping allows this access to {bytes} bytes at bus address {address:#x}")]
pub struct DmaFault {
    /// First address of the access.
    pub address: u64,
    /// Bytes of the access.
    pub bytes: usize,
    /// The kind of access.
    pub access: MappingAccess,
}
