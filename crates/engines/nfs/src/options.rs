//! The engine's own options: fio's, connections, and a time-out.

use iolab_options::{DefaultValue, OptionEntry, Settings, TimeUnit, ValueKind};

/// The most connections of one job: those of a lane are waited for by one call.
pub(crate) const MOST_CONNECTIONS: usize = 16;

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 3] = [
    OptionEntry {
        name: "nfs_url",
        kind: ValueKind::Text,
        summary: "The export: nfs://HOST/EXPORT[?PARAMETER=VALUE&…]",
        details: "The parameters are those of libnfs, among them version=3, nfsport=, mountport=, uid= and gid=.",
        accepts: &[("nfs://h/exp?version=3", "nfs://h/exp?version=3")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "nfs_connections",
        kind: ValueKind::Integer { min: 1, max: MOST_CONNECTIONS as i64 },
        default: DefaultValue::Text("1"),
        summary: "Connections per job",
        details: "Operations are distributed over them by slot. Each mounts the export for itself.",
        accepts: &[("1", "1"), ("4", "4")],
        rejects: &["0", "17"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "nfs_timeout",
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("30"),
        summary: "How long a server may be silent while it owes answers",
        details: "After that, the connection is given up, and its operations fail with ETIMEDOUT. Mounting and opening \
            may take as long each.",
        accepts: &[("5", "5s"), ("100ms", "100ms")],
        rejects: &["soon"],
        ..OptionEntry::BLANK
    },
];

/// What they say.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) url: String,
    pub(crate) connections: usize,
    pub(crate) timeout_ns: u64,
}

impl Asked {
    /// # Errors
    /// What is wrong with them, and what to do.
    pub(crate) fn of(settings: &Settings) -> Result<Asked, String> {
        const FORM: &str = "write nfs_url=nfs://HOST/EXPORT, as in nfs_url=nfs://127.0.0.1/data?version=3";
        let url = settings.text("nfs_url").ok_or_else(|| format!("the export is missing: {FORM}"))?;
        if !url.starts_with("nfs://") {
            return Err(format!("{url}: this is no URL of NFS: {FORM}"));
        }
        Ok(Asked {
            url: url.to_owned(),
            connections: settings.integer("nfs_connections").unwrap_or(1).clamp(1, MOST_CONNECTIONS as i64) as usize,
            timeout_ns: settings.time_ns("nfs_timeout").unwrap_or(30_000_000_000).max(1_000_000),
        })
    }
}
