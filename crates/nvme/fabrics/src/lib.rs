//! NVMe over Fabrics: encoding and decoding for both ends of a connection.
//!
//! ```text
//! bytes ── Framing::next ──▶ Pdu: checked header, place of its data   ── or PduError: what a TermReq says
//! PDU   ── Framing::command, response, data, … ──▶ bytes
//! submission entry, data ── FabricsCommand, Connect ──▶ what a command of the fabric asks for
//! DiscoveryRecord ◀──▶ the Discovery log page
//! ```
//!
//! Guarantees: decoding is total. Whatever a peer sends is either decoded, or causes a typed error
//! with the specification's Fatal Error Status. No length from a peer makes this crate allocate
//! memory or read beyond its input. Not included: sockets, time, the state of a connection, and the
//! meaning of NVM commands.
#![forbid(unsafe_code)]

mod connect;
mod digest;
mod discovery;
mod encode;
mod error;
mod fabrics_command;
mod framing;
mod name;

pub use connect::{
    Connect, ConnectRefusal, authentication_receive, authentication_send, connect_data, connect_entry,
    disconnect_entry, property_get, property_set,
};
pub use digest::{RunningDigest, crc32c};
pub use discovery::{DISCOVERY_RECORD_BYTES, DiscoveryError, DiscoveryRecord, log_page, read_log_page};
pub use encode::{DataPart, MOST_HEADER_BYTES};
pub use error::PduError;
pub use fabrics_command::FabricsCommand;
pub use framing::{DataRange, Digests, Framing, Pdu, Sender};
pub use name::{DISCOVERY_NAME, MOST_NAME_BYTES, QualifiedName, QualifiedNameError};
