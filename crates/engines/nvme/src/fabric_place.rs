//! A subsystem behind a network, by TCP or RDMA: its keys in a device name, and how it is opened.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use iolab_bounded_read::{SECRETS, read_text};
use iolab_clock::Clock;
use iolab_nvme_association::{DiscoverError, TargetAddress, discover};
use iolab_nvme_authentication::{HostSecrets, Secret, SecretError};
use iolab_nvme_driver::{Controller, ControllerOptions, DriverError};
use iolab_nvme_fabrics::{Digests, DiscoveryRecord, QualifiedName, QualifiedNameError};
use iolab_nvme_rdma::Rdma;
use iolab_nvme_spec::fabrics::SubsystemType;
use iolab_nvme_tcp::Tcp;

use crate::any_transport::AnyController;

/// The default port of NVMe targets (IANA: nvme).
const PORT: u16 = 4420;
/// The file with the host name of nvme-cli.
const HOST_NAME_FILE: &str = "/etc/nvme/hostnqn";
/// The file with the system's identifier (machine-id(5)).
const MACHINE_ID_FILE: &str = "/etc/machine-id";

/// The transport of commands to a subsystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fabric {
    /// NVMe/TCP.
    Tcp,
    /// NVMe over RDMA.
    Rdma,
}

impl Fabric {
    /// The value of `trtype=`.
    pub const fn word(self) -> &'static str {
        match self {
            Fabric::Tcp => "TCP",
            Fabric::Rdma => "RDMA",
        }
    }
}

/// A subsystem behind a network, as a device name describes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FabricPlace {
    /// The transport.
    pub fabric: Fabric,
    /// Name or address of the machine.
    pub address: String,
    /// Its port.
    pub port: u16,
    /// The subsystem; by default the target's only one.
    pub subsystem: Option<String>,
    /// The host name; by default that of this machine.
    pub host: Option<String>,
    /// Digests of headers and of data.
    pub digests: (bool, bool),
    /// The file with this host's secret.
    pub secret: Option<String>,
    /// The file with the subsystem's secret.
    pub controller_secret: Option<String>,
}

/// Why the keys of a place are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// No address.
    #[error("trtype={0} needs traddr=, the name or address of the target's machine")]
    NoAddress(&'static str),
    /// Not a port.
    #[error("trsvcid={0} is not a port")]
    Port(String),
    /// Not a word for digests.
    #[error("digest={0} is none of none, header, data, both")]
    Digest(String),
    /// A secret instead of a file name.
    #[error(
        "{0} names a file: a secret itself would be kept with the device's name in every recording (iolab nvme gen-dhchap-key --output FILE makes one)"
    )]
    Secret(String),
    /// The subsystem must authenticate itself, but the host has no secret.
    #[error("dhchap_ctrl_secret needs dhchap_secret, the secret of this host")]
    OneSided,
    /// A key that this transport does not have.
    #[error(
        "{key} cannot be used with trtype={fabric}, which has adrfam, traddr, trsvcid, subnqn, hostnqn, dhchap_secret, dhchap_ctrl_secret and ns{}",
        if *.fabric == "TCP" { ", and digest" } else { "" }
    )]
    Key {
        /// The key.
        key: String,
        /// The transport.
        fabric: &'static str,
    },
}

/// Why a subsystem behind a network cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FabricError {
    /// The target's machine.
    #[error("{address}: {reason}")]
    Resolve {
        /// Name or address.
        address: String,
        /// Why it is invalid.
        reason: String,
    },
    /// A name of a subsystem or host.
    #[error(transparent)]
    Name(#[from] QualifiedNameError),
    /// A file with a secret.
    #[error("{path}: {reason}")]
    Secret {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Discovery on the target.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// The target has no subsystem, or several.
    #[error("{at} has {count} subsystems for this host: name one by subnqn={list}")]
    Subsystems {
        /// The target.
        at: SocketAddr,
        /// How many.
        count: usize,
        /// Their names.
        list: String,
    },
    /// The controller.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

impl FabricPlace {
    /// Parses the keys of a name except `trtype`, `traddr`, `adrfam`, `priority` and `ns`.
    pub(crate) fn of(
        fabric: Fabric,
        address: Option<String>,
        pairs: &[(String, String)],
    ) -> Result<FabricPlace, PlaceError> {
        let address = address.ok_or(PlaceError::NoAddress(fabric.word()))?;
        let mut place = FabricPlace {
            fabric,
            address,
            port: PORT,
            subsystem: None,
            host: None,
            digests: (false, false),
            secret: None,
            controller_secret: None,
        };
        for (key, value) in pairs {
            match key.as_str() {
                "trsvcid" => place.port = value.parse().map_err(|_| PlaceError::Port(value.clone()))?,
                "subnqn" => place.subsystem = Some(value.clone()),
                "hostnqn" => place.host = Some(value.clone()),
                "digest" if fabric == Fabric::Tcp => {
                    place.digests = match value.to_ascii_lowercase().as_str() {
                        "none" => (false, false),
                        "header" => (true, false),
                        "data" => (false, true),
                        "both" => (true, true),
                        _ => return Err(PlaceError::Digest(value.clone())),
                    }
                }
                "dhchap_secret" | "dhchap_ctrl_secret" => {
                    if value.starts_with("DHHC-") {
                        return Err(PlaceError::Secret(key.clone()));
                    }
                    let is_own = key == "dhchap_secret";
                    *(if is_own { &mut place.secret } else { &mut place.controller_secret }) = Some(value.clone());
                }
                _ => return Err(PlaceError::Key { key: key.clone(), fabric: fabric.word() }),
            }
        }
        if place.controller_secret.is_some() && place.secret.is_none() {
            return Err(PlaceError::OneSided);
        }
        Ok(place)
    }

    /// The target and the host. Its subsystem is the named one, or not set yet.
    fn target(&self) -> Result<TargetAddress, FabricError> {
        let failed = |reason: String| FabricError::Resolve { address: self.address.clone(), reason };
        let mut found =
            (self.address.as_str(), self.port).to_socket_addrs().map_err(|error| failed(error.to_string()))?;
        let at = found.next().ok_or_else(|| failed("no such machine".to_owned()))?;
        let host = match &self.host {
            Some(name) => QualifiedName::new(name)?,
            None => this_host()?,
        };
        let subsystem = QualifiedName::new(self.subsystem.as_deref().unwrap_or(iolab_nvme_fabrics::DISCOVERY_NAME))?;
        let mut target = TargetAddress::new(at, subsystem, host, this_host_id());
        target.digests = Digests { header: self.digests.0, data: self.digests.1 };
        if let Some(path) = &self.secret {
            let controller = self.controller_secret.as_deref().map(secret_in).transpose()?;
            target.secrets = Some(HostSecrets { host: secret_in(path)?, controller });
        }
        Ok(target)
    }

    /// The target's subsystems for this host.
    pub fn discover(&self, clock: &Clock) -> Result<Vec<DiscoveryRecord>, FabricError> {
        Ok(self.ask(self.target()?, clock)?)
    }

    fn ask(&self, target: TargetAddress, clock: &Clock) -> Result<Vec<DiscoveryRecord>, DiscoverError> {
        match self.fabric {
            Fabric::Tcp => discover(target, clock, Tcp::connect),
            Fabric::Rdma => discover(target, clock, Rdma::connect),
        }
    }

    /// The target with its subsystem: the named one, or the only one.
    fn subsystem(&self, clock: &Clock) -> Result<TargetAddress, FabricError> {
        let mut target = self.target()?;
        if self.subsystem.is_none() {
            let found = self.ask(target.clone(), clock)?;
            let mut names: Vec<_> = found.into_iter().filter(|one| one.kind == SubsystemType::NVM).collect();
            names.dedup_by(|one, other| one.subsystem == other.subsystem);
            match names.as_slice() {
                [only] => target.subsystem = only.subsystem.clone(),
                _ => {
                    let list: Vec<&str> = names.iter().map(|one| one.subsystem.as_str()).collect();
                    return Err(FabricError::Subsystems { at: target.at, count: names.len(), list: list.join(", ") });
                }
            }
        }
        Ok(target)
    }

    /// A new controller.
    pub(crate) fn open(&self, clock: &Clock) -> Result<AnyController, FabricError> {
        let target = self.subsystem(clock)?;
        let options = ControllerOptions::default();
        Ok(match self.fabric {
            Fabric::Tcp => {
                AnyController::Tcp(Controller::connect(Tcp::connect(target, clock)?, clock.clone(), options)?)
            }
            Fabric::Rdma => {
                AnyController::Rdma(Controller::connect(Rdma::connect(target, clock)?, clock.clone(), options)?)
            }
        })
    }
}

impl fmt::Display for FabricPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = if self.address.contains(':') { "IPv6" } else { "IPv4" };
        write!(out, "trtype={} adrfam={family} traddr={} trsvcid={}", self.fabric.word(), self.address, self.port)?;
        if let Some(subsystem) = &self.subsystem {
            write!(out, " subnqn={subsystem}")?;
        }
        if let Some(host) = &self.host {
            write!(out, " hostnqn={host}")?;
        }
        match self.digests {
            (false, false) => {}
            (true, false) => out.write_str(" digest=header")?,
            (false, true) => out.write_str(" digest=data")?,
            (true, true) => out.write_str(" digest=both")?,
        }
        for (key, path) in [("dhchap_secret", &self.secret), ("dhchap_ctrl_secret", &self.controller_secret)] {
            if let Some(path) = path {
                write!(out, " {key}={path}")?;
            }
        }
        Ok(())
    }
}

/// The secret in a file.
fn secret_in(path: &str) -> Result<Secret, FabricError> {
    let failed = |reason: String| FabricError::Secret { path: path.to_owned(), reason };
    let text = read_text(Path::new(path), SECRETS).map_err(|error| failed(error.to_string()))?;
    text.parse().map_err(|error: SecretError| failed(error.to_string()))
}

/// The host name of this machine: that of nvme-cli, or one derived from the machine.
fn this_host() -> Result<QualifiedName, QualifiedNameError> {
    if let Some(text) = short_text(Path::new(HOST_NAME_FILE))
        && let Ok(name) = QualifiedName::new(&text)
    {
        return Ok(name);
    }
    let digits: String = this_host_id().iter().map(|byte| format!("{byte:02x}")).collect();
    QualifiedName::new(&format!(
        "nqn.2014-08.org.nvmexpress:uuid:{}-{}-{}-{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..]
    ))
}

/// An identifier of this machine that does not reveal its machine-id (machine-id(5) requires that).
fn this_host_id() -> [u8; 16] {
    let text = short_text(Path::new(MACHINE_ID_FILE)).unwrap_or_default();
    let fold = |start: u64| {
        let mix = |sum: u64, byte: u8| iolab_random::mix(sum ^ u64::from(byte));
        text.bytes().fold(start, mix).to_le_bytes()
    };
    let mut id = [0; 16];
    id[..8].copy_from_slice(&fold(0x6e76_6d65));
    id[8..].copy_from_slice(&fold(0x696f_6c61));
    // A UUID of version 8, variant 1 (RFC 9562, section 5.8).
    id[6] = id[6] & 0x0f | 0x80;
    id[8] = id[8] & 0x3f | 0x80;
    id
}

/// The first line of a small file of the system.
fn short_text(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
