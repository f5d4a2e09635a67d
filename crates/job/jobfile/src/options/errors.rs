//! Job options: what happens on errors.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, TimeUnit, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "continue_on_error",
        category: Category::Errors,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &["0"], summary: "every error ends the job" },
            Choice { name: "read", aliases: &[], summary: "go on after read errors" },
            Choice { name: "write", aliases: &[], summary: "go on after write errors" },
            Choice { name: "io", aliases: &[], summary: "go on after read and write errors" },
            Choice { name: "verify", aliases: &[], summary: "go on after verification errors" },
            Choice { name: "all", aliases: &["1"], summary: "go on after any error" },
        ]),
        default: DefaultValue::Text("none"),
        summary: "Errors that do not end the job",
        accepts: &[("io", "io"), ("1", "all")],
        rejects: &["some"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "ignore_error",
        category: Category::Errors,
        kind: ValueKind::ErrorNumbers,
        summary: "Errors to ignore, for reads, writes and verification",
        details: "Names or numbers separated by `:`; commas separate the three lists.",
        accepts: &[("EIO", "EIO"), ("EAGAIN:ENOSPC,122", "EAGAIN:ENOSPC,122")],
        rejects: &["EWHATEVER", "0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "error_dump",
        category: Category::Errors,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Print each error that does not end the job",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "max_latency",
        category: Category::Errors,
        kind: ValueKind::Times { unit: TimeUnit::Microseconds },
        default: DefaultValue::Text("0"),
        summary: "End the job if an operation takes longer than this, microseconds",
        differs: "the operation that is slower ends the job, with an error",
        accepts: &[("10ms", "10ms"), ("1s,2s", "1s,2s,2s")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
];
