//! Job options: recording and replaying of operations.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, DefaultValue, Kind, OptionEntry, Status};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "write_iolog",
        category: Category::Replay,
        kind: Kind::Text,
        summary: "Record the operations in this file",
        status: Status::NotYet,
        accepts: &[("trace.log", "trace.log")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "read_iolog",
        category: Category::Replay,
        kind: Kind::Text,
        summary: "Replay the operations of this file",
        status: Status::NotYetChangesData,
        accepts: &[("trace.log", "trace.log")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "read_iolog_chunked",
        category: Category::Replay,
        kind: Kind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Read the trace in pieces while replaying",
        status: Status::NotYet,
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_no_stall",
        category: Category::Replay,
        kind: Kind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Replay as fast as possible",
        status: Status::NotYet,
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_redirect",
        category: Category::Replay,
        kind: Kind::Text,
        summary: "Device to replay all operations on",
        status: Status::NotYet,
        accepts: &[("/dev/ram0", "/dev/ram0")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_scale",
        category: Category::Replay,
        kind: Kind::Integer { min: 1, max: u32::MAX as i64 },
        default: DefaultValue::Text("1"),
        summary: "Divide offsets by this",
        status: Status::NotYet,
        accepts: &[("2", "2")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_align",
        category: Category::Replay,
        kind: Kind::Size,
        summary: "Align offsets to this",
        status: Status::NotYet,
        accepts: &[("4k", "4k")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_time_scale",
        category: Category::Replay,
        kind: Kind::Integer { min: 1, max: u32::MAX as i64 },
        default: DefaultValue::Text("100"),
        summary: "Percent by which to stretch the time between operations",
        status: Status::NotYet,
        accepts: &[("50", "50")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_skip",
        category: Category::Replay,
        kind: Kind::Words(&["read", "write", "trim", "flush"]),
        summary: "Kinds of operations to skip",
        status: Status::NotYet,
        accepts: &[("trim,flush", "trim,flush")],
        rejects: &["erase"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "merge_blktrace_file",
        category: Category::Replay,
        kind: Kind::Text,
        summary: "File to merge traces into",
        status: Status::NotYet,
        accepts: &[("merged.bin", "merged.bin")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "merge_blktrace_scalars",
        category: Category::Replay,
        kind: Kind::Floats { most: 1024, min: 0.0, max: 1_000_000.0 },
        summary: "Percent by which to stretch the time of each trace",
        status: Status::NotYet,
        accepts: &[("50:100", "50:100")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "merge_blktrace_iters",
        category: Category::Replay,
        kind: Kind::Floats { most: 1024, min: 0.0, max: 1_000_000.0 },
        summary: "Number of passes over each trace",
        status: Status::NotYet,
        accepts: &[("1:2", "1:2")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
];
