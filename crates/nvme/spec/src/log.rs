//! Log pages (Base, section 5.14.1).

mod ana;
mod error;
mod health;

pub use ana::{ANA_GROUPS_ONLY, AnaGroup, AnaHeader, AnaState};
pub use error::{ErrorLogEntry, ParameterLocation};
pub use health::{CriticalWarning, HealthLog};

use crate::fields::{bits, codes};
use crate::le::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

codes! {
    /// Log Page Identifier (Base, section 5.14.1; BFh ZNS; 70h Fabrics).
    LogPage: u8 {
        SUPPORTED = 0x00, "Supported Log Pages";
        ERROR = 0x01, "Error Information";
        HEALTH = 0x02, "SMART / Health Information";
        FIRMWARE_SLOTS = 0x03, "Firmware Slot Information";
        CHANGED_NAMESPACES = 0x04, "Changed Namespace List";
        COMMANDS_SUPPORTED = 0x05, "Commands Supported and Effects";
        SELF_TEST = 0x06, "Device Self-test";
        TELEMETRY_HOST = 0x07, "Telemetry Host-Initiated";
        TELEMETRY_CONTROLLER = 0x08, "Telemetry Controller-Initiated";
        ENDURANCE_GROUP = 0x09, "Endurance Group Information";
        PREDICTABLE_LATENCY = 0x0a, "Predictable Latency Per NVM Set";
        ANA = 0x0c, "Asymmetric Namespace Access";
        PERSISTENT_EVENTS = 0x0d, "Persistent Event Log";
        DISCOVERY = 0x70, "Discovery";
        RESERVATION_NOTIFICATION = 0x80, "Reservation Notification";
        SANITIZE = 0x81, "Sanitize Status";
        CHANGED_ZONES = 0xbf, "Changed Zone List";
    }
}

/// Firmware Slot Information (Base, section 5.14.1.3).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FirmwareSlots {
    /// Active Firmware Info: bits 2:0 the running slot, bits 6:4 the slot after the next reset.
    pub afi: u8,
    /// Reserved.
    pub reserved1: [u8; 7],
    /// Firmware Revision of slots 1 to 7, ASCII; zeroes for an empty slot.
    pub frs: [[u8; 8]; 7],
    /// Reserved.
    pub reserved64: [u8; 448],
}

const _: () = assert!(size_of::<FirmwareSlots>() == 512);

/// Changed Namespace List (Base, section 5.14.1.4). The first identifier is all ones if more
/// namespaces changed than fit.
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

/// Commands Supported and Effects (Base, section 5.14.1.5). Each entry is a [`CommandEffects`].
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct CommandsSupported {
    /// Admin commands, by opcode.
    pub acs: [U32; 256],
    /// I/O commands, by opcode.
    pub iocs: [U32; 256],
    /// Reserved.
    pub reserved2048: [u8; 2048],
}

const _: () = assert!(size_of::<CommandsSupported>() == 4096);

bits! {
    /// What a command may change (Base, section 5.14.1.5).
    CommandEffects: u32 {
        /// Command Supported.
        csupp / with_csupp: bool [0]
        /// Logical Block Content Change.
        lbcc / with_lbcc: bool [1]
        /// Namespace Capability Change.
        ncc / with_ncc: bool [2]
        /// Namespace Inventory Change.
        nic / with_nic: bool [3]
        /// Controller Capability Change.
        ccc / with_ccc: bool [4]
        /// Command Submission and Execution: 0 no restriction, 1 alone on the namespace, 2 alone on
        /// any namespace.
        cse / with_cse: u8 [16; 3]
        /// UUID Selection Supported.
        uuid / with_uuid: bool [19]
    }
}

/// Sanitize Status (Base, section 5.14.1.16.2).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SanitizeLog {
    /// Sanitize Progress: 65,536ths, all ones if none is in progress.
    pub sprog: U16,
    /// Sanitize Status: bits 2:0 see [`SanitizeState`], bits 7:3 overwrite passes done, bit 8
    /// global data erased.
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
