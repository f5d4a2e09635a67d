//! Asymmetric Namespace Access (Base, section 5.14.1.12): the header of the page, then a descriptor
//! for each group. The namespaces of a group follow its descriptor, unless only groups were
//! requested.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::fields::codes;
use crate::le::{U16, U32, U64};

codes! {
    /// How a controller reaches the namespaces of a group (Base, section 8.1.1).
    AnaState: u8 {
        OPTIMIZED = 0x01, "optimized";
        NON_OPTIMIZED = 0x02, "non-optimized";
        INACCESSIBLE = 0x03, "inaccessible";
        PERSISTENT_LOSS = 0x04, "persistent loss";
        CHANGE = 0x0f, "change";
    }
}

/// The log specific field that requests groups without their namespaces.
pub const ANA_GROUPS_ONLY: u8 = 1;

/// The header of the page.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct AnaHeader {
    /// Change Count.
    pub changes: U64,
    /// Number of group descriptors.
    pub groups: U16,
    /// Reserved.
    pub reserved10: [u8; 6],
}

/// One group.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct AnaGroup {
    /// ANA Group Identifier.
    pub id: U32,
    /// Number of identifiers of namespaces that follow.
    pub namespaces: U32,
    /// Change Count.
    pub changes: U64,
    /// Bits 3:0: [`AnaState`].
    pub state: u8,
    /// Reserved.
    pub reserved17: [u8; 15],
}

const _: () = assert!(size_of::<AnaHeader>() == 16 && size_of::<AnaGroup>() == 32);
