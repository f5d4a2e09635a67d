//! The Firmware Slot Information log page.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Firmware Slot Information (Base, section 5.14.1.3).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FirmwareSlots {
    /// Active Firmware Info: bits 2:0 the running slot, bits 6:4 the slot after the next reset.
    pub afi: u8,
    /// Reserved.
    pub reserved1: [u8; 7],
    /// Firmware Revision of slots 1 to 7, ASCII; zeroes for an empty slot.
    pub frs: [[u8; 8]; 7],
    /// Reserved.
    pub reserved64: [u8; 448],
}

const _: () = assert!(size_of::<FirmwareSlots>() == 512);
