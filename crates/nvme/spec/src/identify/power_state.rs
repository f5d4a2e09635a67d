//! Power State Descriptor, of which Identify Controller has thirty-two.

use crate::le::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Power State Descriptor (Base, section 5.15.2.2).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PowerStateDescriptor {
    /// Maximum Power, in centiwatts unless MXPS says tenths of milliwatts.
    pub mp: U16,
    /// Reserved.
    pub reserved2: u8,
    /// Bit 0 Max Power Scale, bit 1 Non-Operational State.
    pub flags: u8,
    /// Entry Latency in microseconds.
    pub enlat: U32,
    /// Exit Latency in microseconds.
    pub exlat: U32,
    /// Relative Read Throughput.
    pub rrt: u8,
    /// Relative Read Latency.
    pub rrl: u8,
    /// Relative Write Throughput.
    pub rwt: u8,
    /// Relative Write Latency.
    pub rwl: u8,
    /// Idle Power.
    pub idlp: U16,
    /// Bits 7:6 Idle Power Scale.
    pub ips: u8,
    /// Reserved.
    pub reserved19: u8,
    /// Active Power.
    pub actp: U16,
    /// Bits 2:0 Active Power Workload, bits 7:6 Active Power Scale.
    pub apw: u8,
    /// Reserved.
    pub reserved23: [u8; 9],
}

const _: () = assert!(size_of::<PowerStateDescriptor>() == 32);
