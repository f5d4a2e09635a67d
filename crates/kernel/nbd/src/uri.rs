//! Where an export is, as text (`doc/uri.md` of the NBD project).
//!
//! ```text
//! nbd://HOST[:PORT]/NAME            a TCP socket
//! nbd+unix:///NAME?socket=PATH      a socket of this machine
//! nbds://…  nbds+unix:///…          with TLS
//!     ?tls-certificates=FOLDER      files ca-cert.pem, client-cert.pem, client-key.pem of both
//!     &tls-hostname=NAME            the name that the server proves, if not HOST
//!     &tls-verify-peer=false        take any server
//! ```
//!
//! NAME and PATH may have bytes as `%XX`. Deliberately not here: resolving host names.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The port that IANA has assigned to NBD.
pub const DEFAULT_PORT: u16 = 10_809;

/// The form of an address, for messages.
const FORMS: &str = "write nbd://HOST:PORT/NAME or nbd+unix:///NAME?socket=PATH";

/// The socket of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NbdAddress {
    /// A host, as name or number, and a port.
    Tcp {
        /// Without brackets, even if it is an IPv6 address.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// The path of a socket of this machine.
    Unix(PathBuf),
}

/// An export of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NbdUri {
    /// The server.
    pub address: NbdAddress,
    /// The name of the export; empty for the server's default.
    pub export: String,
    /// How it is secured; `None` without TLS.
    pub tls: Option<NbdTls>,
}

/// What an address says about TLS.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NbdTls {
    /// The folder of certificates and keys; `None` for the certificates of this machine.
    pub certificates: Option<PathBuf>,
    /// The name that the server's certificate must have, if it is not the host's.
    pub server_name: Option<String>,
    /// Whether the other end must prove who it is; `None` for what is usual for this end.
    pub verifies: Option<bool>,
}

/// Why a text is no address of an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NbdUriError(String);

impl NbdUri {
    /// Whether a text has the form of such an address, right or wrong.
    pub fn is_meant(text: &str) -> bool {
        text.split_once("://").is_some_and(|(scheme, _)| scheme.starts_with("nbd"))
    }
}

impl FromStr for NbdUri {
    type Err = NbdUriError;

    fn from_str(text: &str) -> Result<NbdUri, NbdUriError> {
        let wrong = |what: &str| NbdUriError(format!("{text}: {what}: {FORMS}"));
        let Some((scheme, rest)) = text.split_once("://") else { return Err(wrong("no address of an NBD export")) };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, export) = place.split_once('/').unwrap_or((place, ""));
        let export = decoded(export).ok_or_else(|| wrong("% is followed by two hexadecimal digits"))?;
        let (base, is_secured) = match scheme {
            "nbds" => ("nbd", true),
            "nbds+unix" => ("nbd+unix", true),
            other => (other, false),
        };
        let (mut socket, mut tls) = (None, NbdTls::default());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = decoded(value).ok_or_else(|| wrong("% is followed by two hexadecimal digits"))?;
            match (key, is_secured) {
                ("socket", _) => socket = Some(value),
                ("tls-certificates" | "tls-hostname" | "tls-verify-peer", false) => {
                    return Err(wrong(&format!("{key} belongs to nbds:// and nbds+unix://")));
                }
                ("tls-certificates", _) if !value.is_empty() => tls.certificates = Some(value.into()),
                ("tls-hostname", _) if !value.is_empty() => tls.server_name = Some(value),
                ("tls-verify-peer", _) if ["true", "1"].contains(&value.as_str()) => tls.verifies = Some(true),
                ("tls-verify-peer", _) if ["false", "0"].contains(&value.as_str()) => tls.verifies = Some(false),
                ("tls-verify-peer", _) => return Err(wrong("tls-verify-peer is true or false")),
                _ => return Err(wrong(&format!("`{parameter}` is not supported"))),
            }
        }
        let address = match (base, socket) {
            ("nbd", None) => {
                let (host, port) = host_and_port(authority).ok_or_else(|| wrong("HOST:PORT is not understood"))?;
                NbdAddress::Tcp { host, port }
            }
            ("nbd", Some(_)) => return Err(wrong("socket= belongs to nbd+unix://")),
            ("nbd+unix", Some(path)) if authority.is_empty() && !path.is_empty() => NbdAddress::Unix(path.into()),
            ("nbd+unix", Some(_)) => return Err(wrong("three slashes come before the name, and a path after socket=")),
            ("nbd+unix", None) => return Err(wrong("socket=PATH is missing")),
            _ => return Err(wrong("this kind of address is not supported")),
        };
        Ok(NbdUri { address, export, tls: is_secured.then_some(tls) })
    }
}

fn host_and_port(authority: &str) -> Option<(String, u16)> {
    if authority.contains('@') {
        return None;
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, after.strip_prefix(':').or(after.is_empty().then_some(""))?)
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    if host.contains(':') && !authority.starts_with('[') || host.contains(['[', ']']) {
        return None;
    }
    let port = if port.is_empty() { DEFAULT_PORT } else { port.parse().ok().filter(|port| *port > 0)? };
    let host = if host.is_empty() { "localhost" } else { host };
    Some((host.to_owned(), port))
}

/// The text with each `%XX` replaced by its byte.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

/// Writes a text with the bytes that mean something in an address as `%XX`.
fn encode(text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                write!(out, "{}", char::from(byte))?;
            }
            _ => write!(out, "%{byte:02X}")?,
        }
    }
    Ok(())
}

impl fmt::Display for NbdUri {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secured = if self.tls.is_some() { "s" } else { "" };
        let mut joint = '?';
        let mut parameter = |out: &mut fmt::Formatter<'_>, name: &str, value: &str| {
            write!(out, "{joint}{name}=")?;
            joint = '&';
            encode(value, out)
        };
        match &self.address {
            NbdAddress::Tcp { host, port } => {
                let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
                write!(out, "nbd{secured}://{open}{host}{close}:{port}/")?;
                encode(&self.export, out)?;
            }
            NbdAddress::Unix(path) => {
                write!(out, "nbd{secured}+unix:///")?;
                encode(&self.export, out)?;
                parameter(out, "socket", &path.to_string_lossy())?;
            }
        }
        let Some(tls) = &self.tls else { return Ok(()) };
        if let Some(folder) = &tls.certificates {
            parameter(out, "tls-certificates", &folder.to_string_lossy())?;
        }
        if let Some(name) = &tls.server_name {
            parameter(out, "tls-hostname", name)?;
        }
        match tls.verifies {
            Some(verifies) => parameter(out, "tls-verify-peer", if verifies { "true" } else { "false" }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16, export: &str) -> NbdUri {
        NbdUri { address: NbdAddress::Tcp { host: host.into(), port }, export: export.into(), tls: None }
    }

    fn unix(path: &str, export: &str) -> NbdUri {
        NbdUri { address: NbdAddress::Unix(path.into()), export: export.into(), tls: None }
    }

    #[test]
    fn addresses_are_read_and_written() {
        let tls = |folder: Option<&str>, name: Option<&str>, verifies| {
            let server_name = name.map(str::to_owned);
            Some(NbdTls { certificates: folder.map(PathBuf::from), server_name, verifies })
        };
        let table = [
            ("nbds://h/x", NbdUri { tls: tls(None, None, None), ..tcp("h", DEFAULT_PORT, "x") }, "nbds://h:10809/x"),
            (
                "nbds://h:1/?tls-hostname=a&tls-certificates=/etc/a%20b&tls-verify-peer=0",
                NbdUri { tls: tls(Some("/etc/a b"), Some("a"), Some(false)), ..tcp("h", 1, "") },
                "nbds://h:1/?tls-certificates=/etc/a%20b&tls-hostname=a&tls-verify-peer=false",
            ),
            (
                "nbds+unix:///?tls-certificates=/c&socket=/s",
                NbdUri { tls: tls(Some("/c"), None, None), ..unix("/s", "") },
                "nbds+unix:///?socket=/s&tls-certificates=/c",
            ),
            ("nbd://10.1.2.3:10810/disk", tcp("10.1.2.3", 10_810, "disk"), "nbd://10.1.2.3:10810/disk"),
            ("nbd://storage", tcp("storage", DEFAULT_PORT, ""), "nbd://storage:10809/"),
            ("nbd://storage/", tcp("storage", DEFAULT_PORT, ""), "nbd://storage:10809/"),
            ("nbd://[::1]:7/a/b", tcp("::1", 7, "a/b"), "nbd://[::1]:7/a/b"),
            ("nbd://[::1]", tcp("::1", DEFAULT_PORT, ""), "nbd://[::1]:10809/"),
            ("nbd:///x", tcp("localhost", DEFAULT_PORT, "x"), "nbd://localhost:10809/x"),
            ("nbd+unix:///?socket=/run/s", unix("/run/s", ""), "nbd+unix:///?socket=/run/s"),
            ("nbd+unix:///a%20b?socket=/r%3Fs", unix("/r?s", "a b"), "nbd+unix:///a%20b?socket=/r%3Fs"),
        ];
        for (text, expected, written) in table {
            assert!(NbdUri::is_meant(text));
            let read: NbdUri = text.parse().unwrap();
            assert_eq!((&read, read.to_string().as_str()), (&expected, written), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said() {
        let table = [
            ("/dev/nbd0", "no address"),
            ("http://host/", "this kind"),
            ("nbds+vsock://2/", "this kind"),
            ("nbds://host/?tls-psk-file=/x", "`tls-psk-file=/x` is not supported"),
            ("nbds://host/?tls-verify-peer=maybe", "true or false"),
            ("nbd+unix:///x", "socket=PATH is missing"),
            ("nbd+unix://host/x?socket=/s", "three slashes"),
            ("nbd+unix:///x?socket=", "three slashes"),
            ("nbd://host/?socket=/s", "belongs to nbd+unix"),
            ("nbd://host/?tls-hostname=a", "tls-hostname belongs to nbds://"),
            ("nbd://host:0/", "HOST:PORT"),
            ("nbd://host:65536/", "HOST:PORT"),
            ("nbd://::1/", "HOST:PORT"),
            ("nbd://[::1/", "HOST:PORT"),
            ("nbd://[::1]7/", "HOST:PORT"),
            ("nbd://me@host/", "HOST:PORT"),
            ("nbd://host/%4", "hexadecimal"),
            ("nbd://host/%+1", "hexadecimal"),
            ("nbd://host/%ff", "hexadecimal"),
        ];
        for (text, expected) in table {
            let said = text.parse::<NbdUri>().unwrap_err().to_string();
            assert!(said.contains(expected) && said.contains("nbd+unix:///NAME"), "{text}: {said}");
        }
    }
}
