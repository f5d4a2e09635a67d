//! The engine's own options.

use iolab_options::{Category, DefaultValue, OptionEntry, ValueKind};

/// The options of `exec`.
pub const EXEC_OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "program",
        category: Category::Engine,
        kind: ValueKind::Text,
        summary: "Program to run; required",
        details: "Without a slash, it is looked for in PATH.",
        accepts: &[("/bin/true", "/bin/true"), ("turbostat", "turbostat")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "arguments",
        category: Category::Engine,
        kind: ValueKind::JobText,
        summary: "Arguments of the program, separated by blanks",
        details: "%n stands for the name of the job, %r for its runtime in seconds. There are no quotation marks: \
            an argument has no blanks.",
        accepts: &[("-d %r -o %n.log", "-d %r -o %n.log")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "grace_time",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 0, max: 86_400 },
        default: DefaultValue::Text("1"),
        summary: "Seconds between SIGTERM and SIGKILL",
        details: "A program that ends sooner is not waited for.",
        accepts: &[("0", "0"), ("10", "10")],
        rejects: &["-1", "soon"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "std_redirect",
        category: Category::Engine,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Write what the program prints to files",
        details: "They are NAME.stdout and NAME.stderr in the working folder, NAME being std_prefix. Files that no \
            such job has made are not overwritten. With 0, the program prints to standard error, because a report \
            may be on standard output.",
        differs: "with 0, the program prints to standard error only",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "std_prefix",
        category: Category::Engine,
        kind: ValueKind::JobText,
        default: DefaultValue::Text("%n"),
        summary: "Beginning of the names of the files of std_redirect",
        details: "%n and %r as in arguments. iolab only: fio uses the name of the job.",
        accepts: &[("%n", "%n"), ("out/%n", "out/%n")],
        ..OptionEntry::BLANK
    },
];
