//! What a command with opcode 7Fh asks for (Fabrics, section 3).

use iolab_nvme_spec::fabrics::{FabricsType, PropertyGet, PropertySet};
use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{AdminOpcode, FromBytes, IntoBytes, SubmissionEntry};

/// A command of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FabricsCommand {
    /// Connect; [`crate::Connect`] reads the rest.
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
    /// Authentication Send or Receive.
    Authentication,
    /// A type that this version of the specification does not have.
    Unknown(FabricsType),
}

impl FabricsCommand {
    /// What a submission entry asks for; `None` if it is no command of the fabric.
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
            FabricsType::AUTHENTICATION_SEND | FabricsType::AUTHENTICATION_RECEIVE => FabricsCommand::Authentication,
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
