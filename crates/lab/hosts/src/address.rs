//! Where a server listens and where a client finds it, in fio's forms (fio(1), "CLIENT/SERVER"):
//! `ip4:host,port`, `ip6:host,port`, `sock:PATH`, `host,port`, `,port`.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// The port of a server that names none, as in fio.
pub const DEFAULT_PORT: u16 = 8765;

/// Longest path of a UNIX socket, bytes (unix(7), `sun_path` without its end).
const LONGEST_SOCKET_PATH: usize = 107;

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAddress {
    /// A TCP port.
    Tcp {
        /// Only addresses of IPv6; otherwise only those of IPv4.
        ip6: bool,
        /// Name or address; empty: none was given.
        host: String,
        /// Port.
        port: u16,
    },
    /// A UNIX socket.
    Unix(PathBuf),
}

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the address of a server: {reason}; write HOST, HOST,PORT, ip6:HOST,PORT or sock:PATH")]
pub struct HostAddressError {
    text: String,
    reason: &'static str,
}

impl HostAddress {
    /// Reads an address. An empty text is the default port.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<HostAddress, HostAddressError> {
        let wrong = |reason| HostAddressError { text: text.to_owned(), reason };
        if let Some(path) = text.strip_prefix("sock:") {
            if path.is_empty() || path.len() > LONGEST_SOCKET_PATH || path.contains('\0') {
                return Err(wrong("the path of a socket has 1 to 107 bytes"));
            }
            return Ok(HostAddress::Unix(PathBuf::from(path)));
        }
        let (family, rest) = match text.split_once(':') {
            Some(("ip" | "ip4", rest)) => (Some(false), rest),
            Some(("ip6", rest)) => (Some(true), rest),
            _ => (None, text),
        };
        let (host, port) = match rest.rsplit_once(',') {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong("the port is a number up to 65535"))?),
            None => (rest, DEFAULT_PORT),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.contains(|letter: char| letter.is_whitespace() || letter.is_control() || ",/[]".contains(letter)) {
            return Err(wrong("a host has no such characters"));
        }
        let address = host.parse::<IpAddr>().ok();
        let ip6 = family.unwrap_or(address.is_some_and(|address| address.is_ipv6()));
        match address {
            Some(address) if address.is_ipv6() != ip6 => Err(wrong("the address is of the other version of IP")),
            None if host.contains(':') => Err(wrong("a port follows a comma")),
            _ => Ok(HostAddress::Tcp { ip6, host: host.to_owned(), port }),
        }
    }

    /// The port; `None` for a UNIX socket.
    pub fn port(&self) -> Option<u16> {
        match self {
            HostAddress::Tcp { port, .. } => Some(*port),
            HostAddress::Unix(_) => None,
        }
    }

    /// What reports call the host: the name that the user gave it.
    pub fn name(&self) -> String {
        match self {
            HostAddress::Tcp { host, .. } if host.is_empty() => "localhost".to_owned(),
            HostAddress::Tcp { host, .. } => host.clone(),
            HostAddress::Unix(path) => path.display().to_string(),
        }
    }

    /// The addresses of a TCP server; without a host, those of this machine that `fallback` says.
    ///
    /// # Errors
    /// The name is not known.
    pub fn resolve(&self, fallback: Fallback) -> io::Result<Vec<SocketAddr>> {
        let HostAddress::Tcp { ip6, host, port } = self else { return Ok(Vec::new()) };
        if host.is_empty() {
            return Ok(vec![SocketAddr::new(fallback.address(*ip6), *port)]);
        }
        let all = (host.as_str(), *port).to_socket_addrs()?;
        let fitting: Vec<SocketAddr> = all.filter(|address| address.is_ipv6() == *ip6).collect();
        if fitting.is_empty() {
            let version = if *ip6 { 6 } else { 4 };
            return Err(io::Error::other(format!("{host} has no address of IP version {version}")));
        }
        Ok(fitting)
    }
}

/// What an address without a host means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// This machine, from within.
    Loopback,
    /// All interfaces.
    Any,
}

impl Fallback {
    fn address(self, ip6: bool) -> IpAddr {
        match (self, ip6) {
            (Fallback::Loopback, false) => Ipv4Addr::LOCALHOST.into(),
            (Fallback::Loopback, true) => Ipv6Addr::LOCALHOST.into(),
            (Fallback::Any, false) => Ipv4Addr::UNSPECIFIED.into(),
            (Fallback::Any, true) => Ipv6Addr::UNSPECIFIED.into(),
        }
    }
}

/// As fio prints it: `127.0.0.1,8765`.
impl fmt::Display for HostAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostAddress::Tcp { host, port, .. } => write!(out, "{host},{port}"),
            HostAddress::Unix(path) => write!(out, "sock:{}", path.display()),
        }
    }
}

/// Hosts that may connect: addresses, or networks as `10.0.0.0/8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Reads an address, a network or a name. A name is looked up now.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Vec<Network>, String> {
        if let Some((address, bits)) = text.split_once('/') {
            let wrong = || format!("`{text}` is not a network: write an address and its bits, as in 10.0.0.0/8");
            let address: IpAddr = address.parse().map_err(|_| wrong())?;
            let bits: u8 = bits.parse().map_err(|_| wrong())?;
            return if bits <= width(address) { Ok(vec![Network { address, bits }]) } else { Err(wrong()) };
        }
        let found = (text, 0).to_socket_addrs().map_err(|error| format!("`{text}` is no known host: {error}"))?;
        Ok(found.map(|found| Network { address: found.ip(), bits: width(found.ip()) }).collect())
    }

    /// Whether an address belongs to it.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        // An IPv4 client of a socket for both versions has a mapped address (RFC 4291, 2.5.5.2).
        let address = address.to_canonical();
        if address.is_ipv4() != self.address.is_ipv4() {
            return false;
        }
        let shift = u32::from(width(address) - self.bits);
        let differing = number(address) ^ number(self.address);
        differing.checked_shr(shift).unwrap_or(0) == 0
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(ip6: bool, host: &str, port: u16) -> HostAddress {
        HostAddress::Tcp { ip6, host: host.to_owned(), port }
    }

    #[test]
    fn addresses_in_all_of_fios_forms() {
        for (text, expected) in [
            ("", tcp(false, "", 8765)),
            (",4444", tcp(false, "", 4444)),
            ("1.2.3.4", tcp(false, "1.2.3.4", 8765)),
            ("host,4444", tcp(false, "host", 4444)),
            ("ip:host,4444", tcp(false, "host", 4444)),
            ("ip4:1.2.3.4", tcp(false, "1.2.3.4", 8765)),
            ("ip6:::1,4444", tcp(true, "::1", 4444)),
            ("ip6:[::1],4444", tcp(true, "::1", 4444)),
            ("ip6:host", tcp(true, "host", 8765)),
            ("::1", tcp(true, "::1", 8765)),
            ("::1,9", tcp(true, "::1", 9)),
            ("sock:/tmp/fio.sock", HostAddress::Unix("/tmp/fio.sock".into())),
        ] {
            assert_eq!(HostAddress::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        let long = format!("sock:{}", "x".repeat(108));
        for (text, reason) in [
            ("host,port", "the port"),
            ("host,65536", "the port"),
            ("host:4444", "follows a comma"),
            ("ip4:::1", "other version"),
            ("ip6:1.2.3.4", "other version"),
            ("sock:", "path of a socket"),
            (long.as_str(), "path of a socket"),
            ("a b", "no such characters"),
            ("job.fio/x", "no such characters"),
        ] {
            let error = HostAddress::parse(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn an_address_without_a_host_is_what_the_caller_says() {
        let local = tcp(false, "", 7).resolve(Fallback::Loopback).unwrap();
        assert_eq!(local, ["127.0.0.1:7".parse().unwrap()]);
        assert_eq!(tcp(true, "", 7).resolve(Fallback::Any).unwrap(), ["[::]:7".parse().unwrap()]);
        assert_eq!(tcp(true, "::1", 7).resolve(Fallback::Any).unwrap(), ["[::1]:7".parse().unwrap()]);
    }

    #[test]
    fn networks_hold_their_addresses_and_no_other() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.1"),
            ("192.168.1.5", "192.168.1.5", "192.168.1.4"),
            ("fd00::/16", "fd00:1::2", "fd01::1"),
            ("10.1.0.0/16", "::ffff:10.1.2.3", "::ffff:10.2.2.3"),
            ("::1", "::1", "127.0.0.1"),
        ] {
            let networks = Network::parse(network).unwrap();
            let contains = |address: &str| networks.iter().any(|one| one.contains(address.parse().unwrap()));
            assert!(contains(inside) && !contains(outside), "{network}");
        }
        let all = Network::parse("0.0.0.0/0").unwrap();
        assert!(all[0].contains("8.8.8.8".parse().unwrap()) && !all[0].contains("::1".parse().unwrap()));
        for wrong in ["10.0.0.0/33", "10.0.0/8", "10.0.0.0/x"] {
            assert!(Network::parse(wrong).unwrap_err().contains("10.0.0.0/8"), "{wrong}");
        }
    }
}
