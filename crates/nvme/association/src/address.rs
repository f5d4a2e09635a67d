//! The address of a subsystem, and the identity and options of the host.

use std::net::SocketAddr;

use iolab_nvme_authentication::HostSecrets;
use iolab_nvme_fabrics::{Digests, QualifiedName};

/// A subsystem of a target, and the host that connects to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetAddress {
    /// The target's socket address.
    pub at: SocketAddr,
    /// The subsystem's name.
    pub subsystem: QualifiedName,
    /// The host's name.
    pub host: QualifiedName,
    /// The host's identifier.
    pub host_id: [u8; 16],
    /// The secrets with which host and controller authenticate, if the target requires it or if
    /// there is a secret for the controller.
    pub secrets: Option<HostSecrets>,
    /// Digests to request over TCP; the target may grant fewer.
    pub digests: Digests,
    /// The target ends the controller if the host is silent for this long; 0 for never.
    pub keep_alive_ms: u32,
    /// How long one step of a connection may take.
    pub connect_ns: u64,
    /// How long to retry a broken connection.
    pub reconnect_ns: u64,
}

impl TargetAddress {
    /// An address with the default times: a keep alive timer of 5 seconds, steps of at most 5
    /// seconds, and 10 seconds for reconnecting.
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
