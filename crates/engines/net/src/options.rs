//! The engine's own options, as fio names them (fio(1), "I/O engine specific parameters", `net`).

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, Settings, Value, ValueKind};

const fn flag(name: &'static str, summary: &'static str, details: &'static str) -> OptionEntry {
    OptionEntry {
        name,
        category: Category::Engine,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary,
        details,
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    }
}

const fn switch(name: &'static str, summary: &'static str, details: &'static str) -> OptionEntry {
    OptionEntry { kind: ValueKind::Switch, ..flag(name, summary, details) }
}

/// The options of `net`.
pub const NET_OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "hostname",
        category: Category::Engine,
        kind: ValueKind::Text,
        summary: "Host to connect or send to",
        details: "A name or an address. A TCP listener and a UDP reader have none, unless it is a multicast address.",
        accepts: &[("localhost", "localhost"), ("192.168.0.1", "192.168.0.1")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "port",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 1, max: 65_535 },
        summary: "Port to bind or connect to",
        details: "Every worker has a port of its own, so a section with a port has numjobs=1.",
        accepts: &[("8888", "8888"), ("1", "1")],
        rejects: &["0", "65536", "http"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "protocol",
        aliases: &["proto"],
        category: Category::Engine,
        kind: ValueKind::Choice(&[
            Choice { name: "tcp", aliases: &[], summary: "TCP on IPv4" },
            Choice { name: "tcpv6", aliases: &[], summary: "TCP on IPv6" },
            Choice { name: "udp", aliases: &[], summary: "UDP on IPv4" },
            Choice { name: "udpv6", aliases: &[], summary: "UDP on IPv6" },
            Choice { name: "unix", aliases: &[], summary: "A UNIX socket, which filename names" },
        ]),
        default: DefaultValue::Text("tcp"),
        summary: "Protocol",
        details: "",
        accepts: &[("tcp", "tcp"), ("udpv6", "udpv6"), ("unix", "unix")],
        rejects: &["sctp", "1"],
        ..OptionEntry::BLANK
    },
    switch("listen", "Wait for a connection instead of making one", "For tcp and unix; hostname is left out."),
    switch(
        "pingpong",
        "Every operation goes there and back",
        "A writer sends its data and waits for the same amount, a reader receives it and sends it back: completion latency is a round trip.",
    ),
    flag("nodelay", "Send small pieces at once (TCP_NODELAY)", ""),
    OptionEntry {
        name: "interface",
        category: Category::Engine,
        kind: ValueKind::Text,
        summary: "Address of the interface for UDP multicast",
        details: "An IPv4 address of this machine; with udpv6, the number of the interface.",
        accepts: &[("192.168.0.1", "192.168.0.1"), ("2", "2")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "ttl",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 0, max: 255 },
        default: DefaultValue::Text("1"),
        summary: "Time to live of UDP multicast packets",
        details: "",
        accepts: &[("1", "1"), ("255", "255")],
        rejects: &["256", "-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "window_size",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 0, max: i32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "Size of the socket's buffers, bytes; 0 leaves them to the kernel",
        details: "SO_SNDBUF and SO_RCVBUF. The kernel bounds it (net.core.wmem_max, net.core.rmem_max).",
        accepts: &[("65536", "65536"), ("0", "0")],
        rejects: &["-1", "large"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "mss",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 0, max: 65_535 },
        default: DefaultValue::Text("0"),
        summary: "Largest segment of TCP, bytes; 0 leaves it to the kernel",
        details: "TCP_MAXSEG.",
        accepts: &[("1400", "1400"), ("0", "0")],
        rejects: &["-1", "65536"],
        ..OptionEntry::BLANK
    },
];

/// What carries the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp { ip6: bool },
    Udp { ip6: bool },
    Unix,
}

/// The options, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetOptions {
    pub(crate) protocol: Protocol,
    pub(crate) hostname: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) listen: bool,
    pub(crate) pingpong: bool,
    pub(crate) nodelay: bool,
    pub(crate) interface: Option<String>,
    pub(crate) ttl: u8,
    pub(crate) window_bytes: i32,
    pub(crate) segment_bytes: i32,
}

impl NetOptions {
    /// Reads them; whether they fit together is judged when the socket is made.
    pub(crate) fn of(settings: &Settings) -> NetOptions {
        let value = |name: &str| settings.get(name).map(|setting| &setting.value);
        let is_on = |name| value(name) == Some(&Value::Flag(true));
        let text = |name| match value(name) {
            Some(Value::Text(text) | Value::Choice(text)) => Some(text.clone()),
            _ => None,
        };
        let number = |name| match value(name) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        };
        let protocol = match text("protocol").as_deref() {
            Some("tcpv6") => Protocol::Tcp { ip6: true },
            Some("udp") => Protocol::Udp { ip6: false },
            Some("udpv6") => Protocol::Udp { ip6: true },
            Some("unix") => Protocol::Unix,
            _ => Protocol::Tcp { ip6: false },
        };
        NetOptions {
            protocol,
            hostname: text("hostname"),
            port: number("port").and_then(|port| u16::try_from(port).ok()),
            listen: is_on("listen"),
            pingpong: is_on("pingpong"),
            nodelay: is_on("nodelay"),
            interface: text("interface"),
            ttl: number("ttl").and_then(|ttl| u8::try_from(ttl).ok()).unwrap_or(1),
            window_bytes: number("window_size").and_then(|bytes| i32::try_from(bytes).ok()).unwrap_or(0),
            segment_bytes: number("mss").and_then(|bytes| i32::try_from(bytes).ok()).unwrap_or(0),
        }
    }
}
