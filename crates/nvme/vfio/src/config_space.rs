//! The configuration space of a function (PCI Local Bus Specification 3.0, section 6.1), accessed
//! through VFIO, which protects the fields that a driver must not change.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

const COMMAND: u64 = 0x04;
const COMMAND_MEMORY: u16 = 1 << 1;
const COMMAND_BUS_MASTER: u16 = 1 << 2;
/// Disables wired interrupts: messages are used instead.
const COMMAND_NO_WIRE_INTERRUPT: u16 = 1 << 10;

#[derive(Debug)]
pub(crate) struct ConfigSpace {
    device: Arc<OwnedFd>,
    /// Offset of the region in the device's file.
    start: u64,
}

impl ConfigSpace {
    pub(crate) fn new(device: Arc<OwnedFd>, start: u64) -> ConfigSpace {
        ConfigSpace { device, start }
    }

    /// Enables the function's registers and its DMA.
    pub(crate) fn enable(&self) -> io::Result<()> {
        let command = self.read_u16(COMMAND)?;
        self.write_u16(COMMAND, command | COMMAND_MEMORY | COMMAND_BUS_MASTER | COMMAND_NO_WIRE_INTERRUPT)
    }

    /// Disables the function's DMA.
    pub(crate) fn stop_dma(&self) -> io::Result<()> {
        let command = self.read_u16(COMMAND)?;
        self.write_u16(COMMAND, command & !COMMAND_BUS_MASTER)
    }

    fn read_u16(&self, offset: u64) -> io::Result<u16> {
        let mut bytes = [0; 2];
        let read = rustix::io::pread(self.device.as_fd(), &mut bytes, self.start + offset)?;
        whole(read, &bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }

    fn write_u16(&self, offset: u64, value: u16) -> io::Result<()> {
        let bytes = value.to_le_bytes();
        let written = rustix::io::pwrite(self.device.as_fd(), &bytes, self.start + offset)?;
        whole(written, &bytes)
    }
}

fn whole(moved: usize, bytes: &[u8]) -> io::Result<()> {
    if moved == bytes.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_register_keeps_its_other_bits() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &[0xee; 0x100]).unwrap();
        rustix::io::pwrite(&file, &[0x40, 0x01], 0x84).unwrap();
        let space = ConfigSpace::new(Arc::new(file.into()), 0x80);
        space.enable().unwrap();
        assert_eq!(space.read_u16(COMMAND).unwrap(), 0x0546);
        space.stop_dma().unwrap();
        assert_eq!(space.read_u16(COMMAND).unwrap(), 0x0542);
        assert_eq!(space.read_u16(0x06).unwrap(), 0xeeee, "its neighbour");
        assert_eq!(space.read_u16(0x7f).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
