//! The Error Information log page: entries, newest first.

use crate::fields::bits;
use crate::le::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Error Information Log Entry (Base, section 5.14.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ErrorLogEntry {
    /// Error Count: a number unique to each error; zero for no entry.
    pub error_count: U64,
    /// Submission Queue ID.
    pub sqid: U16,
    /// Command ID; all ones if the error belongs to no command.
    pub cid: U16,
    /// Status Field in bits 15:1, phase tag in bit 0.
    pub status: U16,
    /// Parameter Error Location, see [`ParameterLocation`]; all ones if none.
    pub parameter_error_location: U16,
    /// LBA of the first block with the error.
    pub lba: U64,
    /// Namespace.
    pub nsid: U32,
    /// Vendor Specific Information Available: a log page identifier or zero.
    pub vendor_log_page: u8,
    /// Transport Type (TRTYPE).
    pub trtype: u8,
    /// Reserved.
    pub reserved30: [u8; 2],
    /// Command Specific Information.
    pub command_specific: U64,
    /// Transport Type Specific Information.
    pub transport_specific: U16,
    /// Reserved.
    pub reserved42: [u8; 22],
}

const _: () = assert!(size_of::<ErrorLogEntry>() == 64);

bits! {
    /// Where in the command the error is (Base, section 5.14.1.1).
    ParameterLocation: u16 {
        /// Byte of the command.
        byte / with_byte: u8 [0; 8]
        /// Bit of that byte.
        bit / with_bit: u8 [8; 3]
    }
}
