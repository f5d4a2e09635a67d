//! Identify, Get Log Page, Set and Get Features, Abort, creating and deleting I/O queues.

use crate::fields::bits;

bits! {
    /// Identify, dword 10 (Base, section 5.15.1).
    IdentifyDword10: u32 {
        /// Controller or Namespace Structure, see [`crate::identify::Cns`].
        cns / with_cns: u8 [0; 8]
        /// Controller Identifier.
        cntid / with_cntid: u16 [16; 16]
    }
}

bits! {
    /// Identify, dword 11 (Base 2.0, section 5.17.1).
    IdentifyDword11: u32 {
        /// CNS Specific Identifier, such as an NVM set.
        cnssid / with_cnssid: u16 [0; 16]
        /// Command Set Identifier.
        csi / with_csi: u8 [24; 8]
    }
}

bits! {
    /// Get Log Page, dword 10 (Base, section 5.14; a wider LSP Base 2.0).
    LogDword10: u32 {
        /// Log Page Identifier, see [`crate::log::LogPage`].
        lid / with_lid: u8 [0; 8]
        /// Log Specific Field.
        lsp / with_lsp: u8 [8; 7]
        /// Retain Asynchronous Event.
        rae / with_rae: bool [15]
        /// Number of Dwords, less one, bits 15:0.
        numdl / with_numdl: u16 [16; 16]
    }
}

bits! {
    /// Get Log Page, dword 11 (Base, section 5.14). Dwords 12 and 13 are the offset in bytes.
    LogDword11: u32 {
        /// Number of Dwords, less one, bits 31:16.
        numdu / with_numdu: u16 [0; 16]
        /// Log Specific Identifier.
        lsi / with_lsi: u16 [16; 16]
    }
}

bits! {
    /// Get Log Page, dword 14 (Base 2.0, section 5.16).
    LogDword14: u32 {
        /// UUID Index.
        uuid / with_uuid: u8 [0; 7]
        /// Offset Type: the offset is an index.
        ot / with_ot: bool [23]
        /// Command Set Identifier.
        csi / with_csi: u8 [24; 8]
    }
}

bits! {
    /// Set Features and Get Features, dword 10 (Base, sections 5.21 and 5.13).
    FeatureDword10: u32 {
        /// Feature Identifier, see [`crate::feature::Feature`].
        fid / with_fid: u8 [0; 8]
        /// Select (Get Features), see [`crate::feature::FeatureSelect`].
        sel / with_sel: u8 [8; 3]
        /// Save (Set Features).
        sv / with_sv: bool [31]
    }
}

bits! {
    /// Abort, dword 10 (Base, section 5.1). Bit 0 of completion dword 0 is set if nothing was
    /// aborted.
    AbortDword10: u32 {
        /// Submission Queue Identifier.
        sqid / with_sqid: u16 [0; 16]
        /// Command Identifier.
        cid / with_cid: u16 [16; 16]
    }
}

bits! {
    /// Create and Delete I/O Submission and Completion Queue, dword 10 (Base, sections 5.3 to 5.6).
    QueueDword10: u32 {
        /// Queue Identifier.
        qid / with_qid: u16 [0; 16]
        /// Queue Size in entries, less one (not for Delete).
        qsize / with_qsize: u16 [16; 16]
    }
}

bits! {
    /// Create I/O Completion Queue, dword 11 (Base, section 5.3).
    CreateCqDword11: u32 {
        /// Physically Contiguous.
        pc / with_pc: bool [0]
        /// Interrupts Enabled.
        ien / with_ien: bool [1]
        /// Interrupt Vector.
        iv / with_iv: u16 [16; 16]
    }
}

bits! {
    /// Create I/O Submission Queue, dword 11 (Base, section 5.4).
    CreateSqDword11: u32 {
        /// Physically Contiguous.
        pc / with_pc: bool [0]
        /// Queue Priority: 0 urgent, 1 high, 2 medium, 3 low.
        qprio / with_qprio: u8 [1; 2]
        /// Completion Queue Identifier.
        cqid / with_cqid: u16 [16; 16]
    }
}
