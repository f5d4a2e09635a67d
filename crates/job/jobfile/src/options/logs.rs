//! Job options: per-operation and per-interval log files.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, SupportStatus, TimeUnit, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "write_bw_log",
        category: Category::Logs,
        kind: ValueKind::OptionalText,
        summary: "Log bandwidth into files with this prefix",
        details: "Without a value, the name of the job is the prefix.",
        accepts: &[("run", "run")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "write_lat_log",
        category: Category::Logs,
        kind: ValueKind::OptionalText,
        summary: "Log latencies into files with this prefix",
        differs: "the last window of an averaged log is there; logs are written while the run goes on",
        accepts: &[("run", "run")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "write_iops_log",
        category: Category::Logs,
        kind: ValueKind::OptionalText,
        summary: "Log IOPS into files with this prefix",
        accepts: &[("run", "run")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "write_hist_log",
        category: Category::Logs,
        kind: ValueKind::OptionalText,
        summary: "Log histograms of completion latency into files with this prefix",
        accepts: &[("run", "run")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "per_job_logs",
        category: Category::Logs,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "One log file per worker instead of one per job",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_avg_msec",
        category: Category::Logs,
        kind: ValueKind::Time { unit: TimeUnit::Milliseconds },
        default: DefaultValue::Text("0"),
        summary: "Average log entries over this window, milliseconds; 0 logs every operation",
        accepts: &[("1000", "1s"), ("0", "0s")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_hist_msec",
        category: Category::Logs,
        kind: ValueKind::Time { unit: TimeUnit::Milliseconds },
        default: DefaultValue::Text("0"),
        summary: "Interval of the histogram log",
        accepts: &[("1000", "1s")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_hist_coarseness",
        category: Category::Logs,
        kind: ValueKind::Integer { min: 0, max: 6 },
        default: DefaultValue::Text("0"),
        summary: "How coarse the histogram log is: each step halves the number of bins",
        accepts: &[("3", "3")],
        rejects: &["7"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_window_value",
        aliases: &["log_max_value"],
        category: Category::Logs,
        kind: ValueKind::Choice(&[
            Choice { name: "avg", aliases: &["0"], summary: "the mean" },
            Choice { name: "max", aliases: &["1"], summary: "the maximum" },
            Choice { name: "both", aliases: &[], summary: "both" },
        ]),
        default: DefaultValue::Text("avg"),
        summary: "What to log of each window: average, maximum or both",
        accepts: &[("1", "max"), ("both", "both")],
        rejects: &["min"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_offset",
        category: Category::Logs,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Add the offset of each operation",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_prio",
        category: Category::Logs,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Add the priority of each operation",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_issue_time",
        category: Category::Logs,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Add the time at which each operation was issued",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_alternate_epoch",
        aliases: &["log_unix_epoch"],
        category: Category::Logs,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Count time from the Unix epoch instead of the start of the run",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_alternate_epoch_clock_id",
        category: Category::Logs,
        kind: ValueKind::Integer { min: 0, max: 15 },
        default: DefaultValue::Text("0"),
        summary: "Clock for log_alternate_epoch",
        details: "The number of clock_gettime(2): 0 real time, 1 monotonic, 7 since boot.",
        accepts: &[("1", "1")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_entries",
        category: Category::Logs,
        kind: ValueKind::Integer { min: 1, max: u32::MAX as i64 },
        default: DefaultValue::Text("1024"),
        summary: "Initial size of a log in memory",
        status: SupportStatus::NoEffect("logs grow as needed"),
        accepts: &[("4096", "4096")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_compression",
        category: Category::Logs,
        kind: ValueKind::Size,
        summary: "Compress logs in memory in pieces of this size",
        status: SupportStatus::NoEffect("logs are spooled to files while the run goes on and take no memory"),
        accepts: &[("64k", "64k")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_compression_cpus",
        category: Category::Logs,
        kind: ValueKind::CpuList,
        summary: "CPUs that compress logs",
        status: SupportStatus::NoEffect("logs are spooled to files while the run goes on and take no memory"),
        accepts: &[("0", "0")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "log_store_compressed",
        category: Category::Logs,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Write logs compressed",
        details: "Their names end with `.fz`; `--inflate-log=FILE` prints one as text.",
        differs: "such files hold the text of a log, so neither program reads those of the other",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
];
