//! The NVM Express specifications as types: registers, queue entries, commands, data structures,
//! fabrics.
//!
//! Drivers and devices share these layouts, so they agree with the specification and not just with
//! each other. Everything here is data: a value has getters and builders for the fields of the
//! specification, named with its abbreviations. Nothing here decides, checks or executes anything.
//! Values that a peer may send are representable even if the specification reserves them (open
//! enumerations), so reading never fails.
//!
//! Citations: *Base* is NVM Express Base Specification 1.4 (differences of 2.0 are marked), *NVM*
//! the NVM Command Set Specification 1.0, *ZNS* the Zoned Namespace Command Set Specification 1.1,
//! *Fabrics* NVMe over Fabrics 1.1, *TCP* the NVMe/TCP Transport Specification 1.0.
//!
//! Byte structures consist of little-endian fields with alignment one, and [`zerocopy`] reads them
//! from byte slices and writes them to byte slices. Queue entries are arrays of 64-bit words in the
//! processor's byte order, because they are written to rings one word at a time.
#![forbid(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("queue entries are written in the processor's byte order, which must be little endian");

mod fields;

pub mod command;
pub mod completion;
pub mod event;
pub mod fabrics;
pub mod feature;
pub mod identify;
pub mod log;
pub mod opcode;
pub mod prp;
pub mod registers;
pub mod sgl;
pub mod status;
pub mod submission;
pub mod zone;

pub use completion::CompletionEntry;
pub use opcode::{AdminOpcode, IoOpcode};
pub use status::{Status, StatusCodeType};
pub use submission::SubmissionEntry;
pub use zerocopy::little_endian as le;
pub use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// The namespace identifier that means all namespaces, or none in particular (Base, section 6.1.2).
pub const ALL_NAMESPACES: u32 = 0xffff_ffff;

/// The command identifier that commands must not use: in the error log it means "no command" (Base,
/// section 4.2).
pub const RESERVED_COMMAND_ID: u16 = 0xffff;
