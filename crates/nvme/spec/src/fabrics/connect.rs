//! Connect and Disconnect: how a queue is created and ends.

use crate::Status;
use crate::StatusCodeType;
use crate::le::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The controller identifier with which Connect asks for any controller (Fabrics, section 3.3).
pub const RESERVED_CONTROLLER_ID: u16 = 0xffff;

/// Connect command (Fabrics, section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ConnectCommand {
    /// Opcode 7Fh.
    pub opcode: u8,
    /// Reserved except for bits 7:6, PSDT.
    pub psdt: u8,
    /// Command Identifier.
    pub cid: U16,
    /// Fabrics Command Type 01h.
    pub fctype: u8,
    /// Reserved.
    pub reserved5: [u8; 19],
    /// SGL descriptor of the data.
    pub sgl1: [u8; 16],
    /// Record Format: 0.
    pub recfmt: U16,
    /// Queue ID: 0 admin.
    pub qid: U16,
    /// Submission Queue Size, less one.
    pub sqsize: U16,
    /// Connect Attributes: bits 1:0 priority class, bit 2 no SQ flow control.
    pub cattr: u8,
    /// Reserved.
    pub reserved47: u8,
    /// Keep Alive Timeout in milliseconds.
    pub kato: U32,
    /// Reserved.
    pub reserved52: [u8; 12],
}

const _: () = assert!(size_of::<ConnectCommand>() == 64);

/// Data of Connect (Fabrics, section 3.3).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ConnectData {
    /// Host Identifier.
    pub hostid: [u8; 16],
    /// Controller ID, or [`RESERVED_CONTROLLER_ID`].
    pub cntlid: U16,
    /// Reserved.
    pub reserved18: [u8; 238],
    /// NVM Subsystem NVMe Qualified Name, ended by zero.
    pub subnqn: [u8; 256],
    /// Host NVMe Qualified Name, ended by zero.
    pub hostnqn: [u8; 256],
    /// Reserved.
    pub reserved768: [u8; 256],
}

const _: () = assert!(size_of::<ConnectData>() == 1024);

/// Dword 0 of the answer to a Connect that succeeded (Fabrics, section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectAnswer(pub u32);

impl ConnectAnswer {
    /// The controller's identifier.
    pub const fn controller(self) -> u16 {
        self.0 as u16
    }

    /// AUTHREQ, ATR: the host must authenticate on this queue before anything else.
    pub const fn wants_authentication(self) -> bool {
        self.0 & 1 << 17 != 0
    }

    /// AUTHREQ, ASCR: the host must also secure the channel with the resulting key.
    pub const fn wants_secure_channel(self) -> bool {
        self.0 & 1 << 18 != 0
    }

    /// The same answer with ATR.
    #[must_use]
    pub const fn with_authentication(self) -> ConnectAnswer {
        ConnectAnswer(self.0 | 1 << 17)
    }
}

/// Disconnect command (Fabrics, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DisconnectCommand {
    /// Opcode 7Fh.
    pub opcode: u8,
    /// Reserved.
    pub reserved1: u8,
    /// Command Identifier.
    pub cid: U16,
    /// Fabrics Command Type 08h.
    pub fctype: u8,
    /// Reserved.
    pub reserved5: [u8; 35],
    /// Record Format: 0.
    pub recfmt: U16,
    /// Reserved.
    pub reserved42: [u8; 22],
}

const _: () = assert!(size_of::<DisconnectCommand>() == 64);

/// Statuses that only Fabrics commands use; their codes have other meanings for NVM commands
/// (Fabrics, section 2.2).
#[derive(Debug, Clone, Copy)]
pub struct ConnectStatus;

impl ConnectStatus {
    /// Connect Incompatible Format.
    pub const INCOMPATIBLE_FORMAT: Status = Status::new(StatusCodeType::COMMAND_SPECIFIC, 0x80);
    /// Connect Controller Busy.
    pub const CONTROLLER_BUSY: Status = Status::new(StatusCodeType::COMMAND_SPECIFIC, 0x81);
    /// Connect Invalid Parameters; the result gives the place: bits 15:0 offset, bit 16 in the
    /// data.
    pub const INVALID_PARAMETERS: Status = Status::new(StatusCodeType::COMMAND_SPECIFIC, 0x82);
    /// Connect Restart Discovery.
    pub const RESTART_DISCOVERY: Status = Status::new(StatusCodeType::COMMAND_SPECIFIC, 0x83);
    /// Connect Invalid Host.
    pub const INVALID_HOST: Status = Status::new(StatusCodeType::COMMAND_SPECIFIC, 0x84);
    /// Invalid Queue Type, of Disconnect.
    pub const INVALID_QUEUE_TYPE: Status = Status::new(StatusCodeType::COMMAND_SPECIFIC, 0x85);
    /// Discover Restart.
    pub const DISCOVER_RESTART: Status = Status::new(StatusCodeType::COMMAND_SPECIFIC, 0x90);
    /// Authentication Required.
    pub const AUTHENTICATION_REQUIRED: Status = Status::new(StatusCodeType::COMMAND_SPECIFIC, 0x91);
}
