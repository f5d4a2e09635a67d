//! The data structures that Identify returns about zoned namespaces.

use crate::le::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// I/O Command Set specific Identify Namespace of the zoned command set, CNS 05h, CSI 2 (ZNS,
/// section 4.1.5.1).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IdentifyZonedNamespace {
    /// Zone Operation Characteristics: bit 0 variable zone capacity, bit 1 zone active excursions.
    pub zoc: U16,
    /// Optional Zoned Command Support: bit 0 reads across zone boundaries, bit 1 ZRWA.
    pub ozcs: U16,
    /// Maximum Active Resources, less one; all ones for no limit.
    pub mar: U32,
    /// Maximum Open Resources, less one; all ones for no limit.
    pub mor: U32,
    /// Reset Recommended Limit in seconds.
    pub rrl: U32,
    /// Finish Recommended Limit in seconds.
    pub frl: U32,
    /// Reset Recommended Limits 1 to 3 in seconds.
    pub rrl_more: [U32; 3],
    /// Finish Recommended Limits 1 to 3 in seconds.
    pub frl_more: [U32; 3],
    /// Number of ZRWA Resources, less one.
    pub numzrwa: U32,
    /// ZRWA Flush Granularity in logical blocks.
    pub zrwafg: U16,
    /// ZRWA Size in logical blocks.
    pub zrwasz: U16,
    /// ZRWA Capability: bit 0 explicit flush.
    pub zrwacap: u8,
    /// Reserved.
    pub reserved53: [u8; 2763],
    /// LBA Format Extensions, one for each LBA format.
    pub lbafe: [ZonedLbaFormat; 64],
    /// Vendor Specific.
    pub vs: [u8; 256],
}

const _: () = assert!(size_of::<IdentifyZonedNamespace>() == 4096);

/// LBA Format Extension: the zones of a namespace in this format (ZNS, section 4.1.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ZonedLbaFormat {
    /// Zone Size in logical blocks.
    pub zsze: U64,
    /// Zone Descriptor Extension Size in units of 64 bytes.
    pub zdes: u8,
    /// Reserved.
    pub reserved9: [u8; 7],
}

const _: () = assert!(size_of::<ZonedLbaFormat>() == 16);

/// I/O Command Set specific Identify Controller of the zoned command set, CNS 06h, CSI 2 (ZNS,
/// section 4.1.5.2).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IdentifyZonedController {
    /// Zone Append Size Limit: `2^zasl` minimum memory pages, 0 for MDTS.
    pub zasl: u8,
    /// Reserved.
    pub reserved1: [u8; 4095],
}

const _: () = assert!(size_of::<IdentifyZonedController>() == 4096);
