//! The controller memory buffer: CMBLOC and CMBSZ.

use crate::fields::bits;

bits! {
    /// CMBLOC, Controller Memory Buffer Location (Base, section 3.1.11).
    MemoryBufferLocation: u32 {
        /// Base Indicator Register: which BAR.
        bir / with_bir: u8 [0; 3]
        /// Queue Mixed Memory Support.
        cqmms / with_cqmms: bool [3]
        /// Queue Physically Discontiguous Support.
        cqpds / with_cqpds: bool [4]
        /// Data Pointer Mixed Locations Support.
        cdpmls / with_cdpmls: bool [5]
        /// Data Pointer and Command Independent Locations Support.
        cdpcils / with_cdpcils: bool [6]
        /// Data Metadata Mixed Memory Support.
        cdmmms / with_cdmmms: bool [7]
        /// Queue Dword Alignment.
        cqda / with_cqda: bool [8]
        /// Offset from the start of the BAR, in units of [`MemoryBufferSize::szu`].
        ofst / with_ofst: u32 [12; 20]
    }
}

bits! {
    /// CMBSZ, Controller Memory Buffer Size (Base, section 3.1.12).
    MemoryBufferSize: u32 {
        /// Submission Queue Support.
        sqs / with_sqs: bool [0]
        /// Completion Queue Support.
        cqs / with_cqs: bool [1]
        /// PRP SGL List Support.
        lists / with_lists: bool [2]
        /// Read Data Support.
        rds / with_rds: bool [3]
        /// Write Data Support.
        wds / with_wds: bool [4]
        /// Size Units: `2^(12 + 4 * szu)` bytes.
        szu / with_szu: u8 [8; 4]
        /// Size in units.
        sz / with_sz: u32 [12; 20]
    }
}
