//! The engine's own options, which are fio's, and a time-out.

use std::time::Duration;

use iolab_options::{Choice, DefaultValue, OptionEntry, Settings, SupportStatus, TimeUnit, ValueKind};
use iolab_tls::{TlsClient, TlsTrust};

static MODES: [Choice; 3] = [
    Choice { name: "webdav", aliases: &[], summary: "WebDAV, or any server with PUT; http_user and http_pass" },
    Choice { name: "swift", aliases: &[], summary: "OpenStack Swift; http_swift_auth_token" },
    Choice { name: "s3", aliases: &[], summary: "S3; http_s3_keyid and http_s3_key" },
];

static OBJECT_MODES: [Choice; 2] = [
    Choice { name: "block", aliases: &[], summary: "an object for each block" },
    Choice { name: "range", aliases: &[], summary: "an object for each file; reads are ranges of it" },
];

static TLS_WORDS: [Choice; 3] = [
    Choice { name: "off", aliases: &[], summary: "HTTP" },
    Choice { name: "on", aliases: &[], summary: "HTTPS; the server proves who it is" },
    Choice { name: "insecure", aliases: &[], summary: "HTTPS with any server that has a certificate" },
];

const fn text(name: &'static str, summary: &'static str, details: &'static str) -> OptionEntry {
    OptionEntry { name, kind: ValueKind::Text, summary, details, accepts: &[("a", "a")], ..OptionEntry::BLANK }
}

const fn secret(name: &'static str, summary: &'static str) -> OptionEntry {
    OptionEntry { is_secret: true, ..text(name, summary, "") }
}

const fn customer_key(name: &'static str) -> OptionEntry {
    OptionEntry {
        status: SupportStatus::Refused("requests with keys of customers are not built in"),
        ..text(name, "Encryption with a key of the customer", "")
    }
}

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 17] = [
    OptionEntry {
        name: "http_host",
        kind: ValueKind::Text,
        default: DefaultValue::Text("localhost"),
        summary: "The server: HOST or HOST:PORT",
        details: "Port 80 by default, 443 with https.",
        accepts: &[("127.0.0.1:7070", "127.0.0.1:7070")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "http_mode",
        kind: ValueKind::Choice(&MODES),
        default: DefaultValue::Text("webdav"),
        summary: "How requests prove who sends them",
        accepts: &[("webdav", "webdav"), ("swift", "swift"), ("s3", "s3")],
        rejects: &["ftp"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "http_object_mode",
        kind: ValueKind::Choice(&OBJECT_MODES),
        default: DefaultValue::Text("block"),
        summary: "Which object a block is in",
        details: "block: FILENAME_OFFSET_LENGTH. range: a read is a range of the object FILENAME; a write makes that \
            object anew, with the block as its content.",
        differs: "in range mode, an object that iolab has not written is not replaced",
        accepts: &[("block", "block"), ("range", "range")],
        rejects: &["file"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "https",
        kind: ValueKind::Choice(&TLS_WORDS),
        default: DefaultValue::Text("off"),
        summary: "Secure the connection by TLS, 1.2 or 1.3",
        details: "on trusts the authorities of this machine, or those of https_ca.",
        accepts: &[("off", "off"), ("on", "on"), ("insecure", "insecure")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "https_ca",
        kind: ValueKind::Text,
        summary: "File with the certificates of the authorities that https=on trusts, as PEM",
        details: "Without it, those of this machine: the file that SSL_CERT_FILE names, or the distribution's bundle.",
        accepts: &[("/etc/lab/ca.pem", "/etc/lab/ca.pem")],
        ..OptionEntry::BLANK
    },
    text("http_user", "Name for Basic authentication", ""),
    secret("http_pass", "Password for Basic authentication"),
    text("http_s3_keyid", "Access key of S3", ""),
    secret("http_s3_key", "Secret key of S3"),
    OptionEntry {
        default: DefaultValue::Text("us-east-1"),
        ..text("http_s3_region", "Region of S3, which is part of signatures", "")
    },
    secret("http_s3_security_token", "Token of temporary keys of S3"),
    OptionEntry {
        default: DefaultValue::Text("STANDARD"),
        ..text("http_s3_storage_class", "Storage class of objects that are written to S3", "")
    },
    OptionEntry { is_secret: true, ..customer_key("http_s3_sse_customer_key") },
    customer_key("http_s3_sse_customer_algorithm"),
    secret("http_swift_auth_token", "Token for Swift"),
    OptionEntry {
        name: "http_verbose",
        kind: ValueKind::Integer { min: 0, max: 2 },
        default: DefaultValue::Text("0"),
        summary: "Print what is sent and received",
        status: SupportStatus::NoEffect("the first answer of each kind of error is a note of the recording"),
        accepts: &[("0", "0"), ("2", "2")],
        rejects: &["3"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "http_timeout",
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("30"),
        summary: "How long the server may be silent",
        details: "After that, the operation fails with ETIMEDOUT; the next one connects again.",
        accepts: &[("5", "5s"), ("100ms", "100ms")],
        rejects: &["soon"],
        ..OptionEntry::BLANK
    },
];

/// How requests prove who sends them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Identity {
    Nobody,
    Basic { user: String, password: String },
    Swift { token: String },
    S3 { key_id: String, key: String, region: String, token: Option<String> },
}

/// What the options say.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// As in the header `Host`.
    pub(crate) authority: String,
    pub(crate) identity: Identity,
    /// Of objects that are written, in S3.
    pub(crate) storage_class: Option<String>,
    pub(crate) ranges: bool,
    pub(crate) timeout: Duration,
    pub(crate) tls: Option<TlsClient>,
}

impl Asked {
    pub(crate) fn of(settings: &Settings) -> Result<Asked, String> {
        const TIMEOUT_NS: u64 = 30_000_000_000;
        let own = |name: &str| settings.text(name).unwrap_or_default().to_owned();
        let trust = match (settings.choice("https"), settings.text("https_ca")) {
            (Some("on"), Some(path)) => Some(TlsTrust::File(path.into())),
            (Some("on"), None) => Some(TlsTrust::Machine),
            (Some("insecure"), None) => Some(TlsTrust::Everybody),
            (_, Some(_)) => return Err("https_ca: nobody is asked for a certificate; use https=on".to_owned()),
            _ => None,
        };
        let tls = trust.map(|trust| TlsClient::new(&trust, None).map_err(|error| format!("https: {error}")));
        let tls = tls.transpose()?;
        let identity = match settings.choice("http_mode").unwrap_or("webdav") {
            "s3" => Identity::S3 {
                key_id: given(settings, "http_s3_keyid")?,
                key: given(settings, "http_s3_key")?,
                region: settings.text("http_s3_region").unwrap_or("us-east-1").to_owned(),
                token: settings.text("http_s3_security_token").map(str::to_owned),
            },
            "swift" => Identity::Swift { token: given(settings, "http_swift_auth_token")? },
            _ if settings.text("http_user").is_some() => {
                Identity::Basic { user: own("http_user"), password: own("http_pass") }
            }
            _ => Identity::Nobody,
        };
        let authority = settings.text("http_host").unwrap_or("localhost").to_owned();
        let (host, port) = host_and_port(&authority, if tls.is_some() { 443 } else { 80 })
            .ok_or_else(|| format!("http_host={authority}: write HOST:PORT"))?;
        let texts = ["http_user", "http_pass", "http_s3_security_token", "http_s3_storage_class"];
        if let Some(name) = texts.iter().find(|name| own(name).bytes().any(|byte| byte.is_ascii_control())) {
            return Err(format!("{name}: a control character cannot be sent"));
        }
        let storage_class = settings.text("http_s3_storage_class").map(str::to_owned);
        Ok(Asked {
            host,
            port,
            tls,
            authority,
            storage_class: storage_class.filter(|_| matches!(identity, Identity::S3 { .. })),
            identity,
            ranges: settings.choice("http_object_mode") == Some("range"),
            timeout: Duration::from_nanos(settings.time_ns("http_timeout").unwrap_or(TIMEOUT_NS).max(1_000_000)),
        })
    }
}

/// A text without which the mode does not work.
fn given(settings: &Settings, name: &str) -> Result<String, String> {
    match settings.text(name) {
        Some(text) if !text.bytes().any(|byte| byte.is_ascii_control()) => Ok(text.to_owned()),
        Some(_) => Err(format!("{name}: a control character cannot be sent")),
        None => Err(format!("this http_mode needs {name}=")),
    }
}

fn host_and_port(authority: &str, usual_port: u16) -> Option<(String, u16)> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    if !authority.bytes().all(known) {
        return None;
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = port.map_or(Some(usual_port), |port| port.parse().ok())?;
    (!host.is_empty() && port > 0).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read() {
        let table = [
            ("localhost", Some(("localhost", 80))),
            ("127.0.0.1:7070", Some(("127.0.0.1", 7070))),
            ("[::1]:9", Some(("::1", 9))),
            ("[::1]", Some(("::1", 80))),
            (":7", None),
            ("a:0", None),
            ("a:b", None),
            ("a:70000", None),
            ("a b", None),
            ("a\r\nX: y", None),
            ("[::1", None),
            ("[::1]9", None),
        ];
        for (text, expected) in table {
            let expected = expected.map(|(host, port): (&str, u16)| (host.to_owned(), port));
            assert_eq!(host_and_port(text, 80), expected, "{text}");
        }
    }
}
