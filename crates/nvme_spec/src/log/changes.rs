//! Log pages that list what has changed since they were read last.

use crate::le::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Changed Namespace List (Base, section 5.14.1.4). The first identifier is all ones if more changed than fit.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ChangedNamespaces {
    /// Identifiers in increasing order, then zeroes.
    pub identifiers: [U32; 1024],
}

const _: () = assert!(size_of::<ChangedNamespaces>() == 4096);

/// [`ChangedZones::nrzid`] when more zones changed than fit.
pub const MANY_CHANGED_ZONES: u16 = 0xffff;

/// Changed Zone List (ZNS, log page BFh).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ChangedZones {
    /// Number of Zone Identifiers, or [`MANY_CHANGED_ZONES`].
    pub nrzid: U16,
    /// Reserved.
    pub reserved2: [u8; 6],
    /// Zone Identifiers: the start LBAs of the zones.
    pub zid: [U64; 511],
}

const _: () = assert!(size_of::<ChangedZones>() == 4096);
