//! Property Get and Property Set: the registers of a controller without a BAR.

use crate::le::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Property Get command (Fabrics, section 3.5); the value is the result of the completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PropertyGet {
    /// Opcode 7Fh.
    pub opcode: u8,
    /// Reserved.
    pub reserved1: u8,
    /// Command Identifier.
    pub cid: U16,
    /// Fabrics Command Type 04h.
    pub fctype: u8,
    /// Reserved.
    pub reserved5: [u8; 35],
    /// Attributes: bits 2:0 size, 0 for four bytes, 1 for eight.
    pub attrib: u8,
    /// Reserved.
    pub reserved41: [u8; 3],
    /// Offset, as of the register.
    pub ofst: U32,
    /// Reserved.
    pub reserved48: [u8; 16],
}

const _: () = assert!(size_of::<PropertyGet>() == 64);

/// Property Set command (Fabrics, section 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PropertySet {
    /// Opcode 7Fh.
    pub opcode: u8,
    /// Reserved.
    pub reserved1: u8,
    /// Command Identifier.
    pub cid: U16,
    /// Fabrics Command Type 00h.
    pub fctype: u8,
    /// Reserved.
    pub reserved5: [u8; 35],
    /// Attributes: bits 2:0 size, 0 for four bytes, 1 for eight.
    pub attrib: u8,
    /// Reserved.
    pub reserved41: [u8; 3],
    /// Offset, as of the register.
    pub ofst: U32,
    /// Value; four-byte properties use the lower half.
    pub value: U64,
    /// Reserved.
    pub reserved56: [u8; 8],
}

const _: () = assert!(size_of::<PropertySet>() == 64);
