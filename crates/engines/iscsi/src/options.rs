//! The engine's own options.

use iolab_options::{DefaultValue, OptionEntry, Settings, TimeUnit, ValueKind};

/// The name of this machine to targets, where the user gives none: of a domain that nobody has
/// (RFC 2606).
const INITIATOR: &str = "iqn.2026-11.invalid.iolab:initiator";

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 3] = [
    OptionEntry {
        name: "iscsi_url",
        kind: ValueKind::Text,
        summary: "The logical unit: iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN",
        details: "Without this option, filename names the unit; there, write \\: for a colon.",
        accepts: &[("iscsi://h/iqn.a:b/1", "iscsi://h/iqn.a:b/1")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "initiator",
        kind: ValueKind::Text,
        default: DefaultValue::Text(INITIATOR),
        summary: "Name of this machine to targets",
        accepts: &[("iqn.2026-11.lab:me", "iqn.2026-11.lab:me")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "iscsi_timeout",
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("30"),
        summary: "How long a target may be silent while it owes answers",
        details: "After that, operations fail with ETIMEDOUT and the session is given up.",
        accepts: &[("5", "5s")],
        rejects: &["soon"],
        ..OptionEntry::BLANK
    },
];

/// What they say.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) initiator: String,
    pub(crate) timeout_ns: u64,
}

impl Asked {
    pub(crate) fn of(settings: &Settings) -> Asked {
        Asked {
            initiator: settings.text("initiator").unwrap_or(INITIATOR).to_owned(),
            timeout_ns: settings.time_ns("iscsi_timeout").unwrap_or(30_000_000_000).max(1_000_000),
        }
    }
}
