//! `iolab device serve --listen`: the device as an NVMe/TCP subsystem, as a PCI function behind
//! vfio-user, and as an export of NBD.

use std::fmt::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_device_link::RunningDrive;
use iolab_export::nbd::NbdPlace;
use iolab_nbd::{NbdAddress, NbdTls, NbdUri};
use iolab_nvme_fabrics::QualifiedName;
use iolab_nvme_spec::log::AnaState;
use iolab_nvme_tcp::{LinkFault, SocketLoop, TargetOptions, TcpTarget};
use iolab_vfio_user::VfioUserServer;
use iolab_virtual_ssd::{Subsystem, access_state};

use super::arguments::ServeArguments;
use super::authentication::authentication;
use crate::exit::ExitFailure;

/// The prefix of generated device names: of a domain that nobody owns (RFC 2606).
const NAME_BEGINS: &str = "nqn.2026-11.invalid.iolab:";

/// The states that `ana=` may name.
const STATES: &str = "ana= is optimized, non-optimized, inaccessible, persistent-loss or change";

/// Where a device is served, as `--listen` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Over NVMe/TCP; the asymmetric access of hosts that connect there, if it is not the device's.
    Tcp(SocketAddr, Option<AnaState>),
    /// Over vfio-user.
    VfioUser(PathBuf),
    /// By NBD; the name of the export, if the address has one; TLS.
    Nbd(NbdPlace, Option<String>, Option<NbdTls>),
}

/// Every place that `--listen` names.
pub(super) fn places(arguments: &ServeArguments) -> Result<Vec<Place>, ExitFailure> {
    let mistake = |what: String| ExitFailure::mistake(format!("iolab: {what}"));
    let places: Vec<Place> =
        arguments.listen.iter().map(|url| place(url)).collect::<Result<_, _>>().map_err(mistake)?;
    let is_named = !arguments.hosts.is_empty() || arguments.nqn.is_some();
    if is_named && !places.iter().any(|place| matches!(place, Place::Tcp(..))) {
        return Err(mistake("--hosts and --nqn are for --listen tcp://ADDRESS:PORT".to_owned()));
    }
    Ok(places)
}

/// Serves the drive over NVMe/TCP, and adds to `text` how hosts reach it.
pub(super) fn tcp(
    arguments: &ServeArguments,
    name: &str,
    drive: &Arc<Subsystem>,
    clock: &Clock,
    places: &[Place],
    text: &mut String,
) -> Result<Vec<TcpTarget>, ExitFailure> {
    let mistake = |what: String| ExitFailure::mistake(format!("iolab: {what}"));
    let qualified = |text: &str| QualifiedName::new(text).map_err(|error| mistake(format!("{text}: {error}")));
    let own = arguments.nqn.clone().unwrap_or_else(|| format!("{NAME_BEGINS}{name}"));
    let mut options = TargetOptions::new(qualified(&own)?);
    options.hosts = arguments.hosts.iter().map(|host| qualified(host)).collect::<Result<_, _>>()?;
    options.authentication = authentication(&arguments.authentication).map_err(mistake)?;
    options.pollers = usize::from(arguments.dispatchers);
    options.cpus.clone_from(&arguments.cpus);
    options.sockets = SocketLoop::of_word(&arguments.sockets).unwrap_or_default();
    let of_links = arguments.fault.iter().filter(|fault| LinkFault::is_meant(fault));
    options.faults = of_links
        .map(|fault| fault.parse::<LinkFault>().map_err(|error| mistake(format!("--fault {fault}: {error}"))))
        .collect::<Result<_, _>>()?;
    if !options.faults.is_empty() && !places.iter().any(|place| matches!(place, Place::Tcp(..))) {
        return Err(mistake("faults of links need a link: add --listen tcp://ADDRESS:PORT".to_owned()));
    }
    if arguments.busy_poll {
        options.spin_ns = u64::MAX;
    }
    let mut targets = Vec::new();
    for place in places {
        let Place::Tcp(at, access) = place else { continue };
        let target = TcpTarget::serve(drive, *at, clock, TargetOptions { access: *access, ..options.clone() })
            .map_err(|error| ExitFailure::failed(format!("iolab: {error}")))?;
        let at = target.address();
        let _ = writeln!(text, "at trtype=TCP traddr={} trsvcid={} subnqn={own}", at.ip(), at.port());
        targets.push(target);
    }
    let asks_nobody = arguments.hosts.is_empty() && options.authentication.is_none();
    if asks_nobody && targets.iter().any(|target| !target.address().ip().is_loopback()) {
        *text += "every machine that reaches this address may read and write it (--hosts admits some only, --dhchap-secret those who know a secret)\n";
    }
    Ok(targets)
}

/// Serves the drive over vfio-user, and adds to `text` how clients reach it.
pub(super) fn vfio_user(
    drive: &RunningDrive,
    places: &[Place],
    text: &mut String,
) -> Result<Vec<VfioUserServer>, ExitFailure> {
    let mut servers = Vec::new();
    for place in places {
        let Place::VfioUser(path) = place else { continue };
        let server = VfioUserServer::start(path, drive.functions())
            .map_err(|error| ExitFailure::failed(format!("iolab: cannot listen at {}: {error}", path.display())))?;
        let _ = writeln!(text, "at trtype=VFIOUSER traddr={}", path.display());
        servers.push(server);
    }
    Ok(servers)
}

/// Parses the URL of a place.
fn place(url: &str) -> Result<Place, String> {
    let advice = "write tcp://ADDRESS:PORT, as in tcp://127.0.0.1:4420, vfio-user:PATH, as in \
        vfio-user:/run/fast.sock, nbd://ADDRESS:PORT, nbd+unix:///?socket=PATH or nbds://ADDRESS:PORT/?tls-certificates=FOLDER";
    if NbdUri::is_meant(url) {
        return nbd_place(url);
    }
    if let Some(path) = url.strip_prefix("vfio-user:") {
        if path.is_empty() || path.ends_with('/') {
            return Err(format!("--listen {url} names no socket: {advice}"));
        }
        // Clients would not recognise a relative path without a folder as a path.
        let path = if path.contains('/') { path.to_owned() } else { format!("./{path}") };
        return Ok(Place::VfioUser(path.into()));
    }
    let Some(place) = url.strip_prefix("tcp://") else {
        return Err(format!("--listen {url} is nothing that a device can be served at: {advice}"));
    };
    let (place, access) = match place.split_once(",ana=") {
        Some((place, state)) => (place, Some(access_state(state).ok_or_else(|| format!("--listen {url}: {STATES}"))?)),
        None => (place, None),
    };
    let found = place.to_socket_addrs().map_err(|error| format!("--listen {url}: {error}; {advice}"))?;
    let first = found.into_iter().next().ok_or_else(|| format!("--listen {url}: no such address"))?;
    Ok(Place::Tcp(first, access))
}

fn nbd_place(url: &str) -> Result<Place, String> {
    // A port of 0 asks for any that is free; an address of an export never has it.
    let tcp = url.starts_with("nbd://") || url.starts_with("nbds://");
    let (place, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let any_port = place.strip_suffix(":0").or_else(|| place.strip_suffix(":0/")).filter(|_| tcp);
    let uri: NbdUri = any_port
        .map_or(url.to_owned(), |place| format!("{place}{query}"))
        .parse()
        .map_err(|error| format!("--listen {error}"))?;
    let export = Some(uri.export).filter(|name| !name.is_empty());
    let (host, port) = match uri.address {
        NbdAddress::Unix(path) => return Ok(Place::Nbd(NbdPlace::Unix(path), export, uri.tls)),
        NbdAddress::Tcp { host, port } => (host, if any_port.is_some() { 0 } else { port }),
    };
    let found = (host.as_str(), port).to_socket_addrs().map_err(|error| format!("--listen {url}: {error}"))?;
    let found = found.into_iter().next().map(|address| Place::Nbd(NbdPlace::Tcp(address), export, uri.tls));
    found.ok_or_else(|| format!("--listen {url}: no such address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_others_say_how_they_are_written() {
        for (url, expected) in [("tcp://127.0.0.1:4420", "127.0.0.1:4420"), ("tcp://[::1]:0", "[::1]:0")] {
            assert_eq!(place(url).unwrap(), Place::Tcp(expected.parse().unwrap(), None));
        }
        let inaccessible = Place::Tcp("127.0.0.1:1".parse().unwrap(), Some(AnaState::INACCESSIBLE));
        assert_eq!(place("tcp://127.0.0.1:1,ana=inaccessible").unwrap(), inaccessible);
        assert!(place("tcp://127.0.0.1:1,ana=gone").unwrap_err().contains("persistent-loss or change"));
        for (url, expected) in [("vfio-user:/run/fast.sock", "/run/fast.sock"), ("vfio-user:a.sock", "./a.sock")] {
            assert_eq!(place(url).unwrap(), Place::VfioUser(expected.into()));
        }
        let nbd = |place, name: Option<&str>| Place::Nbd(place, name.map(str::to_owned), None);
        for (url, expected) in [
            ("nbd://127.0.0.1", nbd(NbdPlace::Tcp("127.0.0.1:10809".parse().unwrap()), None)),
            ("nbd://127.0.0.1:0", nbd(NbdPlace::Tcp("127.0.0.1:0".parse().unwrap()), None)),
            ("nbd://[::1]:7/disk", nbd(NbdPlace::Tcp("[::1]:7".parse().unwrap()), Some("disk"))),
            ("nbd+unix:///?socket=/run/s", nbd(NbdPlace::Unix("/run/s".into()), None)),
        ] {
            assert_eq!(place(url).unwrap(), expected, "{url}");
        }
        assert!(place("nbd+unix:///").unwrap_err().contains("socket=PATH"));
        let tls = NbdTls { certificates: Some("/c".into()), ..NbdTls::default() };
        let any_port = Place::Nbd(NbdPlace::Tcp("127.0.0.1:0".parse().unwrap()), None, Some(tls));
        assert_eq!(place("nbds://127.0.0.1:0/?tls-certificates=/c").unwrap(), any_port);
        for url in ["127.0.0.1:4420", "tcp://127.0.0.1", "rdma://1.2.3.4:1", "tcp://", "vfio-user:", "vfio-user:/run/"]
        {
            assert!(place(url).unwrap_err().contains("tcp://"), "{url}");
        }
    }
}
