//! The engine's own options.

use std::time::Duration;

use iolab_options::{DefaultValue, OptionEntry, Settings, TimeUnit, ValueKind};

/// The most connections of one job: those of a lane are waited for by one call.
pub(crate) const MOST_CONNECTIONS: usize = 32;

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 5] = [
    OptionEntry {
        name: "uri",
        kind: ValueKind::Text,
        summary: "The export: nbd://HOST:PORT/NAME or nbd+unix:///NAME?socket=PATH",
        details: "NAME may be empty: the server's default export. Without this option, filename names the export; \
            there, write \\: for a colon. nbds:// and nbds+unix:// are secured by TLS; tls-certificates=FOLDER (with \
            ca-cert.pem, and client-cert.pem and client-key.pem if the server asks who the client is), \
            tls-hostname=NAME and tls-verify-peer=false follow the question mark. Without a folder, the authorities \
            of this machine are trusted.",
        differs: "pre-shared keys of TLS (tls-psk-file) are refused",
        accepts: &[("nbd+unix:///?socket=/run/s", "nbd+unix:///?socket=/run/s")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "nbd_connections",
        kind: ValueKind::Integer { min: 1, max: MOST_CONNECTIONS as i64 },
        default: DefaultValue::Text("1"),
        summary: "Connections per job",
        details: "Operations are distributed over them by slot. More than one needs a server that says that its \
            connections see the same data (NBD_FLAG_CAN_MULTI_CONN).",
        accepts: &[("1", "1"), ("4", "4")],
        rejects: &["0", "33"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "nbd_timeout",
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("30"),
        summary: "How long a server may be silent while it owes replies",
        details: "After that, the connection is given up: its operations fail with ETIMEDOUT. The same time, but \
            at least 10 s, bounds connecting and each step of the handshake.",
        accepts: &[("5", "5s"), ("100ms", "100ms")],
        rejects: &["soon"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "nbd_fua",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Ask for each write and trim to survive a loss of power before it is answered",
        details: "Sets NBD_CMD_FLAG_FUA. A server that does not offer it is refused.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "nbd_trim_zeroes",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Let trims become NBD_CMD_WRITE_ZEROES",
        details: "A trimmed range may read as anything; a zeroed one reads as zeroes. The server may free its space.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
];

/// What they say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) connections: usize,
    pub(crate) timeout: Duration,
    pub(crate) fua: bool,
    pub(crate) trim_zeroes: bool,
}

impl Asked {
    pub(crate) fn of(settings: &Settings) -> Asked {
        const TIMEOUT_NS: u64 = 30_000_000_000;
        Asked {
            connections: settings.integer("nbd_connections").unwrap_or(1) as usize,
            timeout: Duration::from_nanos(settings.time_ns("nbd_timeout").unwrap_or(TIMEOUT_NS).max(1_000_000)),
            fua: settings.flag("nbd_fua").unwrap_or(false),
            trim_zeroes: settings.flag("nbd_trim_zeroes").unwrap_or(false),
        }
    }
}
