//! Job options: when a job starts, ends and begins to count.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, DefaultValue, OptionEntry, TimeUnit, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "runtime",
        aliases: &["timeout"],
        category: Category::Time,
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("0"),
        summary: "Maximum run time",
        details: "A bare number counts seconds; 0 is no limit.",
        differs: "what was written is verified when the time is up, too",
        accepts: &[("60", "1m"), ("1.5s", "1.5s"), ("500ms", "500ms"), ("2h", "2h"), ("(5s+100)", "5.0001s")],
        rejects: &["-1", "5x", "soon"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "time_based",
        category: Category::Time,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Start over at the end of the files until the runtime is over",
        differs: "each pass is verified",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "wear_out",
        category: Category::Time,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "When the runtime is over, go on until all have done as much as the fastest",
        details: "When the time of a worker is up, it waits until the time of all workers of this job is up, on all ranks, and then goes on until it has done as many operations as the one that had done most. So all files are equally long, and the slowest counts: IOR's and mdtest's stonewall with wear-out. Needs a runtime and a queue depth of 1; iolab only.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "startdelay",
        category: Category::Time,
        kind: ValueKind::TimeRange { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("0"),
        summary: "Wait before starting, or a range from which each worker draws",
        accepts: &[("5", "5s"), ("100ms-1s", "100ms-1s")],
        rejects: &["-1", "1-"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "ramp_time",
        category: Category::Time,
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("0"),
        summary: "Warm-up: time to run before measuring",
        details: "Adds to the runtime.",
        accepts: &[("5", "5s"), ("0", "0s")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "ramp_size",
        category: Category::Time,
        kind: ValueKind::SizeOrPercent,
        summary: "Warm-up: data to transfer before measuring",
        details: "Looked at every millisecond. Cannot be combined with ramp_time.",
        differs: "looked at every millisecond; not together with ramp_time",
        accepts: &[("1g", "1g")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
];
