//! Why a command fails: its status, and the details for the error log.
//!
//! Guarantees: an error is plain data and costs nothing where it does not happen. Deliberately not
//! here: the log.

use iolab_nvme_spec::Status;
use iolab_nvme_spec::log::ParameterLocation;

/// No part of the command is to blame (Base, section 5.14.1.1).
const NO_LOCATION: u16 = 0xffff;

/// The error of a failed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandError {
    /// The status; it includes DNR if the same command would fail again.
    pub status: Status,
    /// The location of the error in the command.
    pub location: u16,
    /// The first block with the error.
    pub lba: u64,
}

impl CommandError {
    /// An error that occurs again when the command is retried.
    pub const fn permanent(status: Status) -> CommandError {
        CommandError { status: status.with_dnr(true), location: NO_LOCATION, lba: 0 }
    }

    /// An error that may not occur again if the command is retried.
    pub const fn transient(status: Status) -> CommandError {
        CommandError { status, location: NO_LOCATION, lba: 0 }
    }

    /// An invalid field, whose first bit is `bit` of byte `byte` of the command.
    pub const fn field(byte: u8, bit: u8) -> CommandError {
        CommandError::permanent(Status::INVALID_FIELD).at(byte, bit)
    }

    /// Adds the place in the command that caused the error.
    pub const fn at(mut self, byte: u8, bit: u8) -> CommandError {
        self.location = ParameterLocation(0).with_byte(byte).with_bit(bit).0;
        self
    }

    /// Adds the block that caused the error.
    pub const fn on_block(mut self, lba: u64) -> CommandError {
        self.lba = lba;
        self
    }
}

/// Bytes of the command where fields begin (Base, section 4.2).
pub(crate) mod place {
    pub(crate) const OPCODE: u8 = 0;
    pub(crate) const FLAGS: u8 = 1;
    pub(crate) const CID: u8 = 2;
    pub(crate) const NSID: u8 = 4;
    pub(crate) const PRP1: u8 = 24;
    pub(crate) const PRP2: u8 = 32;
    pub(crate) const CDW10: u8 = 40;
    pub(crate) const CDW11: u8 = 44;
    pub(crate) const CDW12: u8 = 48;
    pub(crate) const CDW13: u8 = 52;
}
