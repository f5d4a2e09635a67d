//! Job options: recording and replaying of operations.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, DefaultValue, OptionEntry, SupportStatus, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "write_iolog",
        category: Category::Replay,
        kind: ValueKind::Text,
        summary: "Write the job's operations to this file, as an iolog of version 3",
        details: "fio and iolab replay it (`read_iolog`, `iolab replay`). It is written when the run is over; jobs that name the same file are merged by time. Operations are noted when they are sent, with microseconds since the run began; `sync_file_range` has no word in it. Not together with verify.",
        accepts: &[("trace.log", "trace.log")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "read_iolog",
        category: Category::Replay,
        kind: ValueKind::Text,
        summary: "Replay the operations of this trace",
        details: "A trace of `iolab capture`, an iolog of fio (version 2 or 3), text of strace, or the files of one blktrace separated by `:`. The trace says which files, which operations, when, and how many workers: one for each thread that was there at the same time as others. The order within a thread is kept, and so is the order of threads around syncs. rw, bs, size and filename have no meaning.",
        accepts: &[("trace.log", "trace.log")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "read_iolog_chunked",
        category: Category::Replay,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Read the trace in pieces while replaying",
        status: SupportStatus::NoEffect("every trace is read in pieces"),
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_no_stall",
        category: Category::Replay,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Replay as fast as possible",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_redirect",
        category: Category::Replay,
        kind: ValueKind::Text,
        summary: "File or device to replay all operations on",
        accepts: &[("/dev/ram0", "/dev/ram0")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_map",
        category: Category::Replay,
        kind: ValueKind::Text,
        summary: "Where files of the trace are now: `FROM=TO`, several separated by `:`",
        details: "A path that is FROM or lies below it is replayed at TO; the longest FROM counts. Other files lie below `directory`, if that is given, and where they were otherwise. iolab only.",
        accepts: &[("/var/lib/db=/mnt/copy", "/var/lib/db=/mnt/copy")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_scale",
        category: Category::Replay,
        kind: ValueKind::Integer { min: 1, max: u32::MAX as i64 },
        default: DefaultValue::Text("1"),
        summary: "Divide offsets by this",
        accepts: &[("2", "2")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_align",
        category: Category::Replay,
        kind: ValueKind::Size,
        default: DefaultValue::Text("0"),
        summary: "Align offsets to this",
        accepts: &[("4k", "4k")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_time_scale",
        category: Category::Replay,
        kind: ValueKind::Integer { min: 1, max: u32::MAX as i64 },
        default: DefaultValue::Text("100"),
        summary: "Speed of the replay, percent of the trace's own",
        details: "200 replays twice as fast, 50 takes twice as long. As fio 3.33 behaves.",
        accepts: &[("50", "50")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "replay_skip",
        category: Category::Replay,
        kind: ValueKind::Words(&["read", "write", "trim", "flush", "sync"]),
        summary: "Kinds of operations to skip",
        accepts: &[("trim,flush", "trim,flush")],
        rejects: &["erase"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "merge_blktrace_file",
        category: Category::Replay,
        kind: ValueKind::Text,
        summary: "File to merge traces into",
        details: "Each file of `read_iolog` is then a trace of its own, and the merged file, a trace of blktrace, is replayed. It keeps what was queued, issued and completed, and fio replays it, too. `iolab plan` writes nothing: it takes the file that is there (--merge-blktrace-only).",
        accepts: &[("merged.bin", "merged.bin")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "merge_blktrace_scalars",
        category: Category::Replay,
        kind: ValueKind::Floats { most: 1024, min: 0.0, max: 1_000_000.0 },
        summary: "Percent by which to stretch the time of each trace",
        accepts: &[("50:100", "50:100")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "merge_blktrace_iters",
        category: Category::Replay,
        kind: ValueKind::Floats { most: 1024, min: 0.0, max: 1_000_000.0 },
        summary: "Number of passes over each trace",
        accepts: &[("1:2", "1:2")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
];
