//! Lists that Identify returns: namespaces, controllers, identifiers, command sets.

use crate::fields::codes;
use crate::le::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Namespace List: identifiers in increasing order, ended by a zero unless full (Base, section
/// 4.10).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct NamespaceList {
    /// Identifiers, then zeroes.
    pub identifiers: [U32; 1024],
}

const _: () = assert!(size_of::<NamespaceList>() == 4096);

/// Controller List: identifiers in increasing order (Base, section 4.9).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ControllerList {
    /// How many identifiers follow.
    pub count: U16,
    /// Identifiers.
    pub identifiers: [U16; 2047],
}

const _: () = assert!(size_of::<ControllerList>() == 4096);

/// Head of a Namespace Identification Descriptor, CNS 03h (Base, section 5.15.2.3); `nidl` bytes of
/// identifier follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct NamespaceIdentifierHeader {
    /// Namespace Identifier Type, see [`IdentifierType`]; zero ends the list with its length.
    pub nidt: u8,
    /// Namespace Identifier Length in bytes; zero ends the list.
    pub nidl: u8,
    /// Reserved.
    pub reserved2: [u8; 2],
}

const _: () = assert!(size_of::<NamespaceIdentifierHeader>() == 4);

codes! {
    /// Namespace Identifier Type (Base, section 5.15.2.3; CSI Base 2.0).
    IdentifierType: u8 {
        EUI64 = 1, "IEEE Extended Unique Identifier";
        NGUID = 2, "Namespace Globally Unique Identifier";
        UUID = 3, "Namespace UUID";
        CSI = 4, "Command Set Identifier";
    }
}

/// Identify I/O Command Set, CNS 1Ch: combinations of command sets that can be enabled, one bit for
/// each CSI (Base 2.0, section 5.17.2.21).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct CommandSetVectors {
    /// Bit vectors; zero ends the list.
    pub vectors: [U64; 512],
}

const _: () = assert!(size_of::<CommandSetVectors>() == 4096);

/// The first fields of Primary Controller Capabilities, CNS 14h (Base, section 5.15.2.11).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PrimaryIdentifiers {
    /// Controller Identifier.
    pub cntlid: U16,
    /// Port Identifier.
    pub portid: U16,
    /// Controller Resource Types: bit 0 VQ, bit 1 VI resources.
    pub crt: u8,
    /// Reserved, and resources that this crate does not describe.
    pub rest: [u8; 4091],
}

const _: () = assert!(size_of::<PrimaryIdentifiers>() == 4096);
