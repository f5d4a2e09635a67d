//! Authentication Send and Authentication Receive: the commands that carry DH-HMAC-CHAP messages.

use crate::le::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Security Protocol of NVMe authentication (Base, section 8.13.2).
pub const AUTHENTICATION_PROTOCOL: u8 = 0xe9;
/// Security Protocol Specific 0 and 1 of every message.
pub const AUTHENTICATION_SPECIFIC: u8 = 0x01;

/// Authentication Send and Authentication Receive command (Fabrics, sections 3.1 and 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct AuthenticationCommand {
    /// Opcode 7Fh.
    pub opcode: u8,
    /// Reserved except for bits 7:6, PSDT.
    pub psdt: u8,
    /// Command Identifier.
    pub cid: U16,
    /// Fabrics Command Type 05h or 06h.
    pub fctype: u8,
    /// Reserved.
    pub reserved5: [u8; 19],
    /// SGL descriptor of the data.
    pub sgl1: [u8; 16],
    /// Reserved.
    pub reserved40: u8,
    /// Security Protocol Specific 0.
    pub spsp0: u8,
    /// Security Protocol Specific 1.
    pub spsp1: u8,
    /// Security Protocol.
    pub secp: u8,
    /// Transfer Length of Send, Allocation Length of Receive.
    pub length: U32,
    /// Reserved.
    pub reserved48: [u8; 16],
}

const _: () = assert!(size_of::<AuthenticationCommand>() == 64);
