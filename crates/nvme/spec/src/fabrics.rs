//! NVMe over Fabrics: its commands, discovery, and the PDUs of NVMe/TCP.

mod authentication;
mod connect;
mod discovery;
mod property;
pub mod tcp;

pub use authentication::{AUTHENTICATION_PROTOCOL, AUTHENTICATION_SPECIFIC, AuthenticationCommand};
pub use connect::{
    ConnectAnswer, ConnectCommand, ConnectData, ConnectStatus, DisconnectCommand, RESERVED_CONTROLLER_ID,
};
pub use discovery::{DISCOVERY_NQN, DiscoveryEntry, DiscoveryHeader, SubsystemType, TransportType};
pub use property::{PropertyGet, PropertySet};

use crate::fields::codes;

codes! {
    /// Fabrics Command Type: byte 4 of a command with opcode 7Fh (Fabrics, section 3).
    FabricsType: u8 {
        PROPERTY_SET = 0x00, "Property Set";
        CONNECT = 0x01, "Connect";
        PROPERTY_GET = 0x04, "Property Get";
        AUTHENTICATION_SEND = 0x05, "Authentication Send";
        AUTHENTICATION_RECEIVE = 0x06, "Authentication Receive";
        DISCONNECT = 0x08, "Disconnect";
    }
}
