//! The Identify Namespace data structure of the NVM command set, and its bit fields.

use crate::fields::bits;
use crate::le::{U16, U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Identify Namespace data structure, CNS 00h (Base, section 5.15.2.1; NVM, section 4.1.5.1).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IdentifyNamespace {
    /// Namespace Size in logical blocks.
    pub nsze: U64,
    /// Namespace Capacity in logical blocks.
    pub ncap: U64,
    /// Namespace Utilization in logical blocks.
    pub nuse: U64,
    /// Namespace Features, see [`NamespaceFeatures`].
    pub nsfeat: u8,
    /// Number of LBA Formats, less one.
    pub nlbaf: u8,
    /// Formatted LBA Size, see [`FormattedSize`].
    pub flbas: u8,
    /// Metadata Capabilities: bit 0 as part of an extended LBA, bit 1 in a separate buffer.
    pub mc: u8,
    /// End-to-end Data Protection Capabilities.
    pub dpc: u8,
    /// End-to-end Data Protection Type Settings.
    pub dps: u8,
    /// Namespace Multi-path I/O and Namespace Sharing Capabilities.
    pub nmic: u8,
    /// Reservation Capabilities.
    pub rescap: u8,
    /// Format Progress Indicator: bit 7 supported, bits 6:0 percent left.
    pub fpi: u8,
    /// Deallocate Logical Block Features, see [`DatasetCapabilities`].
    pub dlfeat: u8,
    /// Namespace Atomic Write Unit Normal in logical blocks, less one.
    pub nawun: U16,
    /// Namespace Atomic Write Unit Power Fail in logical blocks, less one.
    pub nawupf: U16,
    /// Namespace Atomic Compare & Write Unit in logical blocks, less one.
    pub nacwu: U16,
    /// Namespace Atomic Boundary Size Normal in logical blocks, less one.
    pub nabsn: U16,
    /// Namespace Atomic Boundary Offset in logical blocks.
    pub nabo: U16,
    /// Namespace Atomic Boundary Size Power Fail in logical blocks, less one.
    pub nabspf: U16,
    /// Namespace Optimal I/O Boundary in logical blocks.
    pub noiob: U16,
    /// NVM Capacity in bytes.
    pub nvmcap: U128,
    /// Namespace Preferred Write Granularity in logical blocks, less one.
    pub npwg: U16,
    /// Namespace Preferred Write Alignment in logical blocks, less one.
    pub npwa: U16,
    /// Namespace Preferred Deallocate Granularity in logical blocks, less one.
    pub npdg: U16,
    /// Namespace Preferred Deallocate Alignment in logical blocks, less one.
    pub npda: U16,
    /// Namespace Optimal Write Size in logical blocks, less one.
    pub nows: U16,
    /// Maximum Single Source Range Length of Copy in logical blocks (NVM).
    pub mssrl: U16,
    /// Maximum Copy Length in logical blocks (NVM).
    pub mcl: U32,
    /// Maximum Source Range Count of Copy, less one (NVM).
    pub msrc: u8,
    /// Reserved.
    pub reserved81: [u8; 11],
    /// ANA Group Identifier.
    pub anagrpid: U32,
    /// Reserved.
    pub reserved96: [u8; 3],
    /// Namespace Attributes: bit 0 write protected.
    pub nsattr: u8,
    /// NVM Set Identifier.
    pub nvmsetid: U16,
    /// Endurance Group Identifier.
    pub endgid: U16,
    /// Namespace Globally Unique Identifier, big endian.
    pub nguid: [u8; 16],
    /// IEEE Extended Unique Identifier, big endian.
    pub eui64: [u8; 8],
    /// LBA Formats (NVM; Base 1.4 has the first 16).
    pub lbaf: [LbaFormat; 64],
    /// Vendor Specific.
    pub vs: [u8; 3712],
}

const _: () = assert!(size_of::<IdentifyNamespace>() == 4096);

/// LBA Format: one line of the table (NVM, section 4.1.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct LbaFormat {
    /// Metadata Size in bytes.
    pub ms: U16,
    /// LBA Data Size as a power of two; 0 for a format that does not exist.
    pub lbads: u8,
    /// Relative Performance in bits 1:0: 0 best, 3 degraded.
    pub rp: u8,
}

const _: () = assert!(size_of::<LbaFormat>() == 4);

impl IdentifyNamespace {
    /// The LBA format in use.
    pub const fn format(&self) -> LbaFormat {
        self.lbaf[FormattedSize(self.flbas).index() as usize]
    }
}

bits! {
    /// FLBAS, Formatted LBA Size (Base, section 5.15.2.1; upper bits NVM, section 4.1.5.1).
    FormattedSize: u8 {
        /// Bits 3:0 of the index of the LBA format in use.
        index_low / with_index_low: u8 [0; 4]
        /// Metadata is transferred as part of an extended LBA.
        extended / with_extended: bool [4]
        /// Bits 5:4 of the index of the LBA format in use.
        index_high / with_index_high: u8 [5; 2]
    }
}

impl FormattedSize {
    /// Index of the LBA format in use: 0 to 63.
    pub const fn index(self) -> u8 {
        self.index_low() | self.index_high() << 4
    }
}

bits! {
    /// NSFEAT, Namespace Features (Base, section 5.15.2.1).
    NamespaceFeatures: u8 {
        /// Thin provisioning.
        thin / with_thin: bool [0]
        /// NAWUN, NAWUPF and NACWU are defined.
        atomics / with_atomics: bool [1]
        /// Deallocated or Unwritten Logical Block errors are reported.
        deallocated_errors / with_deallocated_errors: bool [2]
        /// NGUID and EUI64 are never used again.
        unique_ids / with_unique_ids: bool [3]
        /// NPWG, NPWA, NPDG, NPDA and NOWS are defined.
        optimal_io / with_optimal_io: bool [4]
    }
}

bits! {
    /// DLFEAT, Deallocate Logical Block Features (Base, section 5.15.2.1).
    DatasetCapabilities: u8 {
        /// What reading a deallocated block returns: 0 not reported, 1 zeroes, 2 ones.
        read_behavior / with_read_behavior: u8 [0; 3]
        /// Write Zeroes may deallocate.
        write_zeroes_deallocates / with_write_zeroes_deallocates: bool [3]
    }
}

/// I/O Command Set specific Identify Namespace of the NVM command set, CNS 05h, CSI 0 (NVM, section
/// 4.1.5.3).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IdentifyNvmNamespace {
    /// Logical Block Storage Tag Mask.
    pub lbstm: U64,
    /// Protection Information Capabilities.
    pub pic: u8,
    /// Reserved.
    pub reserved9: [u8; 3],
    /// Extended LBA Formats.
    pub elbaf: [U32; 64],
    /// Reserved.
    pub reserved268: [u8; 3828],
}

const _: () = assert!(size_of::<IdentifyNvmNamespace>() == 4096);

/// I/O Command Set specific Identify Controller of the NVM command set, CNS 06h, CSI 0 (NVM,
/// section 4.1.5.4).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct NvmControllerLimits {
    /// Verify Size Limit: `2^vsl` minimum memory pages, 0 for no limit.
    pub vsl: u8,
    /// Write Zeroes Size Limit: `2^wzsl` minimum memory pages, 0 for no limit.
    pub wzsl: u8,
    /// Write Uncorrectable Size Limit: `2^wusl` minimum memory pages, 0 for no limit.
    pub wusl: u8,
    /// Dataset Management Ranges Limit, 0 for no limit.
    pub dmrl: u8,
    /// Dataset Management Range Size Limit in logical blocks, 0 for no limit.
    pub dmrsl: U32,
    /// Dataset Management Size Limit in logical blocks, 0 for no limit.
    pub dmsl: U64,
    /// Reserved.
    pub reserved16: [u8; 4080],
}

const _: () = assert!(size_of::<NvmControllerLimits>() == 4096);
