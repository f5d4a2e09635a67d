//! Job options: threads, processes, CPUs, memory locks, priorities and identity.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, SupportStatus, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "thread",
        aliases: &["threads"],
        category: Category::Process,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Run workers as threads instead of processes",
        details: "`threads` is accepted too, because some job files spell it so.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "comm",
        category: Category::Process,
        kind: ValueKind::Text,
        default: DefaultValue::Derived("the name of the job"),
        summary: "Name of the worker in process lists",
        accepts: &[("work", "work")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "nice",
        category: Category::Process,
        kind: ValueKind::Integer { min: -20, max: 19 },
        default: DefaultValue::Text("0"),
        summary: "Nice value",
        accepts: &[("-5", "-5"), ("19", "19")],
        rejects: &["20", "-21"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "prio",
        category: Category::Process,
        kind: ValueKind::Integer { min: 0, max: 7 },
        default: DefaultValue::Derived("inherited; 0 with prioclass"),
        summary: "I/O priority within its class, 0 highest",
        accepts: &[("3", "3")],
        rejects: &["8"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "prioclass",
        category: Category::Process,
        kind: ValueKind::Integer { min: 0, max: 3 },
        default: DefaultValue::Derived("inherited; 2 with prio"),
        summary: "I/O priority class: 1 real time, 2 best effort, 3 idle",
        accepts: &[("2", "2")],
        rejects: &["4"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "priohint",
        category: Category::Process,
        kind: ValueKind::Integer { min: 0, max: 1023 },
        default: DefaultValue::Derived("inherited; 0 with prio"),
        summary: "I/O priority hint",
        accepts: &[("1", "1")],
        rejects: &["1024"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cpumask",
        category: Category::Process,
        kind: ValueKind::CpuMask,
        summary: "CPUs a worker may run on, as a bit mask",
        accepts: &[("3", "0-1"), ("0xf0", "4-7")],
        rejects: &["0", "cpus"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cpus_allowed",
        category: Category::Process,
        kind: ValueKind::CpuList,
        summary: "CPUs a worker may run on",
        accepts: &[("0,2-4", "0,2-4"), ("3,1,2", "1-3")],
        rejects: &["a", "4-2", "0-"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cpus_allowed_policy",
        category: Category::Process,
        kind: ValueKind::Choice(&[
            Choice { name: "shared", aliases: &[], summary: "all clones use all of them" },
            Choice { name: "split", aliases: &[], summary: "each clone gets one of them" },
        ]),
        default: DefaultValue::Text("shared"),
        summary: "How clones share their CPUs",
        accepts: &[("split", "split")],
        rejects: &["even"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "numa_cpu_nodes",
        category: Category::Process,
        kind: ValueKind::CpuList,
        summary: "NUMA nodes whose CPUs a worker may run on",
        accepts: &[("0-1", "0-1")],
        rejects: &["all-of-them"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "numa_mem_policy",
        category: Category::Process,
        kind: ValueKind::NumaMemory,
        summary: "Where memory is allocated on a NUMA machine",
        accepts: &[("bind:0-1", "bind:0-1"), ("local", "local"), ("prefer:0", "prefer:0")],
        rejects: &["bind", "prefer:0-1", "local:0", "near"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "lockmem",
        category: Category::Process,
        kind: ValueKind::Size,
        default: DefaultValue::Text("0"),
        summary: "Memory to lock, bytes, so that less is left for caches",
        accepts: &[("1g", "1g")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "uid",
        category: Category::Process,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Derived("that of the program"),
        summary: "User to become before starting",
        accepts: &[("1000", "1000")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "gid",
        category: Category::Process,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Derived("that of the program"),
        summary: "Group to become before starting",
        accepts: &[("1000", "1000")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "exec_prerun",
        category: Category::Process,
        kind: ValueKind::Text,
        summary: "Command to run before the job",
        accepts: &[("sync", "sync")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "exec_postrun",
        category: Category::Process,
        kind: ValueKind::Text,
        summary: "Command to run after the job",
        accepts: &[("sync", "sync")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cgroup",
        category: Category::Process,
        kind: ValueKind::Text,
        summary: "Control group to run in",
        details: "A group of the unified hierarchy (/sys/fs/cgroup), made if it is missing and removed at the end if it was made.",
        differs: "of cgroup v2 only; not together with thread",
        accepts: &[("bulk", "bulk")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cgroup_weight",
        category: Category::Process,
        kind: ValueKind::Integer { min: 0, max: 1000 },
        default: DefaultValue::Text("0"),
        summary: "I/O weight of the control group",
        details: "It becomes io.weight of cgroup v2; 0 leaves it as it is.",
        accepts: &[("500", "500")],
        rejects: &["1001"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "cgroup_nodelete",
        category: Category::Process,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Keep the control group after the job",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "gtod_cpu",
        category: Category::Process,
        kind: ValueKind::Integer { min: 0, max: 8191 },
        summary: "CPU to reserve for keeping the time",
        status: SupportStatus::NoEffect(
            "reading the clock directly is cheaper than fetching the time from another CPU",
        ),
        accepts: &[("1", "1")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
];
