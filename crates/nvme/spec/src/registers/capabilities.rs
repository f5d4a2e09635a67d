//! The capabilities of a controller, readable before it is enabled: CAP and VS.

use crate::fields::bits;

bits! {
    /// CAP, Controller Capabilities (Base, section 3.1.1; CRMS and NSSS from Base 2.0, section
    /// 3.1.3.1).
    Capabilities: u64 {
        /// Maximum Queue Entries Supported, less one.
        mqes / with_mqes: u16 [0; 16]
        /// Contiguous Queues Required.
        cqr / with_cqr: bool [16]
        /// Arbitration Mechanism Supported: bit 0 weighted round robin, bit 1 vendor specific.
        ams / with_ams: u8 [17; 2]
        /// Timeout: the longest wait for CSTS.RDY to change, in units of 500 ms.
        to / with_to: u8 [24; 8]
        /// Doorbell Stride: the distance of doorbells is `4 << dstrd` bytes.
        dstrd / with_dstrd: u8 [32; 4]
        /// NVM Subsystem Reset Supported.
        nssrs / with_nssrs: bool [36]
        /// Command Sets Supported: bit 0 NVM, bit 6 one or more others (see Identify), bit 7 no I/O
        /// command set.
        css / with_css: u8 [37; 8]
        /// Boot Partition Support.
        bps / with_bps: bool [45]
        /// Memory Page Size Minimum: `2^(12 + mpsmin)` bytes.
        mpsmin / with_mpsmin: u8 [48; 4]
        /// Memory Page Size Maximum: `2^(12 + mpsmax)` bytes.
        mpsmax / with_mpsmax: u8 [52; 4]
        /// Persistent Memory Region Supported.
        pmrs / with_pmrs: bool [56]
        /// Controller Memory Buffer Supported.
        cmbs / with_cmbs: bool [57]
        /// NVM Subsystem Shutdown Supported.
        nsss / with_nsss: bool [58]
        /// Controller Ready Modes Supported: bit 0 with media, bit 1 independent of media.
        crms / with_crms: u8 [59; 2]
    }
}

impl Capabilities {
    /// CSS bit 0: the NVM command set.
    pub const CSS_NVM: u8 = 1 << 0;
    /// CSS bit 6: one or more I/O command sets, which Identify lists.
    pub const CSS_IDENTIFIED: u8 = 1 << 6;
    /// CSS bit 7: no I/O command set.
    pub const CSS_NONE: u8 = 1 << 7;

    /// CAP.TO in nanoseconds.
    pub const fn timeout_ns(self) -> u64 {
        self.to() as u64 * 500_000_000
    }

    /// The most entries a queue may have.
    pub const fn max_queue_entries(self) -> u32 {
        self.mqes() as u32 + 1
    }

    /// Smallest memory page, in bytes.
    pub const fn min_page_bytes(self) -> u64 {
        1 << (12 + self.mpsmin())
    }

    /// Largest memory page, in bytes.
    pub const fn max_page_bytes(self) -> u64 {
        1 << (12 + self.mpsmax())
    }
}

bits! {
    /// VS, Version (Base, section 3.1.2).
    Version: u32 {
        /// Tertiary version number.
        ter / with_ter: u8 [0; 8]
        /// Minor version number.
        mnr / with_mnr: u8 [8; 8]
        /// Major version number.
        mjr / with_mjr: u16 [16; 16]
    }
}

impl Version {
    /// NVM Express 1.4.
    pub const V1_4: Version = Version(0x0001_0400);
    /// NVM Express 2.0.
    pub const V2_0: Version = Version(0x0002_0000);
}

impl core::fmt::Display for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}.{}", self.mjr(), self.mnr(), self.ter())
    }
}
