//! Job options: what a job is called, how often it runs and what it waits for.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, SupportStatus, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "name",
        category: Category::Job,
        kind: ValueKind::Text,
        default: DefaultValue::Derived("the name of the section"),
        summary: "Name of the job",
        details: "On the command line, `--name` starts a new job. In a job file it replaces the section's name in reports.",
        accepts: &[("mine", "mine")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "description",
        category: Category::Job,
        kind: ValueKind::Text,
        summary: "Free text for reports",
        accepts: &[("a b", "a b")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "loops",
        category: Category::Job,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Text("1"),
        summary: "Number of passes over the workload",
        details: "0 is one pass, too. With time_based, runtime decides instead.",
        accepts: &[("3", "3"), ("2k", "2048"), ("0", "0")],
        rejects: &["-1", "3x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "numjobs",
        category: Category::Job,
        kind: ValueKind::Integer { min: 1, max: 65_536 },
        default: DefaultValue::Text("1"),
        summary: "Number of clones of the job; each is a worker of its own",
        details: "Clones share the job's name and reporting group; group_reporting sums them up.",
        differs: "at most 65536",
        accepts: &[("4", "4"), ("(2*3)", "6")],
        rejects: &["0", "1.5", "four"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "hosts",
        category: Category::Job,
        kind: ValueKind::Text,
        summary: "Ranks that run the job: numbers, ranges, names of hosts",
        details: "`hosts=0` is only for the first rank, `hosts=1-3,node7` for three others and all on the host node7. A run that is not one of several is rank 0. A rank that leaves a job out does not wait for the ranks that run it; the stonewall of such a job holds for its own jobs.",
        accepts: &[("1-3,node7", "1-3,node7"), ("0", "0")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rank_shift",
        category: Category::Job,
        kind: ValueKind::Integer { min: 0, max: 9_999 },
        default: DefaultValue::Text("0"),
        summary: "Work on the files and offsets of the rank this many farther",
        details: "Rank r of n has the part of rank (r + rank_shift) mod n: the names that nobody gave, and the offsets of offset_increment. So a rank reads what another wrote, which its own caches do not hold: `rank_shift=1` in the job that reads is IOR's -C, and mdtest's -N 1. In names and values with $rank, write `(($rank+1)%$ranks)` instead. The stonewall of a rank does not wait for the others: write and read in a run each.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["-1", "x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "stonewall",
        aliases: &["wait_for_previous"],
        category: Category::Job,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Start only when all earlier jobs have ended",
        details: "Also starts a new reporting group.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "new_group",
        category: Category::Job,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Start a new reporting group with this job",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "wait_for",
        category: Category::Job,
        kind: ValueKind::Text,
        summary: "Job that must end before this one starts",
        details: "The job must be defined earlier.",
        accepts: &[("fill", "fill")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "exitall",
        category: Category::Job,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "End other jobs when this one ends",
        details: "exit_what chooses which ones.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "exit_what",
        category: Category::Job,
        kind: ValueKind::Choice(&[
            Choice { name: "group", aliases: &[], summary: "only jobs of the same reporting group" },
            Choice { name: "stonewall", aliases: &[], summary: "jobs of the same stage" },
            Choice { name: "all", aliases: &[], summary: "every job" },
        ]),
        default: DefaultValue::Text("group"),
        summary: "Which jobs exitall ends",
        accepts: &[("all", "all")],
        rejects: &["everyone"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "exitall_on_error",
        category: Category::Job,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "End other jobs when this one ends with an error",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "profile",
        category: Category::Job,
        kind: ValueKind::Choice(&[
            Choice { name: "tiobench", aliases: &[], summary: "threaded file benchmark" },
            Choice { name: "act", aliases: &[], summary: "Aerospike certification load" },
        ]),
        summary: "Built-in workload of another benchmark",
        details: "A profile replaces the whole job, so the job means nothing without it.",
        status: SupportStatus::Refused(
            "profiles are for the command line: --profile=tiobench; write the jobs of others out, or use iolab bench",
        ),
        accepts: &[("act", "act")],
        rejects: &["mine"],
        ..OptionEntry::BLANK
    },
];
