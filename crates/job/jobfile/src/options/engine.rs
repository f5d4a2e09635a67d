//! Job options: which engine carries operations out, and how many at once.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "ioengine",
        category: Category::Engine,
        kind: ValueKind::Text,
        default: DefaultValue::Text("psync"),
        summary: "I/O engine that performs the operations",
        details: "`iolab engines` lists them. Some engines have options of their own.",
        accepts: &[("io_uring", "io_uring"), ("psync", "psync")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "iodepth",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 1, max: 1_048_576 },
        default: DefaultValue::Text("1"),
        summary: "Number of operations to keep in flight",
        details: "Synchronous engines always have one operation in flight, whatever iodepth says.",
        differs: "at most 32768",
        accepts: &[("32", "32"), ("1k", "1024")],
        rejects: &["0", "-1", "5000000", "8q"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "iodepth_batch",
        aliases: &["iodepth_batch_submit"],
        category: Category::Engine,
        kind: ValueKind::Integer { min: 0, max: 1_048_576 },
        default: DefaultValue::Derived("a quarter of iodepth, 1 to 16; as fio, 1 for sequential patterns"),
        summary: "Submit as soon as this many operations are queued",
        details: "0 means all of iodepth. By default, all free slots are submitted in one call once the device has as many operations as a batch holds, except for sequential patterns when called as fio.",
        differs: "by default a quarter of the queue, in sequential jobs 1 as in fio",
        accepts: &[("16", "16")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "iodepth_batch_complete_min",
        aliases: &["iodepth_batch_complete"],
        category: Category::Engine,
        kind: ValueKind::Integer { min: 0, max: 1_048_576 },
        default: DefaultValue::Text("1"),
        summary: "Wait for at least this many completions at once",
        details: "0 polls without waiting.",
        accepts: &[("8", "8"), ("0", "0")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "iodepth_batch_complete_max",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 0, max: 1_048_576 },
        default: DefaultValue::Text("0"),
        summary: "Collect at most this many completions at once; 0 is all there are",
        differs: "by default whatever is complete is collected (fio: 1)",
        accepts: &[("32", "32")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "iodepth_low",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 0, max: 1_048_576 },
        default: DefaultValue::SameAs("iodepth"),
        summary: "Refill the queue only when it has drained to this depth",
        accepts: &[("4", "4")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "io_submit_mode",
        category: Category::Engine,
        kind: ValueKind::Choice(&[
            Choice { name: "inline", aliases: &[], summary: "the worker submits by itself" },
            Choice { name: "offload", aliases: &[], summary: "helper threads submit" },
        ]),
        default: DefaultValue::Text("inline"),
        summary: "Which thread submits operations",
        details: "offload: threads, as many as iodepth, submit operations and wait for them, each one at a time; synchronous engines then have iodepth operations in flight.",
        differs: "a thread for each slot; together with verify or read_iolog it is refused",
        accepts: &[("inline", "inline"), ("offload", "offload")],
        rejects: &["async"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "serialize_overlap",
        category: Category::Engine,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Never have two operations on the same bytes in flight at once at once",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
];
