//! The Identify Controller data structure, field for field in the specification's order.

use super::PowerStateDescriptor;
use crate::le::{U16, U32, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Identify Controller data structure, CNS 01h (Base, section 5.15.2.2; Base 2.0, section
/// 5.17.2.1).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IdentifyController {
    /// PCI Vendor ID.
    pub vid: U16,
    /// PCI Subsystem Vendor ID.
    pub ssvid: U16,
    /// Serial Number, ASCII padded with spaces.
    pub sn: [u8; 20],
    /// Model Number, ASCII padded with spaces.
    pub mn: [u8; 40],
    /// Firmware Revision, ASCII padded with spaces.
    pub fr: [u8; 8],
    /// Recommended Arbitration Burst, a power of two.
    pub rab: u8,
    /// IEEE OUI Identifier.
    pub ieee: [u8; 3],
    /// Controller Multi-Path I/O and Namespace Sharing Capabilities.
    pub cmic: u8,
    /// Maximum Data Transfer Size: `2^mdts` minimum memory pages, 0 for no limit.
    pub mdts: u8,
    /// Controller ID.
    pub cntlid: U16,
    /// Version, as in the VS register.
    pub ver: U32,
    /// RTD3 Resume Latency in microseconds.
    pub rtd3r: U32,
    /// RTD3 Entry Latency in microseconds.
    pub rtd3e: U32,
    /// Optional Asynchronous Events Supported, bit for bit as in
    /// [`crate::feature::EventConfiguration`].
    pub oaes: U32,
    /// Controller Attributes.
    pub ctratt: U32,
    /// Read Recovery Levels Supported.
    pub rrls: U16,
    /// Reserved.
    pub reserved102: [u8; 9],
    /// Controller Type: 1 I/O, 2 discovery, 3 administrative.
    pub cntrltype: u8,
    /// FRU Globally Unique Identifier.
    pub fguid: [u8; 16],
    /// Command Retry Delay Times 1 to 3, in units of 100 milliseconds.
    pub crdt: [U16; 3],
    /// Reserved.
    pub reserved134: [u8; 119],
    /// NVM Subsystem Report (NVMe-MI).
    pub nvmsr: u8,
    /// VPD Write Cycle Information (NVMe-MI).
    pub vwci: u8,
    /// Management Endpoint Capabilities (NVMe-MI).
    pub mec: u8,
    /// Optional Admin Command Support, see [`super::AdminCapabilities`].
    pub oacs: U16,
    /// Abort Command Limit, less one.
    pub acl: u8,
    /// Asynchronous Event Request Limit, less one.
    pub aerl: u8,
    /// Firmware Updates.
    pub frmw: u8,
    /// Log Page Attributes.
    pub lpa: u8,
    /// Error Log Page Entries, less one.
    pub elpe: u8,
    /// Number of Power States Support, less one.
    pub npss: u8,
    /// Admin Vendor Specific Command Configuration.
    pub avscc: u8,
    /// Autonomous Power State Transition Attributes.
    pub apsta: u8,
    /// Warning Composite Temperature Threshold in kelvins.
    pub wctemp: U16,
    /// Critical Composite Temperature Threshold in kelvins.
    pub cctemp: U16,
    /// Maximum Time for Firmware Activation in units of 100 milliseconds.
    pub mtfa: U16,
    /// Host Memory Buffer Preferred Size in units of 4 KiB.
    pub hmpre: U32,
    /// Host Memory Buffer Minimum Size in units of 4 KiB.
    pub hmmin: U32,
    /// Total NVM Capacity in bytes.
    pub tnvmcap: U128,
    /// Unallocated NVM Capacity in bytes.
    pub unvmcap: U128,
    /// Replay Protected Memory Block Support.
    pub rpmbs: U32,
    /// Extended Device Self-test Time in minutes.
    pub edstt: U16,
    /// Device Self-test Options.
    pub dsto: u8,
    /// Firmware Update Granularity in units of 4 KiB.
    pub fwug: u8,
    /// Keep Alive Support: granularity in units of 100 milliseconds.
    pub kas: U16,
    /// Host Controlled Thermal Management Attributes.
    pub hctma: U16,
    /// Minimum Thermal Management Temperature in kelvins.
    pub mntmt: U16,
    /// Maximum Thermal Management Temperature in kelvins.
    pub mxtmt: U16,
    /// Sanitize Capabilities, see [`super::SanitizeCapabilities`].
    pub sanicap: U32,
    /// Host Memory Buffer Minimum Descriptor Entry Size in units of 4 KiB.
    pub hmminds: U32,
    /// Host Memory Maximum Descriptors Entries.
    pub hmmaxd: U16,
    /// NVM Set Identifier Maximum.
    pub nsetidmax: U16,
    /// Endurance Group Identifier Maximum.
    pub endgidmax: U16,
    /// ANA Transition Time in seconds.
    pub anatt: u8,
    /// Asymmetric Namespace Access Capabilities.
    pub anacap: u8,
    /// ANA Group Identifier Maximum.
    pub anagrpmax: U32,
    /// Number of ANA Group Identifiers.
    pub nanagrpid: U32,
    /// Persistent Event Log Size in units of 64 KiB.
    pub pels: U32,
    /// Domain Identifier (Base 2.0).
    pub domain: U16,
    /// Reserved.
    pub reserved358: [u8; 10],
    /// Max Endurance Group Capacity in bytes (Base 2.0).
    pub megcap: U128,
    /// Reserved.
    pub reserved384: [u8; 128],
    /// Submission Queue Entry Size, see [`super::QueueEntrySize`].
    pub sqes: u8,
    /// Completion Queue Entry Size, see [`super::QueueEntrySize`].
    pub cqes: u8,
    /// Maximum Outstanding Commands of a queue, 0 for not reported.
    pub maxcmd: U16,
    /// Number of Namespaces: the greatest namespace identifier.
    pub nn: U32,
    /// Optional NVM Command Support, see [`super::IoCapabilities`].
    pub oncs: U16,
    /// Fused Operation Support.
    pub fuses: U16,
    /// Format NVM Attributes, see [`super::FormatAttributes`].
    pub fna: u8,
    /// Volatile Write Cache, see [`super::VolatileWriteCache`].
    pub vwc: u8,
    /// Atomic Write Unit Normal in logical blocks, less one.
    pub awun: U16,
    /// Atomic Write Unit Power Fail in logical blocks, less one.
    pub awupf: U16,
    /// I/O Command Set Vendor Specific Command Configuration.
    pub icsvscc: u8,
    /// Namespace Write Protection Capabilities.
    pub nwpc: u8,
    /// Atomic Compare & Write Unit in logical blocks, less one.
    pub acwu: U16,
    /// Optional Copy Formats Supported (Base 2.0).
    pub ocfs: U16,
    /// SGL Support, see [`super::SglSupport`].
    pub sgls: U32,
    /// Maximum Number of Allowed Namespaces.
    pub mnan: U32,
    /// Reserved.
    pub reserved544: [u8; 224],
    /// NVM Subsystem NVMe Qualified Name, UTF-8 ended by zero.
    pub subnqn: [u8; 256],
    /// Reserved.
    pub reserved1024: [u8; 768],
    /// I/O Queue Command Capsule Supported Size in units of 16 bytes (Fabrics).
    pub ioccsz: U32,
    /// I/O Queue Response Capsule Supported Size in units of 16 bytes (Fabrics).
    pub iorcsz: U32,
    /// In Capsule Data Offset in units of 16 bytes (Fabrics).
    pub icdoff: U16,
    /// Fabrics Controller Attributes: bit 0 dynamic controller (Fabrics).
    pub fcatt: u8,
    /// Maximum SGL Data Block Descriptors (Fabrics).
    pub msdbd: u8,
    /// Optional Fabric Commands Support (Fabrics).
    pub ofcs: U16,
    /// Reserved.
    pub reserved1806: [u8; 242],
    /// Power State Descriptors.
    pub psd: [PowerStateDescriptor; 32],
    /// Vendor Specific.
    pub vs: [u8; 1024],
}

const _: () = assert!(size_of::<IdentifyController>() == 4096);
