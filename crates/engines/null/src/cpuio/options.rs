//! The engine's own options.

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, SupportStatus, ValueKind};

/// The options of `cpuio`.
pub const CPUIO_OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "cpuload",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 1, max: 100 },
        summary: "Share of one CPU to use, percent; required",
        details: "Reached by sleeping in between: 85 uses 85 % of one CPU.",
        accepts: &[("1", "1"), ("85", "85"), ("100", "100")],
        rejects: &["0", "101", "all"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cpuchunks",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 1, max: 3_600_000_000 },
        default: DefaultValue::Text("50000"),
        summary: "Length of one busy period, microseconds",
        details: "One operation is one busy period and the sleep after it.",
        accepts: &[("50000", "50000"), ("1", "1")],
        rejects: &["0", "-5", "long"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cpu_busy",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 1, max: 100 },
        summary: "Keep all CPUs together busy for this share of their time, percent",
        details: "Whatever else runs counts: four times a second, each job looks at how busy all CPUs were \
            (/proc/stat), and uses more or less. cpuload is where it begins. It stands for the computing of a program \
            of which only the storage is known. iolab only: fio does not have this option; a job file for both \
            has it in a line `#iolab: cpu_busy=80`.",
        accepts: &[("1", "1"), ("82", "82"), ("100", "100")],
        rejects: &["0", "101", "all"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cpu_busy_by",
        category: Category::Engine,
        kind: ValueKind::Choice(&[
            Choice { name: "all", aliases: &[], summary: "Whatever runs on the machine" },
            Choice { name: "run", aliases: &[], summary: "The processes of this run only" },
        ]),
        default: DefaultValue::Text("all"),
        summary: "Whose work counts for cpu_busy",
        details: "With `run`, other programs do not change what the run computes: they slow it down, as they would             slow down the program that it stands for. A job then uses at most a quarter more than cpuload. iolab only:             fio does not have this option.",
        accepts: &[("all", "all"), ("run", "run")],
        rejects: &["program", "1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cpumode",
        category: Category::Engine,
        kind: ValueKind::Choice(&[
            Choice { name: "noop", aliases: &[], summary: "Increment a register" },
            Choice { name: "qsort", aliases: &[], summary: "Sort random numbers, which uses more energy and cache" },
        ]),
        default: DefaultValue::Text("noop"),
        summary: "How to use the CPU",
        details: "",
        accepts: &[("noop", "noop"), ("qsort", "qsort")],
        rejects: &["sort", "1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "exit_on_io_done",
        category: Category::Engine,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "End when all jobs that do I/O have ended",
        details: "The engine does not know about other jobs, so the runner handles this option.",
        status: SupportStatus::Refused("a job does not know which others do I/O: use exitall in those"),
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "soon"],
        ..OptionEntry::BLANK
    },
];
