//! Registers that enable, watch and shut down a controller: CC, CSTS and AQA.

use crate::fields::{bits, codes};

bits! {
    /// CC, Controller Configuration (Base, section 3.1.5).
    ControllerConfiguration: u32 {
        /// Enable.
        en / with_en: bool [0]
        /// I/O Command Set Selected: 0 NVM, 6 all that Identify lists, 7 admin only.
        css / with_css: u8 [4; 3]
        /// Memory Page Size: `2^(12 + mps)` bytes.
        mps / with_mps: u8 [7; 4]
        /// Arbitration Mechanism Selected, see [`Arbitration`].
        ams / with_ams: u8 [11; 3]
        /// Shutdown Notification, see [`ShutdownNotification`].
        shn / with_shn: u8 [14; 2]
        /// I/O Submission Queue Entry Size as a power of two.
        iosqes / with_iosqes: u8 [16; 4]
        /// I/O Completion Queue Entry Size as a power of two.
        iocqes / with_iocqes: u8 [20; 4]
        /// Controller Ready Independent of Media Enable (Base 2.0).
        crime / with_crime: bool [24]
    }
}

impl ControllerConfiguration {
    /// CSS: the NVM command set.
    pub const CSS_NVM: u8 = 0b000;
    /// CSS: all I/O command sets that the controller supports.
    pub const CSS_IDENTIFIED: u8 = 0b110;
    /// CSS: admin commands only.
    pub const CSS_ADMIN_ONLY: u8 = 0b111;
}

codes! {
    /// Values of CC.AMS (Base, section 3.1.5).
    Arbitration: u8 {
        ROUND_ROBIN = 0, "Round Robin";
        WEIGHTED_ROUND_ROBIN = 1, "Weighted Round Robin with Urgent Priority Class";
        VENDOR = 7, "Vendor Specific";
    }
}

codes! {
    /// Values of CC.SHN (Base, section 3.1.5).
    ShutdownNotification: u8 {
        NONE = 0, "No notification";
        NORMAL = 1, "Normal shutdown notification";
        ABRUPT = 2, "Abrupt shutdown notification";
    }
}

codes! {
    /// Values of CSTS.SHST (Base, section 3.1.6).
    ShutdownStatus: u8 {
        NORMAL_OPERATION = 0, "Normal operation";
        OCCURRING = 1, "Shutdown processing occurring";
        COMPLETE = 2, "Shutdown processing complete";
    }
}

bits! {
    /// CSTS, Controller Status (Base, section 3.1.6).
    ControllerStatus: u32 {
        /// Ready.
        rdy / with_rdy: bool [0]
        /// Controller Fatal Status.
        cfs / with_cfs: bool [1]
        /// Shutdown Status, see [`ShutdownStatus`].
        shst / with_shst: u8 [2; 2]
        /// NVM Subsystem Reset Occurred.
        nssro / with_nssro: bool [4]
        /// Processing Paused.
        pp / with_pp: bool [5]
        /// Shutdown Type (Base 2.0).
        st / with_st: bool [6]
    }
}

bits! {
    /// AQA, Admin Queue Attributes (Base, section 3.1.8). Sizes are entries less one.
    AdminQueueAttributes: u32 {
        /// Admin Submission Queue Size, less one.
        asqs / with_asqs: u16 [0; 12]
        /// Admin Completion Queue Size, less one.
        acqs / with_acqs: u16 [16; 12]
    }
}

impl AdminQueueAttributes {
    /// The most entries an admin queue may have.
    pub const MAX_ENTRIES: u32 = 4096;
}
