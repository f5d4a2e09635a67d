//! Reads, writes and similar commands; Dataset Management; Copy.

use crate::fields::bits;
use crate::le::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

bits! {
    /// Dword 12 of Read, Write, Compare, Verify, Write Zeroes, Write Uncorrectable and Zone Append
    /// (Base, sections 6.6 to 6.17; ZNS, section 3.4.1).
    ReadWriteDword12: u32 {
        /// Number of Logical Blocks, less one.
        nlb / with_nlb: u16 [0; 16]
        /// Directive Type (Write).
        dtype / with_dtype: u8 [20; 4]
        /// Storage Tag Check (NVM).
        stc / with_stc: bool [24]
        /// Deallocate (Write Zeroes), or Protection Information Remap (Zone Append).
        deac / with_deac: bool [25]
        /// Protection Information Check: bit 0 reference tag, 1 application tag, 2 guard.
        prchk / with_prchk: u8 [26; 3]
        /// Protection Information Action.
        pract / with_pract: bool [29]
        /// Force Unit Access.
        fua / with_fua: bool [30]
        /// Limited Retry.
        lr / with_lr: bool [31]
    }
}

bits! {
    /// Dword 13 of Read and Write (Base, sections 6.9 and 6.15).
    ReadWriteDword13: u32 {
        /// Dataset Management: hints about the access.
        dsm / with_dsm: u8 [0; 8]
        /// Directive Specific (Write).
        dspec / with_dspec: u16 [16; 16]
    }
}

bits! {
    /// Dataset Management, dword 11 (Base, section 6.7). Dword 10 bits 7:0 are the number of
    /// ranges, less one.
    DatasetAttributes: u32 {
        /// Attribute: Integral Dataset for Read.
        idr / with_idr: bool [0]
        /// Attribute: Integral Dataset for Write.
        idw / with_idw: bool [1]
        /// Attribute: Deallocate.
        ad / with_ad: bool [2]
    }
}

bits! {
    /// Context attributes of a range (Base, section 6.7.1.1).
    DatasetRangeAttributes: u32 {
        /// Access Frequency.
        af / with_af: u8 [0; 4]
        /// Access Latency.
        al / with_al: u8 [4; 2]
        /// Sequential Read.
        sr / with_sr: bool [8]
        /// Sequential Write.
        sw / with_sw: bool [9]
        /// Write Prepare.
        wp / with_wp: bool [10]
        /// Command Access Size in logical blocks.
        cas / with_cas: u8 [24; 8]
    }
}

/// Dataset Management range (Base, section 6.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DatasetRange {
    /// Context Attributes, see [`DatasetRangeAttributes`].
    pub cattr: U32,
    /// Length in logical blocks.
    pub nlb: U32,
    /// Starting LBA.
    pub slba: U64,
}

const _: () = assert!(size_of::<DatasetRange>() == 16);

impl DatasetRange {
    /// The most ranges of one command.
    pub const MAX: usize = 256;

    /// A range without hints.
    pub const fn new(slba: u64, nlb: u32) -> DatasetRange {
        DatasetRange { cattr: U32::ZERO, nlb: U32::new(nlb), slba: U64::new(slba) }
    }
}

bits! {
    /// Copy, dword 12 (NVM, section 3.2.2). Dwords 10 and 11 are the starting destination LBA.
    CopyDword12: u32 {
        /// Number of Ranges, less one.
        nr / with_nr: u8 [0; 8]
        /// Descriptor Format.
        df / with_df: u8 [8; 4]
        /// Protection Information of the reads.
        prinfor / with_prinfor: u8 [12; 4]
        /// Directive Type.
        dtype / with_dtype: u8 [20; 4]
        /// Protection Information of the writes.
        prinfow / with_prinfow: u8 [26; 4]
        /// Force Unit Access.
        fua / with_fua: bool [30]
        /// Limited Retry.
        lr / with_lr: bool [31]
    }
}

/// Source range of Copy in descriptor format 0 (NVM, section 3.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct CopyDescriptor {
    /// Reserved.
    pub reserved0: [u8; 8],
    /// Starting LBA.
    pub slba: U64,
    /// Number of Logical Blocks, less one.
    pub nlb: U16,
    /// Reserved.
    pub reserved18: [u8; 6],
    /// Expected Initial Logical Block Reference Tag.
    pub eilbrt: U32,
    /// Expected Logical Block Application Tag.
    pub elbat: U16,
    /// Expected Logical Block Application Tag Mask.
    pub elbatm: U16,
}

const _: () = assert!(size_of::<CopyDescriptor>() == 32);
