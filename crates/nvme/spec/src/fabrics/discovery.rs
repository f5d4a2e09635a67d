//! The Discovery log page: the subsystems and their addresses.

use crate::fields::codes;
use crate::le::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The name of every discovery subsystem (Fabrics, section 1.5.2).
pub const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// Head of the Discovery log page, 70h (Fabrics, section 5.3).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DiscoveryHeader {
    /// Generation Counter.
    pub genctr: U64,
    /// Number of Records.
    pub numrec: U64,
    /// Record Format: 0.
    pub recfmt: U16,
    /// Reserved.
    pub reserved18: [u8; 1006],
}

const _: () = assert!(size_of::<DiscoveryHeader>() == 1024);

/// Discovery log page entry (Fabrics, section 5.3; EFLAGS Base 2.0).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DiscoveryEntry {
    /// Transport Type, see [`TransportType`].
    pub trtype: u8,
    /// Address Family: 1 IPv4, 2 IPv6.
    pub adrfam: u8,
    /// Subsystem Type, see [`SubsystemType`].
    pub subtype: u8,
    /// Transport Requirements.
    pub treq: u8,
    /// Port ID.
    pub portid: U16,
    /// Controller ID.
    pub cntlid: U16,
    /// Admin Max SQ Size.
    pub asqsz: U16,
    /// Entry Flags.
    pub eflags: U16,
    /// Reserved.
    pub reserved12: [u8; 20],
    /// Transport Service Identifier: the port, ASCII padded with spaces.
    pub trsvcid: [u8; 32],
    /// Reserved.
    pub reserved64: [u8; 192],
    /// NVM Subsystem Qualified Name, ended by zero.
    pub subnqn: [u8; 256],
    /// Transport Address, ASCII padded with spaces.
    pub traddr: [u8; 256],
    /// Transport Specific Address Subtype; for TCP byte 0 is the security type.
    pub tsas: [u8; 256],
}

const _: () = assert!(size_of::<DiscoveryEntry>() == 1024);

codes! {
    /// Transport Type, TRTYPE (Fabrics, section 5.3).
    TransportType: u8 {
        RDMA = 1, "RDMA";
        FIBRE_CHANNEL = 2, "Fibre Channel";
        TCP = 3, "TCP";
        LOOPBACK = 254, "Intra-host";
    }
}

codes! {
    /// Subsystem Type (Fabrics, section 5.3).
    SubsystemType: u8 {
        REFERRAL = 1, "Referral to another discovery subsystem";
        NVM = 2, "NVM subsystem";
        CURRENT = 3, "This discovery subsystem";
    }
}
