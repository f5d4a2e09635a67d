//! The host's memory as a device reaches it, by bus address.

use iolab_memory::{MappingAccess, SharedBytes};

/// Memory of a host that has mapped some of it for the device.
///
/// A device never trusts an address: it asks here, and a fault is an ordinary answer. What has been
/// handed out stays readable after the host unmaps it, but the device must not use it any more once
/// the [`HostMemory::generation`] has changed and the address does not resolve again.
pub trait HostMemory: Send {
    /// The `bytes` from `address`, if one mapping holds them all and allows `access`.
    fn window(&mut self, address: u64, bytes: usize, access: MappingAccess) -> Result<SharedBytes, DmaFault>;

    /// Whether an access would succeed now; it need not be to a window.
    fn reaches(&mut self, address: u64, bytes: usize, access: MappingAccess) -> bool {
        self.window(address, bytes, access).is_ok()
    }

    /// Copies from `address` into `to`; the bytes may lie in several mappings that follow each
    /// other.
    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), DmaFault>;

    /// Copies `from` to `address`.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), DmaFault>;

    /// Copies `bytes` of the device's own `from`, starting at `offset`, to `address`.
    fn copy_in(&mut self, address: u64, from: &SharedBytes, offset: usize, bytes: usize) -> Result<(), DmaFault>;

    /// Copies `bytes` from `address` to the device's own `to`, starting at `offset`.
    fn copy_out(&mut self, address: u64, to: &SharedBytes, offset: usize, bytes: usize) -> Result<(), DmaFault>;

    /// A number that changes when a mapping goes away. Cheap: one load.
    fn generation(&self) -> u64;
}

/// Memory of a host that a device cannot map, and reaches by asking the host.
pub trait DistantMemory: std::fmt::Debug + Send + Sync {
    /// Whether the host has said that the device may do this.
    fn reaches(&self, address: u64, bytes: usize, access: MappingAccess) -> bool;

    /// Asks for the bytes from `address`. Waits for the host, for a limited time.
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), DmaFault>;

    /// Sends bytes to `address`, and waits until they are there, for a limited time.
    fn write(&self, address: u64, from: &[u8]) -> Result<(), DmaFault>;
}

/// The device touched an address that is not mapped, or not for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no mapping allows this access to {bytes} bytes at bus address {address:#x}")]
pub struct DmaFault {
    /// First address of the access.
    pub address: u64,
    /// Bytes of the access.
    pub bytes: usize,
    /// What was asked for.
    pub access: MappingAccess,
}
