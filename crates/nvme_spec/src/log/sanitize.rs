//! The Sanitize Status log page.

use crate::fields::codes;
use crate::le::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Sanitize Status (Base, section 5.14.1.16.2).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SanitizeLog {
    /// Sanitize Progress: 65,536ths, all ones when none is going on.
    pub sprog: U16,
    /// Sanitize Status: bits 2:0 see [`SanitizeState`], bits 7:3 overwrite passes done, bit 8 global data erased.
    pub sstat: U16,
    /// Command dword 10 of the last Sanitize.
    pub scdw10: U32,
    /// Estimated seconds for Overwrite, Block Erase and Crypto Erase; all ones if not reported.
    pub estimated: [U32; 3],
    /// The same three with No-Deallocate After Sanitize.
    pub estimated_no_deallocate: [U32; 3],
    /// Reserved.
    pub reserved32: [u8; 480],
}

const _: () = assert!(size_of::<SanitizeLog>() == 512);

codes! {
    /// Bits 2:0 of SSTAT (Base, section 5.14.1.16.2).
    SanitizeState: u16 {
        NEVER = 0, "Never sanitized";
        SUCCEEDED = 1, "Completed successfully";
        IN_PROGRESS = 2, "In progress";
        FAILED = 3, "Failed";
        SUCCEEDED_NO_DEALLOCATE = 4, "Completed successfully, unable to deallocate";
    }
}
