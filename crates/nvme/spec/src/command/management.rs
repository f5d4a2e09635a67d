//! Commands that change the device as a whole: format, namespaces, firmware, sanitize, security.

use crate::fields::{bits, codes};

bits! {
    /// Format NVM, dword 10 (Base, section 5.23; LBAFU NVM, section 4.1.2).
    FormatDword10: u32 {
        /// LBA Format, bits 3:0.
        lbafl / with_lbafl: u8 [0; 4]
        /// Metadata Settings: as part of an extended LBA.
        mset / with_mset: bool [4]
        /// Protection Information type.
        pi / with_pi: u8 [5; 3]
        /// Protection Information Location: first bytes of the metadata.
        pil / with_pil: bool [8]
        /// Secure Erase Settings, see [`SecureErase`].
        ses / with_ses: u8 [9; 3]
        /// LBA Format, bits 5:4.
        lbafu / with_lbafu: u8 [12; 2]
    }
}

codes! {
    /// Secure Erase Settings of Format NVM (Base, section 5.23).
    SecureErase: u8 {
        NONE = 0, "No secure erase";
        USER_DATA = 1, "User Data Erase";
        CRYPTOGRAPHIC = 2, "Cryptographic Erase";
    }
}

codes! {
    /// SEL of Namespace Management, dword 10 bits 3:0 (Base, section 5.20).
    NamespaceManagementSelect: u8 {
        CREATE = 0, "Create";
        DELETE = 1, "Delete";
    }
}

codes! {
    /// SEL of Namespace Attachment, dword 10 bits 3:0 (Base, section 5.19).
    NamespaceAttachmentSelect: u8 {
        ATTACH = 0, "Controller Attach";
        DETACH = 1, "Controller Detach";
    }
}

bits! {
    /// Firmware Commit, dword 10 (Base, section 5.11). Firmware Image Download has the number of
    /// dwords, less one, in dword 10 and the offset in dwords in dword 11 (section 5.12).
    FirmwareCommitDword10: u32 {
        /// Firmware Slot; 0 lets the controller choose.
        fs / with_fs: u8 [0; 3]
        /// Commit Action, see [`FirmwareAction`].
        ca / with_ca: u8 [3; 3]
        /// Boot Partition ID.
        bpid / with_bpid: bool [31]
    }
}

codes! {
    /// Commit Action (Base, section 5.11).
    FirmwareAction: u8 {
        REPLACE = 0, "Replace the image of the slot";
        REPLACE_AND_ACTIVATE = 1, "Replace the image and activate it at the next reset";
        ACTIVATE_AT_RESET = 2, "Activate the image of the slot at the next reset";
        ACTIVATE_NOW = 3, "Activate the image of the slot immediately";
        REPLACE_BOOT_PARTITION = 6, "Replace the boot partition";
        ACTIVATE_BOOT_PARTITION = 7, "Mark the boot partition active";
    }
}

bits! {
    /// Sanitize, dword 10 (Base, section 5.24). Dword 11 is the overwrite pattern.
    SanitizeDword10: u32 {
        /// Sanitize Action, see [`SanitizeAction`].
        sanact / with_sanact: u8 [0; 3]
        /// Allow Unrestricted Sanitize Exit.
        ause / with_ause: bool [3]
        /// Overwrite Pass Count; 0 for 16.
        owpass / with_owpass: u8 [4; 4]
        /// Overwrite Invert Pattern Between Passes.
        oipbp / with_oipbp: bool [8]
        /// No-Deallocate After Sanitize.
        ndas / with_ndas: bool [9]
    }
}

codes! {
    /// Sanitize Action (Base, section 5.24).
    SanitizeAction: u8 {
        EXIT_FAILURE_MODE = 1, "Exit Failure Mode";
        BLOCK_ERASE = 2, "Block Erase";
        OVERWRITE = 3, "Overwrite";
        CRYPTO_ERASE = 4, "Crypto Erase";
    }
}

bits! {
    /// Security Send and Security Receive, dword 10 (Base, sections 5.26 and 5.25). Dword 11 is the
    /// length in bytes.
    SecurityDword10: u32 {
        /// NVMe Security Specific Field.
        nssf / with_nssf: u8 [0; 8]
        /// Security Protocol Specific, bits 7:0 and 15:8.
        spsp / with_spsp: u16 [8; 16]
        /// Security Protocol.
        secp / with_secp: u8 [24; 8]
    }
}
