//! Decodes commands with opcode 7Fh (Fabrics, section 3).

use iolab_nvme_spec::fabrics::{
    AUTHENTICATION_PROTOCOL, AUTHENTICATION_SPECIFIC, AuthenticationCommand, FabricsType, PropertyGet, PropertySet,
};
use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{AdminOpcode, FromBytes, IntoBytes, SubmissionEntry};

/// A Fabrics command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FabricsCommand {
    /// Connect; [`crate::Connect`] decodes the rest.
    Connect,
    /// Property Get.
    PropertyGet {
        /// The property.
        register: Register,
        /// Whether it has eight bytes.
        is_wide: bool,
    },
    /// Property Set.
    PropertySet {
        /// The property.
        register: Register,
        /// Its value.
        value: u64,
        /// Whether it has eight bytes.
        is_wide: bool,
    },
    /// Disconnect.
    Disconnect,
    /// Authentication Send.
    AuthenticationSend {
        /// Bytes of its message; `None` for messages of another protocol.
        bytes: Option<u32>,
    },
    /// Authentication Receive.
    AuthenticationReceive {
        /// Bytes of room for the message; `None` for messages of another protocol.
        bytes: Option<u32>,
    },
    /// A type that this version of the specification does not have.
    Unknown(FabricsType),
}

impl FabricsCommand {
    /// Decodes a submission entry; `None` if it is not a Fabrics command.
    #[inline]
    pub fn of(entry: &SubmissionEntry) -> Option<FabricsCommand> {
        if entry.opc() != AdminOpcode::FABRICS.0 { None } else { Some(FabricsCommand::read(entry)) }
    }

    fn read(entry: &SubmissionEntry) -> FabricsCommand {
        let bytes = entry.as_bytes();
        let kind = FabricsType(bytes[4]);
        match kind {
            FabricsType::CONNECT => FabricsCommand::Connect,
            FabricsType::DISCONNECT => FabricsCommand::Disconnect,
            FabricsType::AUTHENTICATION_SEND => FabricsCommand::AuthenticationSend { bytes: message_bytes(bytes) },
            FabricsType::AUTHENTICATION_RECEIVE => {
                FabricsCommand::AuthenticationReceive { bytes: message_bytes(bytes) }
            }
            FabricsType::PROPERTY_GET => match PropertyGet::read_from_bytes(bytes) {
                Ok(get) => {
                    FabricsCommand::PropertyGet { register: Register(get.ofst.get()), is_wide: get.attrib & 7 == 1 }
                }
                Err(_) => FabricsCommand::Unknown(kind),
            },
            FabricsType::PROPERTY_SET => match PropertySet::read_from_bytes(bytes) {
                Ok(set) => FabricsCommand::PropertySet {
                    register: Register(set.ofst.get()),
                    value: set.value.get(),
                    is_wide: set.attrib & 7 == 1,
                },
                Err(_) => FabricsCommand::Unknown(kind),
            },
            _ => FabricsCommand::Unknown(kind),
        }
    }
}

/// The length in an authentication command.
fn message_bytes(bytes: &[u8]) -> Option<u32> {
    let command = AuthenticationCommand::read_from_bytes(bytes).ok()?;
    let is_known = command.secp == AUTHENTICATION_PROTOCOL
        && (command.spsp0, command.spsp1) == (AUTHENTICATION_SPECIFIC, AUTHENTICATION_SPECIFIC);
    is_known.then_some(command.length.get())
}
