//! The engine's own options.

use iolab_kv::Durability;
use iolab_options::{DefaultValue, OptionEntry, Settings, ValueKind};

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 8] = [
    OptionEntry {
        name: "store",
        kind: ValueKind::Text,
        summary: "Kind of store: rocksdb, fjall, redb or null",
        details: "By default RocksDB if its library is installed, else fjall; the worker notes which.",
        accepts: &[("rocksdb", "rocksdb"), ("null", "null")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "store_path",
        kind: ValueKind::Text,
        summary: "Folder of the store",
        details: "An existing store is used, else one is created; a folder that holds anything else is rejected. \
            Without this option, the store is temporary and removed when the last worker that shares it ends.",
        accepts: &[("/mnt/db", "/mnt/db")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "store_options",
        kind: ValueKind::Text,
        summary: "Options in the store's own syntax, separated by semicolons",
        details: "For RocksDB, the syntax of rocksdb_get_options_from_string: \
            write_buffer_size=64M;compression=kNoCompression. Unknown options are an error that names them.",
        accepts: &[("compression=kNoCompression", "compression=kNoCompression")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "key_size",
        kind: ValueKind::Integer { min: 8, max: 65_536 },
        default: DefaultValue::Text("16"),
        summary: "Key length in bytes",
        details: "A key is the number as 8 bytes, big-endian, padded with the digit 0.",
        accepts: &[("16", "16"), ("32", "32")],
        rejects: &["4"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "value_size",
        kind: ValueKind::Size,
        summary: "Value length in bytes; must equal bs",
        details: "Values are the job's blocks, so their length is bs. This option only repeats it: any other value \
            is an error.",
        accepts: &[("100", "100"), ("4k", "4096")],
        rejects: &["large"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "kv_sync",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Sync the store's log with every put and deletion",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "kv_no_log",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Write no log: a crash loses data that was not flushed",
        details: "Stores that always need a log fail every put.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "kv_scan",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Turn sequential reads into cursor steps",
        details: "The cursor shows the store as it was when the sequential run began. With 0, every read is a get.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
];

/// The job's settings.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) store: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) options: String,
    pub(crate) key_size: usize,
    pub(crate) value_size: Option<u64>,
    pub(crate) durability: Durability,
    pub(crate) scans: bool,
}

impl Asked {
    pub(crate) fn of(settings: &Settings) -> Asked {
        let on = |name: &str| settings.flag(name).unwrap_or(false);
        let durability = match (on("kv_sync"), on("kv_no_log")) {
            (true, _) => Durability::Synced,
            (_, true) => Durability::Unlogged,
            _ => Durability::Logged,
        };
        Asked {
            store: settings.text("store").map(str::to_owned),
            path: settings.text("store_path").map(str::to_owned),
            options: settings.text("store_options").unwrap_or_default().to_owned(),
            key_size: settings.integer("key_size").unwrap_or(16) as usize,
            value_size: settings.size("value_size"),
            durability,
            scans: settings.flag("kv_scan").unwrap_or(true),
        }
    }
}
