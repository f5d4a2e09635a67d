//! The engines' own options: fio's, a time-out, and the cache.

use iolab_options::{DefaultValue, OptionEntry, Settings, SupportStatus, TimeUnit, ValueKind};

const fn text(name: &'static str, summary: &'static str, details: &'static str) -> OptionEntry {
    OptionEntry { name, kind: ValueKind::Text, summary, details, accepts: &[("a", "a")], ..OptionEntry::BLANK }
}

const fn encryption(name: &'static str) -> OptionEntry {
    OptionEntry {
        status: SupportStatus::Refused("encryption by librbd is not set up; use an image without it"),
        ..text(name, "Encryption of the image", "")
    }
}

/// The table of the engine `rados`.
pub(crate) static OBJECT_OPTIONS: [OptionEntry; 7] = [
    OptionEntry { default: DefaultValue::Text("rbd"), ..text("pool", "Pool of the objects", "") },
    CLIENT,
    CLUSTER,
    text("conf", "File with the configuration of Ceph", "Without it, CEPH_CONF or /etc/ceph/CLUSTER.conf."),
    BUSY_POLL,
    OptionEntry {
        name: "touch_objects",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Make the objects that are not there before the run",
        details: "They get the size that the job needs, as a hole, and a mark that iolab made them. Without this option \
            the first write makes an object, without a mark.",
        differs: "objects are made as long as the job needs them, not empty",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    timeout("rados_timeout"),
];

const CLIENT: OptionEntry = OptionEntry {
    default: DefaultValue::Text("admin"),
    ..text("clientname", "Name of the client, without `client.`", "")
};

const CLUSTER: OptionEntry = OptionEntry {
    default: DefaultValue::Text("ceph"),
    ..text("clustername", "Name of the cluster, which names its configuration", "")
};

const BUSY_POLL: OptionEntry = OptionEntry {
    name: "busy_poll",
    kind: ValueKind::Bool,
    default: DefaultValue::Text("0"),
    summary: "Look for completions without ever sleeping",
    accepts: &[("0", "0"), ("1", "1")],
    rejects: &["maybe"],
    ..OptionEntry::BLANK
};

const fn timeout(name: &'static str) -> OptionEntry {
    OptionEntry {
        name,
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("30"),
        summary: "How long the cluster may take to answer",
        details: "Connecting and each request end with ETIMEDOUT after that (client_mount_timeout, \
            rados_mon_op_timeout, rados_osd_op_timeout). librados knows whole seconds.",
        accepts: &[("5", "5s")],
        rejects: &["soon"],
        ..OptionEntry::BLANK
    }
}

/// The table of the engine `rbd`.
pub(crate) static OPTIONS: [OptionEntry; 9] = [
    text("rbdname", "Name of the image", "Without it, filename names the image."),
    OptionEntry { default: DefaultValue::Text("rbd"), ..text("pool", "Pool of the image", "") },
    CLIENT,
    CLUSTER,
    BUSY_POLL,
    OptionEntry {
        name: "rbd_cache",
        kind: ValueKind::Bool,
        summary: "Use the cache of librbd",
        details: "Without this option, the configuration of Ceph decides, in which the cache is on unless it says \
            otherwise. A note of the recording says when the cache is on.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    timeout("rbd_timeout"),
    encryption("rbd_encryption_format"),
    OptionEntry { is_secret: true, ..encryption("rbd_encryption_passphrase") },
];

/// What they say.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) pool: String,
    pub(crate) client: String,
    pub(crate) cluster: String,
    pub(crate) busy_poll: bool,
    pub(crate) cache: Option<bool>,
    /// The configuration, where it is not the usual one.
    pub(crate) configuration: Option<String>,
    pub(crate) touches: bool,
    pub(crate) timeout_seconds: u64,
}

impl Asked {
    pub(crate) fn of(settings: &Settings) -> Asked {
        let text = |name: &str, default: &str| settings.text(name).unwrap_or(default).to_owned();
        let timeout_ns = settings.time_ns("rbd_timeout").or_else(|| settings.time_ns("rados_timeout"));
        let timeout_ns = timeout_ns.unwrap_or(30_000_000_000);
        Asked {
            pool: text("pool", "rbd"),
            client: text("clientname", "admin"),
            cluster: text("clustername", "ceph"),
            busy_poll: settings.flag("busy_poll").unwrap_or(false),
            cache: settings.flag("rbd_cache"),
            configuration: settings.text("conf").map(str::to_owned),
            touches: settings.flag("touch_objects").unwrap_or(true),
            timeout_seconds: timeout_ns.div_ceil(1_000_000_000).max(1),
        }
    }
}
