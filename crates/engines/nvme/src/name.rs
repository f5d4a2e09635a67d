//! How a job names an NVMe device: SPDK's transport identifiers, and the embedded virtual SSD.
//!
//! ```text
//!   trtype=PCIe traddr=0000.06.00.0 ns=1        a real device, bound to vfio-pci
//!   trtype=VIRT traddr=NAME ns=1                a device that `iolab device serve NAME` serves
//!   trtype=VFIOUSER traddr=PATH ns=1            a function that a vfio-user server has
//!   trtype=VIRT model=nand size=8G ns=1         a virtual SSD inside this run
//! ```
//!
//! Pairs are separated by blanks; `:` may replace `=`, as in SPDK's own tools. In job files a colon
//! separates file names, so there the bytes of a PCI address are separated by dots.

use std::fmt;

use crate::fabric_place::{Fabric, FabricPlace, PlaceError};

/// A device and one of its namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceName {
    /// Where the device is.
    pub place: DevicePlace,
    /// The namespace, from 1.
    pub namespace: u32,
}

/// Where a device is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DevicePlace {
    /// On the PCI bus, at `domain:bus:device.function`.
    Pcie(String),
    /// Served by another process, under this name or at the path of this socket.
    Served(String),
    /// Behind a network.
    Fabric(FabricPlace),
    /// Served by another process through vfio-user, at the path of this socket, or of the folder
    /// that SPDK keeps it in.
    VfioUser(String),
    /// Inside this process, with these parameters of a virtual SSD in the order given.
    Embedded(Vec<(String, String)>),
}

/// Why a device name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A word without `=`.
    #[error(
        "`{word}` is not KEY=VALUE (for example, ns=1); a colon within a name, as in subnqn=, is written \\: in a job"
    )]
    NoPair {
        /// The word.
        word: String,
    },
    /// A key given twice.
    #[error("{key} is set twice")]
    Twice {
        /// The key.
        key: String,
    },
    /// No transport, or an unknown one.
    #[error(
        "unknown transport trtype={given}: use PCIe for a real device, TCP or RDMA for one on the network, VFIOUSER for one behind a vfio-user socket, VIRT for a virtual one"
    )]
    Transport {
        /// The given value.
        given: String,
    },
    /// Words that do not describe a target.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// An invalid PCI address.
    #[error("traddr={given} is not a PCI address (write domain.bus.device.function, for example 0000.06.00.0)")]
    Address {
        /// The given value.
        given: String,
    },
    /// No socket.
    #[error("trtype=VFIOUSER needs traddr=, the path of the server's socket, which begins with / or with ./")]
    Socket,
    /// An invalid namespace.
    #[error("ns={given} is not a namespace: they are numbered from 1")]
    Namespace {
        /// The given value.
        given: String,
    },
    /// A key that this transport does not have.
    #[error("{key} cannot be used with {transport}{advice}")]
    Key {
        /// The key.
        key: String,
        /// The transport.
        transport: &'static str,
        /// What to write instead.
        advice: &'static str,
    },
    /// A name of a served device that is not a valid file name.
    #[error("traddr={given} is not a device name: use letters, digits, '-', '_' and '.', or the path of a socket")]
    Served {
        /// The given value.
        given: String,
    },
}

/// Keys of SPDK's identifiers that are ignored here: the family follows from the address.
const WITHOUT_MEANING: [&str; 2] = ["adrfam", "priority"];

/// The key that may be repeated: a device may have several faults.
const MAY_REPEAT: &str = "fault";

impl DeviceName {
    /// Reads a name.
    pub fn parse(text: &str) -> Result<DeviceName, NameError> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for word in text.split_ascii_whitespace() {
            let no_pair = || NameError::NoPair { word: word.to_owned() };
            let (key, value) = word.split_once(['=', ':']).ok_or_else(no_pair)?;
            if key.is_empty() || value.is_empty() {
                return Err(no_pair());
            }
            let key = key.to_ascii_lowercase();
            if key != MAY_REPEAT && pairs.iter().any(|(before, _)| *before == key) {
                return Err(NameError::Twice { key });
            }
            pairs.push((key, value.to_owned()));
        }
        let mut take = |key: &str| {
            let position = pairs.iter().position(|(have, _)| have == key)?;
            Some(pairs.remove(position).1)
        };
        let transport = take("trtype").unwrap_or_default();
        let address = take("traddr");
        let namespace = namespace(take("ns"))?;
        for key in WITHOUT_MEANING {
            take(key);
        }
        let transport_name = transport.to_ascii_uppercase();
        if !matches!(transport_name.as_str(), "TCP" | "RDMA") {
            // A port is meaningful only on a network.
            take("trsvcid");
        }
        let place = match (transport_name.as_str(), address) {
            ("TCP", address) => DevicePlace::Fabric(FabricPlace::of(Fabric::Tcp, address, &pairs)?),
            ("RDMA", address) => DevicePlace::Fabric(FabricPlace::of(Fabric::Rdma, address, &pairs)?),
            ("PCIE", address) => pcie(address.unwrap_or_default(), &pairs)?,
            ("VFIOUSER", address) => vfio_user(address, &pairs)?,
            ("VIRT", Some(name)) => served(name, &pairs)?,
            ("VIRT", None) => DevicePlace::Embedded(pairs),
            _ => return Err(NameError::Transport { given: transport }),
        };
        Ok(DeviceName { place, namespace })
    }
}

fn namespace(given: Option<String>) -> Result<u32, NameError> {
    let Some(given) = given else { return Ok(1) };
    match given.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(NameError::Namespace { given }),
    }
}

fn pcie(address: String, rest: &[(String, String)]) -> Result<DevicePlace, NameError> {
    if let Some((key, _)) = rest.first() {
        return Err(NameError::Key { key: key.clone(), transport: "trtype=PCIe", advice: "" });
    }
    let wrong = NameError::Address { given: address.clone() };
    let parts: Vec<&str> = address.split(['.', ':']).collect();
    // The domain may be left out, as lspci does.
    let (domain, [bus, device, function]) = match parts.as_slice() {
        [domain, bus, device, function] => (*domain, [*bus, *device, *function]),
        [bus, device, function] => ("0000", [*bus, *device, *function]),
        _ => return Err(wrong),
    };
    let hex = |text: &str, digits: usize, most: u32| {
        let number = u32::from_str_radix(text, 16).ok().filter(|number| *number <= most);
        number.filter(|_| text.len() <= digits && !text.starts_with('+'))
    };
    let numbers = (hex(domain, 8, u32::MAX), hex(bus, 2, 0xff), hex(device, 2, 0x1f), hex(function, 1, 7));
    let (Some(domain), Some(bus), Some(device), Some(function)) = numbers else { return Err(wrong) };
    Ok(DevicePlace::Pcie(format!("{domain:04x}:{bus:02x}:{device:02x}.{function}")))
}

fn vfio_user(path: Option<String>, rest: &[(String, String)]) -> Result<DevicePlace, NameError> {
    if let Some((key, _)) = rest.first() {
        return Err(NameError::Key { key: key.clone(), transport: "trtype=VFIOUSER", advice: "" });
    }
    path.filter(|path| path.contains('/')).map(DevicePlace::VfioUser).ok_or(NameError::Socket)
}

fn served(name: String, rest: &[(String, String)]) -> Result<DevicePlace, NameError> {
    if let Some((key, _)) = rest.first() {
        let advice = ": a served device already has its parameters; omit traddr for a device inside the run";
        return Err(NameError::Key { key: key.clone(), transport: "a served device", advice });
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.contains('/') || (name.bytes().all(plain) && !name.starts_with('.')) {
        Ok(DevicePlace::Served(name))
    } else {
        Err(NameError::Served { given: name })
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            DevicePlace::Pcie(address) => write!(out, "trtype=PCIe traddr={}", address.replace(':', "."))?,
            DevicePlace::Served(name) => write!(out, "trtype=VIRT traddr={name}")?,
            DevicePlace::Fabric(place) => write!(out, "{place}")?,
            DevicePlace::VfioUser(path) => write!(out, "trtype=VFIOUSER traddr={path}")?,
            DevicePlace::Embedded(parameters) => {
                write!(out, "trtype=VIRT")?;
                parameters.iter().try_for_each(|(key, value)| write!(out, " {key}={value}"))?;
            }
        }
        write!(out, " ns={}", self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_printed() {
        let pcie = |address: &str| DevicePlace::Pcie(address.into());
        let on_network = |fabric, port, subsystem: Option<&str>, digests, secret: Option<&str>| {
            DevicePlace::Fabric(FabricPlace {
                fabric,
                address: "127.0.0.1".to_owned(),
                port,
                subsystem: subsystem.map(str::to_owned),
                host: None,
                digests,
                secret: secret.map(str::to_owned),
                controller_secret: None,
            })
        };
        let tcp = |port, subsystem: Option<&str>, digests| on_network(Fabric::Tcp, port, subsystem, digests, None);
        let embedded = |pairs: &[(&str, &str)]| {
            DevicePlace::Embedded(pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect())
        };
        let cases = [
            ("trtype=PCIe traddr=0000.06.00.0 ns=1", pcie("0000:06:00.0"), 1),
            ("trtype=PCIe traddr=0001.10.00.0 ns=1", pcie("0001:10:00.0"), 1),
            ("trtype:PCIe traddr:0000:06:00.0", pcie("0000:06:00.0"), 1),
            ("trtype:pcie traddr:06:1F.7 ns:3", pcie("0000:06:1f.7"), 3),
            ("trtype=PCIe  adrfam=IPv4\ttraddr=0000.06.00.0", pcie("0000:06:00.0"), 1),
            ("trtype=VIRT traddr=fast-1", DevicePlace::Served("fast-1".into()), 1),
            ("trtype=VIRT traddr=/tmp/x.sock ns=2", DevicePlace::Served("/tmp/x.sock".into()), 2),
            (
                "trtype=TCP adrfam=IPv4 traddr=127.0.0.1 trsvcid=4421 subnqn=nqn.2014-08.org.nvmexpress:uuid:1 ns=2",
                tcp(4421, Some("nqn.2014-08.org.nvmexpress:uuid:1"), (false, false)),
                2,
            ),
            ("trtype:TCP traddr:127.0.0.1 digest:both", tcp(4420, None, (true, true)), 1),
            (
                "trtype=RDMA adrfam=IPv4 traddr=127.0.0.1 trsvcid=4421 dhchap_secret=/etc/secret",
                on_network(Fabric::Rdma, 4421, None, (false, false), Some("/etc/secret")),
                1,
            ),
            ("trtype:VFIOUSER traddr:/run/fast.sock", DevicePlace::VfioUser("/run/fast.sock".into()), 1),
            ("trtype=vfiouser traddr=./a.sock trsvcid=0 ns=2", DevicePlace::VfioUser("./a.sock".into()), 2),
            ("trtype=VIRT", embedded(&[]), 1),
            (
                "trtype=VIRT fault=drop:op=read fault=fatal:after=9",
                embedded(&[("fault", "drop:op=read"), ("fault", "fatal:after=9")]),
                1,
            ),
            ("trtype=virt model=nand size=8G ns=1", embedded(&[("model", "nand"), ("size", "8G")]), 1),
        ];
        for (text, place, namespace) in cases {
            let name = DeviceName::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(name, DeviceName { place, namespace }, "{text}");
            assert_eq!(DeviceName::parse(&name.to_string()), Ok(name), "{text} printed");
        }
    }

    #[test]
    fn what_is_no_name_says_why() {
        let cases = [
            ("", "unknown transport trtype=:"),
            ("traddr=0000.06.00.0", "unknown transport"),
            ("trtype=FC traddr=1.2.3.4", "unknown transport trtype=FC"),
            ("trtype=RDMA traddr=1.2.3.4 digest=both", "digest cannot be used with trtype=RDMA"),
            ("trtype=TCP trsvcid=4420", "needs traddr="),
            ("trtype=TCP traddr=a trsvcid=http", "not a port"),
            ("trtype=TCP traddr=a digest=sha", "none of none, header, data, both"),
            ("trtype=TCP traddr=a dhchap_secret=DHHC-1:00:AAAA:", "dhchap_secret names a file"),
            ("trtype=TCP traddr=a dhchap_ctrl_secret=/a", "needs dhchap_secret"),
            ("trtype=TCP traddr=a size=1G", "size cannot be used with trtype=TCP"),
            ("trtype=VFIOUSER", "the path of the server's socket"),
            ("trtype=VFIOUSER traddr=fast", "the path of the server's socket"),
            ("trtype=VFIOUSER traddr=/a size=1G", "size cannot be used with trtype=VFIOUSER"),
            ("trtype=PCIe", "not a PCI address"),
            ("trtype=PCIe traddr=0000.06.00", "not a PCI address"),
            ("trtype=PCIe traddr=0000.06.20.0", "not a PCI address"),
            ("trtype=PCIe traddr=0000.06.00.8", "not a PCI address"),
            ("trtype=PCIe traddr=0000.06.00.0 model=nand", "model cannot be used with trtype=PCIe"),
            ("trtype=VIRT traddr=a size=1G", "omit traddr"),
            ("trtype=VIRT traddr=a|b", "not a device name"),
            ("trtype=VIRT traddr=.a", "not a device name"),
            ("trtype=VIRT ns=0", "numbered from 1"),
            ("trtype=VIRT ns=x", "numbered from 1"),
            ("trtype=VIRT size", "not KEY=VALUE"),
            ("trtype=VIRT size=", "not KEY=VALUE"),
            ("trtype=VIRT size=1G size=2G", "size is set twice"),
        ];
        for (text, expected) in cases {
            let error = DeviceName::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
