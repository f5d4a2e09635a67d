//! The configuration space of an NVMe function (PCI Express Base, chapter 7; NVMe over PCIe
//! Transport, section 3.8).
//!
//! ```text
//! 000h header: class 010802h, BAR 0 (64 bits, 16 KiB), BAR 4 (8 KiB), INTA
//! 040h power management   050h MSI   070h MSI-X, its table and PBA in BAR 4   080h PCI Express
//! 100h no extended capabilities
//! ```
//!
//! Writes of a client are stored in the writable bits and have no further effect, because clients
//! manage interrupts and power with separate messages.

/// Bytes of the space.
pub(crate) const CONFIG_BYTES: usize = 4096;
/// Bytes of BAR 0. The reserved low bits cannot express a smaller size.
pub(crate) const BAR0_BYTES: u64 = 0x4000;
/// The region of BAR 4.
pub(crate) const TABLE_REGION: u32 = 4;
/// Bytes of BAR 4.
pub(crate) const BAR4_BYTES: u64 = 0x2000;
/// Where the pending bits begin in BAR 4.
pub(crate) const PENDING_OFFSET: usize = 0x1000;
/// MSI vectors, the maximum of MSI.
pub(crate) const MSI_VECTORS: u16 = 32;

/// A vendor identifier that the PCI-SIG has not assigned, and our device identifier.
const VENDOR: u16 = 0xfffd;
const DEVICE: u16 = 0x0101;
const COMMAND: usize = 0x04;
const INTX_DISABLE: u16 = 1 << 10;
const PM: usize = 0x40;
const MSI: usize = 0x50;
const MSIX: usize = 0x70;
const EXPRESS: usize = 0x80;
const DEVICE_CONTROL: usize = EXPRESS + 8;
/// Initiate Function Level Reset, and its support in Device Capabilities.
const RESET: u16 = 1 << 15;
const HAS_RESET: u32 = 1 << 28;
const ROLE_BASED_ERRORS: u32 = 1 << 15;

/// The space of one function.
#[derive(Debug, Clone)]
pub(crate) struct ConfigSpace {
    bytes: Box<[u8; CONFIG_BYTES]>,
    /// The writable bits.
    writable: Box<[u8; CONFIG_BYTES]>,
    vectors: u16,
}

impl ConfigSpace {
    /// The space of a function with this many MSI-X vectors.
    pub(crate) fn new(vectors: u16) -> ConfigSpace {
        let zeros = || Box::new([0; CONFIG_BYTES]);
        let mut space = ConfigSpace { bytes: zeros(), writable: zeros(), vectors };
        space.set(0x00, &VENDOR.to_le_bytes(), &[]);
        space.set(0x02, &DEVICE.to_le_bytes(), &[]);
        space.set(COMMAND, &[], &0x0407u16.to_le_bytes());
        // The status register says that there is a list of capabilities.
        space.set(0x06, &0x0010u16.to_le_bytes(), &[]);
        space.set(0x08, &[1, 0x02, 0x08, 0x01], &[]);
        let bar = |bytes: u64, flags: u64| (flags, !(bytes - 1));
        let (value, mask) = bar(BAR0_BYTES, 0b100);
        space.set(0x10, &value.to_le_bytes(), &mask.to_le_bytes());
        let (value, mask) = bar(BAR4_BYTES, 0);
        space.set(0x20, &(value as u32).to_le_bytes(), &(mask as u32).to_le_bytes());
        space.set(0x2c, &VENDOR.to_le_bytes(), &[]);
        space.set(0x2e, &DEVICE.to_le_bytes(), &[]);
        space.set(0x34, &[PM as u8], &[]);
        // The client chooses the line; the pin is INTA.
        space.set(0x3c, &[0, 1], &[0xff]);
        space.set_capabilities();
        space
    }

    fn set_capabilities(&mut self) {
        // Version 3; a change of the power state preserves the context.
        self.set(PM, &[0x01, MSI as u8, 0x03, 0, 0x08, 0], &[0, 0, 0, 0, 0x03]);
        // 64-bit addresses, 32 vectors. Writable are the enable bit, the number of vectors, address
        // and data.
        self.set(MSI, &[0x05, MSIX as u8, 0x8a, 0], &[0, 0, 0x71, 0, 0xfc, 0xff, 0xff, 0xff]);
        self.set(MSI + 8, &[], &[0xff; 6]);
        let last = self.vectors.saturating_sub(1).to_le_bytes();
        self.set(MSIX, &[0x11, EXPRESS as u8, last[0], last[1]], &[0, 0, 0, 0xc0]);
        self.set(MSIX + 4, &TABLE_REGION.to_le_bytes(), &[]);
        self.set(MSIX + 8, &(PENDING_OFFSET as u32 | TABLE_REGION).to_le_bytes(), &[]);
        // An endpoint of version 2.
        self.set(EXPRESS, &[0x10, 0, 0x02, 0], &[]);
        self.set(EXPRESS + 4, &(HAS_RESET | ROLE_BASED_ERRORS).to_le_bytes(), &[]);
        self.set(DEVICE_CONTROL, &[], &(!RESET).to_le_bytes());
        // A link of one lane at 2.5 GT/s; the values have no effect here.
        self.set(EXPRESS + 0xc, &0x11u32.to_le_bytes(), &[]);
        self.set(EXPRESS + 0x12, &0x11u16.to_le_bytes(), &[]);
    }

    fn set(&mut self, at: usize, bytes: &[u8], writable: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.writable[at..at + writable.len()].copy_from_slice(writable);
    }

    /// Restores the state after power-on.
    pub(crate) fn reset(&mut self) {
        *self = ConfigSpace::new(self.vectors);
    }

    /// Reads bytes. The caller has checked that the range is within the space.
    pub(crate) fn read(&self, offset: usize, to: &mut [u8]) {
        to.copy_from_slice(&self.bytes[offset..offset + to.len()]);
    }

    /// Writes the writable bits; returns whether the write requests a reset of the function. The
    /// caller has checked that the range is within the space.
    pub(crate) fn write(&mut self, offset: usize, from: &[u8]) -> bool {
        for (at, value) in (offset..).zip(from) {
            let mask = self.writable[at];
            self.bytes[at] = self.bytes[at] & !mask | value & mask;
        }
        let high = (DEVICE_CONTROL + 1).checked_sub(offset).and_then(|place| from.get(place));
        high.is_some_and(|high| u16::from(*high) << 8 & RESET != 0)
    }

    /// Whether INTx is disabled.
    pub(crate) fn has_no_intx(&self) -> bool {
        u16::from_le_bytes([self.bytes[COMMAND], self.bytes[COMMAND + 1]]) & INTX_DISABLE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(space: &ConfigSpace, offset: usize) -> u32 {
        let mut bytes = [0; 4];
        space.read(offset, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn a_driver_finds_an_nvme_function_with_its_capabilities() {
        let space = ConfigSpace::new(65);
        assert_eq!(word(&space, 8) >> 8, 0x01_0802, "class");
        let mut found = Vec::new();
        let mut at = word(&space, 0x34) as usize;
        while at != 0 {
            found.push(word(&space, at) as u8);
            at = word(&space, at) as usize >> 8 & 0xff;
        }
        assert_eq!(found, [0x01, 0x05, 0x11, 0x10]);
        assert_eq!(word(&space, MSIX) >> 16, 64, "vectors less one");
        assert_eq!(word(&space, 0x100), 0, "no extended capability");
    }

    #[test]
    fn bars_tell_their_sizes() {
        let mut space = ConfigSpace::new(65);
        for (offset, expected) in
            [(0x10, 0xffff_c004), (0x14, 0xffff_ffff), (0x18, 0), (0x20, 0xffff_e000), (0x24, 0), (0x30, 0)]
        {
            assert!(!space.write(offset, &[0xff; 4]));
            assert_eq!(word(&space, offset), expected, "{offset:#x}");
        }
        space.reset();
        assert_eq!(word(&space, 0x10), 4);
    }

    #[test]
    fn what_is_read_only_stays_and_a_reset_is_noticed() {
        let mut space = ConfigSpace::new(65);
        assert!(space.write(0, &[0xff; CONFIG_BYTES]), "the bit of a reset is among them");
        assert_eq!(word(&space, 0), u32::from(DEVICE) << 16 | u32::from(VENDOR));
        assert_eq!(word(&space, MSIX) >> 16, 0xc000 | 64);
        assert_eq!(word(&space, DEVICE_CONTROL) & 0xffff, 0x7fff);
        assert!(space.has_no_intx());
        assert!(space.write(DEVICE_CONTROL + 1, &[0x80]) && !space.write(DEVICE_CONTROL, &[0x80]));
        assert!(!space.write(DEVICE_CONTROL + 2, &[0xff; 8]));
    }
}
