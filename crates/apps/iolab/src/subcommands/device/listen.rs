//! `iolab device serve --listen`: the device as an NVMe/TCP subsystem.

use std::fmt::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_nvme_fabrics::QualifiedName;
use iolab_nvme_tcp::{LinkFault, SocketLoop, TargetOptions, TcpTarget};
use iolab_virtual_ssd::Subsystem;

use super::arguments::ServeArguments;
use crate::exit::ExitFailure;

/// Begins of the names of devices that were given none: of a domain that nobody has (RFC 2606).
const NAME_BEGINS: &str = "nqn.2026-11.invalid.iolab:";

/// Serves the drive wherever --listen says, and adds to `text` how hosts reach it.
pub(super) fn listen(
    arguments: &ServeArguments,
    name: &str,
    drive: &Arc<Subsystem>,
    clock: &Clock,
    text: &mut String,
) -> Result<Vec<TcpTarget>, ExitFailure> {
    let mistake = |what: String| ExitFailure::mistake(format!("iolab: {what}"));
    let qualified = |text: &str| QualifiedName::new(text).map_err(|error| mistake(format!("{text}: {error}")));
    let own = arguments.nqn.clone().unwrap_or_else(|| format!("{NAME_BEGINS}{name}"));
    let mut options = TargetOptions::new(qualified(&own)?);
    options.hosts = arguments.hosts.iter().map(|host| qualified(host)).collect::<Result<_, _>>()?;
    options.pollers = usize::from(arguments.dispatchers);
    options.cpus.clone_from(&arguments.cpus);
    options.sockets = SocketLoop::of_word(&arguments.sockets).unwrap_or_default();
    let of_links = arguments.fault.iter().filter(|fault| LinkFault::is_meant(fault));
    options.faults = of_links
        .map(|fault| fault.parse::<LinkFault>().map_err(|error| mistake(format!("--fault {fault}: {error}"))))
        .collect::<Result<_, _>>()?;
    if !options.faults.is_empty() && arguments.listen.is_empty() {
        return Err(mistake("faults of links need a link: add --listen tcp://ADDRESS:PORT".to_owned()));
    }
    if arguments.busy_poll {
        options.spin_ns = u64::MAX;
    }
    let mut targets = Vec::new();
    for url in &arguments.listen {
        let at = address(url).map_err(mistake)?;
        let target = TcpTarget::serve(drive, at, clock, options.clone())
            .map_err(|error| ExitFailure::failed(format!("iolab: {error}")))?;
        let at = target.address();
        let _ = writeln!(text, "at trtype=TCP traddr={} trsvcid={} subnqn={own}", at.ip(), at.port());
        targets.push(target);
    }
    if arguments.hosts.is_empty() && targets.iter().any(|target| !target.address().ip().is_loopback()) {
        *text += "every machine that reaches this address may read and write it (--hosts admits some only)\n";
    }
    Ok(targets)
}

/// The address of a URL.
fn address(url: &str) -> Result<SocketAddr, String> {
    let advice = "write tcp://ADDRESS:PORT, as in tcp://127.0.0.1:4420";
    let Some(place) = url.strip_prefix("tcp://") else {
        return Err(format!("--listen {url} is nothing that a device can be served at: {advice}"));
    };
    let found = place.to_socket_addrs().map_err(|error| format!("--listen {url}: {error}; {advice}"))?;
    found.into_iter().next().ok_or_else(|| format!("--listen {url}: no such address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_others_say_how_they_are_written() {
        for (url, expected) in [("tcp://127.0.0.1:4420", "127.0.0.1:4420"), ("tcp://[::1]:0", "[::1]:0")] {
            assert_eq!(address(url).unwrap().to_string(), expected);
        }
        for url in ["127.0.0.1:4420", "tcp://127.0.0.1", "rdma://1.2.3.4:1", "tcp://"] {
            assert!(address(url).unwrap_err().contains("tcp://"), "{url}");
        }
    }
}
