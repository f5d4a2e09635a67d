//! Zones: descriptors, reports and actions (ZNS, sections 2.1 and 3.4).

use crate::fields::{bits, codes};
use crate::le::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

codes! {
    /// Zone State (ZNS, section 2.1.1).
    ZoneState: u8 {
        EMPTY = 0x1, "Empty";
        IMPLICITLY_OPENED = 0x2, "Implicitly Opened";
        EXPLICITLY_OPENED = 0x3, "Explicitly Opened";
        CLOSED = 0x4, "Closed";
        READ_ONLY = 0xd, "Read Only";
        FULL = 0xe, "Full";
        OFFLINE = 0xf, "Offline";
    }
}

codes! {
    /// Zone Type (ZNS, zone descriptor).
    ZoneType: u8 {
        SEQUENTIAL_WRITE_REQUIRED = 0x2, "Sequential Write Required";
    }
}

codes! {
    /// Zone Send Action of Zone Management Send (ZNS, section 3.4.3).
    ZoneSendAction: u8 {
        CLOSE = 0x01, "Close Zone";
        FINISH = 0x02, "Finish Zone";
        OPEN = 0x03, "Open Zone";
        RESET = 0x04, "Reset Zone";
        OFFLINE = 0x05, "Offline Zone";
        SET_DESCRIPTOR_EXTENSION = 0x10, "Set Zone Descriptor Extension";
        FLUSH_ZRWA = 0x11, "Commit Zone Random Write Area";
    }
}

codes! {
    /// Zone Receive Action of Zone Management Receive (ZNS, section 3.4.2).
    ZoneReceiveAction: u8 {
        REPORT = 0x00, "Report Zones";
        EXTENDED_REPORT = 0x01, "Extended Report Zones";
    }
}

codes! {
    /// Which zones a report lists: the Zone Receive Action Specific Field (ZNS, section 3.4.2).
    ReportedZones: u8 {
        ALL = 0x0, "All zones";
        EMPTY = 0x1, "Zones in state Empty";
        IMPLICITLY_OPENED = 0x2, "Zones in state Implicitly Opened";
        EXPLICITLY_OPENED = 0x3, "Zones in state Explicitly Opened";
        CLOSED = 0x4, "Zones in state Closed";
        FULL = 0x5, "Zones in state Full";
        READ_ONLY = 0x6, "Zones in state Read Only";
        OFFLINE = 0x7, "Zones in state Offline";
    }
}

bits! {
    /// Command dword 13 of Zone Management Send (ZNS, section 3.4.3).
    ZoneSend: u32 {
        /// Zone Send Action, see [`ZoneSendAction`].
        zsa / with_zsa: u8 [0; 8]
        /// Select All: every zone that the action applies to, whatever the starting LBA.
        select_all / with_select_all: bool [8]
        /// Zone Send Action Specific Option.
        zsaso / with_zsaso: bool [9]
    }
}

bits! {
    /// Command dword 13 of Zone Management Receive (ZNS, section 3.4.2).
    ZoneReceive: u32 {
        /// Zone Receive Action, see [`ZoneReceiveAction`].
        zra / with_zra: u8 [0; 8]
        /// Zone Receive Action Specific Field, see [`ReportedZones`].
        zrasf / with_zrasf: u8 [8; 8]
        /// Partial Report: the header counts the descriptors that fit, not all that match.
        partial / with_partial: bool [16]
    }
}

/// Header of Report Zones (ZNS, section 3.4.2); descriptors follow, each with its extension if
/// asked for.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ZoneReportHeader {
    /// Number of Zones.
    pub number_of_zones: U64,
    /// Reserved.
    pub reserved: [u8; 56],
}

const _: () = assert!(size_of::<ZoneReportHeader>() == 64);

/// Zone Descriptor (ZNS, section 3.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ZoneDescriptor {
    /// Zone Type in bits 3:0.
    pub zt: u8,
    /// Zone State in bits 7:4.
    pub zs: u8,
    /// Zone Attributes: bit 0 finished by the controller, 1 finish recommended, 2 reset
    /// recommended, 7 has extension.
    pub za: u8,
    /// Zone Attributes Information.
    pub zai: u8,
    /// Reserved.
    pub reserved4: [u8; 4],
    /// Zone Capacity in logical blocks.
    pub zcap: U64,
    /// Zone Start Logical Block Address.
    pub zslba: U64,
    /// Write Pointer, a logical block address.
    pub wp: U64,
    /// Reserved.
    pub reserved32: [u8; 32],
}

const _: () = assert!(size_of::<ZoneDescriptor>() == 64);

impl ZoneDescriptor {
    /// Zone State.
    pub const fn state(&self) -> ZoneState {
        ZoneState(self.zs >> 4)
    }

    /// Zone Type.
    pub const fn zone_type(&self) -> ZoneType {
        ZoneType(self.zt & 0xf)
    }
}
