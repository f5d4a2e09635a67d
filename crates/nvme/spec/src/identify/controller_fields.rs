//! Bit fields within the Identify Controller data structure.

use crate::fields::bits;

bits! {
    /// OACS, Optional Admin Command Support (Base, section 5.15.2.2).
    AdminCapabilities: u16 {
        /// Security Send and Security Receive.
        security / with_security: bool [0]
        /// Format NVM.
        format / with_format: bool [1]
        /// Firmware Commit and Firmware Image Download.
        firmware / with_firmware: bool [2]
        /// Namespace Management and Namespace Attachment.
        namespace_management / with_namespace_management: bool [3]
        /// Device Self-test.
        self_test / with_self_test: bool [4]
        /// Directives.
        directives / with_directives: bool [5]
        /// NVMe-MI Send and Receive.
        management_interface / with_management_interface: bool [6]
        /// Virtualization Management.
        virtualization / with_virtualization: bool [7]
        /// Doorbell Buffer Config.
        doorbell_buffer / with_doorbell_buffer: bool [8]
        /// Get LBA Status.
        lba_status / with_lba_status: bool [9]
        /// Command and Feature Lockdown (Base 2.0).
        lockdown / with_lockdown: bool [10]
    }
}

bits! {
    /// ONCS, Optional NVM Command Support (Base, section 5.15.2.2; Copy Base 2.0).
    IoCapabilities: u16 {
        /// Compare.
        compare / with_compare: bool [0]
        /// Write Uncorrectable.
        write_uncorrectable / with_write_uncorrectable: bool [1]
        /// Dataset Management.
        dataset_management / with_dataset_management: bool [2]
        /// Write Zeroes.
        write_zeroes / with_write_zeroes: bool [3]
        /// Save and Select fields of the features commands.
        feature_save / with_feature_save: bool [4]
        /// Reservations.
        reservations / with_reservations: bool [5]
        /// Timestamp.
        timestamp / with_timestamp: bool [6]
        /// Verify.
        verify / with_verify: bool [7]
        /// Copy.
        copy / with_copy: bool [8]
    }
}

bits! {
    /// SQES and CQES, queue entry sizes as powers of two (Base, section 5.15.2.2).
    QueueEntrySize: u8 {
        /// The required size.
        required / with_required: u8 [0; 4]
        /// The largest supported size.
        maximum / with_maximum: u8 [4; 4]
    }
}

bits! {
    /// VWC, Volatile Write Cache (Base, section 5.15.2.2).
    VolatileWriteCache: u8 {
        /// There is a volatile write cache.
        present / with_present: bool [0]
        /// Flush with all namespaces: 0 not reported, 2 refused, 3 supported.
        flush_all / with_flush_all: u8 [1; 2]
    }
}

bits! {
    /// FNA, Format NVM Attributes (Base, section 5.15.2.2).
    FormatAttributes: u8 {
        /// A format applies to all namespaces.
        formats_all / with_formats_all: bool [0]
        /// A secure erase applies to all namespaces.
        erases_all / with_erases_all: bool [1]
        /// Cryptographic erase is supported.
        cryptographic_erase / with_cryptographic_erase: bool [2]
        /// Formatting all namespaces at once is not supported (Base 2.0).
        no_broadcast / with_no_broadcast: bool [3]
    }
}

bits! {
    /// SGLS, SGL Support (Base, section 5.15.2.2).
    SglSupport: u32 {
        /// 0 no SGLs, 1 without alignment, 2 with dword alignment and granularity.
        supported / with_supported: u8 [0; 2]
        /// Keyed SGL Data Block descriptors.
        keyed / with_keyed: bool [2]
        /// Bit Bucket descriptors.
        bit_bucket / with_bit_bucket: bool [16]
        /// Metadata in a contiguous buffer with byte alignment.
        byte_aligned_metadata / with_byte_aligned_metadata: bool [17]
        /// SGLs longer than the data.
        longer / with_longer: bool [18]
        /// The metadata pointer may hold an SGL segment.
        metadata_sgl / with_metadata_sgl: bool [19]
        /// The address of a data block may be an offset.
        offset / with_offset: bool [20]
        /// Transport SGL Data Block descriptors.
        transport / with_transport: bool [21]
    }
}

bits! {
    /// SANICAP, Sanitize Capabilities (Base, section 5.15.2.2).
    SanitizeCapabilities: u32 {
        /// Crypto Erase.
        crypto_erase / with_crypto_erase: bool [0]
        /// Block Erase.
        block_erase / with_block_erase: bool [1]
        /// Overwrite.
        overwrite / with_overwrite: bool [2]
        /// No-Deallocate Inhibited.
        ndi / with_ndi: bool [29]
        /// No-Deallocate Modifies Media After Sanitize.
        nodmmas / with_nodmmas: u8 [30; 2]
    }
}
