//! Job options: flushes and synchronous writes.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "sync",
        category: Category::Durability,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &["0"], summary: "buffered as usual" },
            Choice { name: "sync", aliases: &["1"], summary: "O_SYNC" },
            Choice { name: "dsync", aliases: &[], summary: "O_DSYNC" },
        ]),
        default: DefaultValue::Text("none"),
        summary: "Open files for synchronous writes (O_SYNC, O_DSYNC) (O_SYNC, O_DSYNC)",
        accepts: &[("0", "none"), ("1", "sync"), ("dsync", "dsync")],
        rejects: &["2", "always"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "fsync",
        category: Category::Durability,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "fsync after this many writes; 0 never",
        differs: "exactly every N writes (fio: more often in mixes and with several in flight)",
        accepts: &[("32", "32")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "fdatasync",
        category: Category::Durability,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "fdatasync after this many writes; 0 never",
        differs: "counted as syncs",
        accepts: &[("1", "1")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "commits_per_sync",
        category: Category::Durability,
        kind: ValueKind::Floats { most: 1, min: 0.001, max: 1e6 },
        summary: "Commits of the application that one sync of this job stands for",
        details: "Changes nothing in a run: `iolab validate` multiplies syncs by it, since one sync of a log may carry the commits of several clients. iolab only: fio does not have this option; a job file for both has it in a line `#iolab: commits_per_sync=2.5`.",
        accepts: &[("2.5", "2.5")],
        rejects: &["0", "x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "write_barrier",
        category: Category::Durability,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "Make every Nth write wait for all writes before it",
        accepts: &[("8", "8")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "sync_file_range",
        category: Category::Durability,
        kind: ValueKind::SyncFileRange,
        summary: "Call sync_file_range with these steps after this many writes",
        details: "Steps are `wait_before`, `write` and `wait_after`.",
        differs: "counted as syncs (fio: as short writes)",
        accepts: &[("wait_before,write:8", "wait_before,write:8")],
        rejects: &["write", "flush:8", "write:0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "end_fsync",
        category: Category::Durability,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "fsync all files at the end",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "end_syncfs",
        category: Category::Durability,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "syncfs at the end",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "fsync_on_close",
        category: Category::Durability,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "fsync each file when it is closed",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
];
