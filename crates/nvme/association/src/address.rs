//! Which subsystem, as whom, and how.

use std::net::SocketAddr;

use iolab_nvme_authentication::HostSecrets;
use iolab_nvme_fabrics::{Digests, QualifiedName};

/// A subsystem of a target, and the host that wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetAddress {
    /// Where the target listens.
    pub at: SocketAddr,
    /// The subsystem's name.
    pub subsystem: QualifiedName,
    /// The host's name.
    pub host: QualifiedName,
    /// The host's identifier.
    pub host_id: [u8; 16],
    /// With what host and controller prove who they are, if the target asks for it, or there is a
    /// secret of the controller.
    pub secrets: Option<HostSecrets>,
    /// Digests to ask for over TCP; the target may grant fewer.
    pub digests: Digests,
    /// After so long without a word of the host, the target ends the controller; 0 for never.
    pub keep_alive_ms: u32,
    /// How long one step of a connection may take.
    pub connect_ns: u64,
    /// How long a broken connection is tried to be made again.
    pub reconnect_ns: u64,
}

impl TargetAddress {
    /// With the usual times: a keep alive timer of 5 seconds, steps of at most 5 seconds, and 10
    /// seconds for making a connection again.
    pub fn new(at: SocketAddr, subsystem: QualifiedName, host: QualifiedName, host_id: [u8; 16]) -> TargetAddress {
        TargetAddress {
            at,
            subsystem,
            host,
            host_id,
            secrets: None,
            digests: Digests::default(),
            keep_alive_ms: 5000,
            connect_ns: 5_000_000_000,
            reconnect_ns: 10_000_000_000,
        }
    }
}
