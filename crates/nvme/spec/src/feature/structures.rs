//! Features whose value is a structure in memory.

use crate::fields::bits;
use crate::le::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Timestamp (Base, section 5.21.1.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Timestamp {
    /// Milliseconds since the epoch: 48 bits.
    pub milliseconds: [u8; 6],
    /// Origin and synch of the count; zero when the host sets it.
    pub attributes: u8,
    /// Reserved.
    pub reserved: u8,
}

const _: () = assert!(size_of::<Timestamp>() == 8);

impl Timestamp {
    /// A timestamp of this many milliseconds; more than 48 bits are cut off.
    pub const fn new(milliseconds: u64, attributes: TimestampAttributes) -> Timestamp {
        let [a, b, c, d, e, f, ..] = milliseconds.to_le_bytes();
        Timestamp { milliseconds: [a, b, c, d, e, f], attributes: attributes.0, reserved: 0 }
    }

    /// Milliseconds since the epoch.
    pub const fn milliseconds(&self) -> u64 {
        let [a, b, c, d, e, f] = self.milliseconds;
        u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }
}

bits! {
    /// Byte 6 of a timestamp that Get Features returns (Base, section 5.21.1.14).
    TimestampAttributes: u8 {
        /// Synch: the controller may have stopped counting meanwhile.
        synch / with_synch: bool [0]
        /// Timestamp Origin: 0 cleared at reset, 1 set by the host.
        origin / with_origin: u8 [1; 3]
    }
}

/// Host Behavior Support (Base, section 5.21.1.22; ETDAS and LBAFEE Base 2.0).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct HostBehavior {
    /// Advanced Command Retry Enable: 1 if the host heeds Command Retry Delay.
    pub acre: u8,
    /// Extended Telemetry Data Area 4 Supported.
    pub etdas: u8,
    /// LBA Format Extension Enable.
    pub lbafee: u8,
    /// Reserved.
    pub reserved: [u8; 509],
}

const _: () = assert!(size_of::<HostBehavior>() == 512);

/// One descriptor of the host memory buffer (Base, section 5.21.1.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct HostMemoryDescriptor {
    /// Buffer Address, aligned to a memory page.
    pub badd: U64,
    /// Buffer Size in memory pages.
    pub bsize: U32,
    /// Reserved.
    pub reserved: U32,
}

const _: () = assert!(size_of::<HostMemoryDescriptor>() == 16);

/// Autonomous Power State Transition: one entry for each power state (Base, section 5.21.1.12).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct AutonomousPowerStateTransition {
    /// Bits 7:3 idle transition power state, bits 31:8 idle time before it in milliseconds.
    pub entries: [U64; 32],
}

const _: () = assert!(size_of::<AutonomousPowerStateTransition>() == 256);

/// LBA Range Type: one entry (Base, section 5.21.1.3).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RangeType {
    /// Type: 0 general purpose, 1 file system, 2 RAID, 3 cache, 4 page or swap file.
    pub kind: u8,
    /// Attributes: bit 0 may be overwritten, bit 1 hidden.
    pub attributes: u8,
    /// Reserved.
    pub reserved2: [u8; 14],
    /// Starting LBA.
    pub slba: U64,
    /// Number of Logical Blocks, less one.
    pub nlb: U64,
    /// Unique Identifier.
    pub guid: [u8; 16],
    /// Reserved.
    pub reserved48: [u8; 16],
}

const _: () = assert!(size_of::<RangeType>() == 64);
