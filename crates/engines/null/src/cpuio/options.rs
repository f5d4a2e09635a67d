//! The engine's own options.

use iolab_options::{Category, Choice, DefaultValue, Kind, OptionEntry, Status};

/// The options of `cpuio`.
pub const CPUIO_OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "cpuload",
        category: Category::Engine,
        kind: Kind::Integer { min: 1, max: 100 },
        summary: "Share of one CPU to burn, percent; must be given",
        details: "Reached by sleeping between burns: 85 burns 85 % of the time of one CPU.",
        accepts: &[("1", "1"), ("85", "85"), ("100", "100")],
        rejects: &["0", "101", "all"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cpuchunks",
        category: Category::Engine,
        kind: Kind::Integer { min: 1, max: 3_600_000_000 },
        default: DefaultValue::Text("50000"),
        summary: "Length of one burn, microseconds",
        details: "One operation is one burn and the sleep after it.",
        accepts: &[("50000", "50000"), ("1", "1")],
        rejects: &["0", "-5", "long"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cpumode",
        category: Category::Engine,
        kind: Kind::Choice(&[
            Choice { name: "noop", aliases: &[], summary: "Count in a register" },
            Choice { name: "qsort", aliases: &[], summary: "Sort random numbers, which takes more energy and cache" },
        ]),
        default: DefaultValue::Text("noop"),
        summary: "How to burn",
        details: "",
        accepts: &[("noop", "noop"), ("qsort", "qsort")],
        rejects: &["sort", "1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "exit_on_io_done",
        category: Category::Engine,
        kind: Kind::Bool,
        default: DefaultValue::Text("0"),
        summary: "End when all jobs that do I/O have ended",
        details: "Which other jobs still run is not an engine's to know: this is a request to whoever runs the jobs.",
        status: Status::NotYet,
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "soon"],
        ..OptionEntry::BLANK
    },
];
