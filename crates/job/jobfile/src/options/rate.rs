//! Job options: rates, think time, flow between jobs and latency targets.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, SupportStatus, TimeUnit, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "rate",
        category: Category::Rate,
        kind: ValueKind::Sizes,
        default: DefaultValue::Text("0"),
        summary: "Maximum bytes per second, for reads, writes and trims",
        details: "Response time is reported too: it counts from when the schedule wanted the operation, so a stall is not hidden.",
        differs: "in a mix where only one direction has a rate, the mix is kept (fio: the other direction runs free)",
        accepts: &[("1m", "1m"), ("1m,500k", "1m,500k,500k"), (",500k", ",500k,500k"), ("500k,", "500k,,")],
        rejects: &["1q"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rate_min",
        aliases: &["ratemin"],
        category: Category::Rate,
        kind: ValueKind::Sizes,
        default: DefaultValue::Text("0"),
        summary: "End the job if it transfers fewer bytes per second than this",
        accepts: &[("1m", "1m")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rate_iops",
        category: Category::Rate,
        kind: ValueKind::Integers { min: 0, max: i64::MAX },
        default: DefaultValue::Text("0"),
        summary: "Maximum operations per second, for reads, writes and trims",
        differs: "in a mix where only one direction has a rate, the mix is kept (fio: the other direction runs free)",
        accepts: &[("1000", "1000"), ("1k,500", "1024,500,500")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rate_iops_min",
        category: Category::Rate,
        kind: ValueKind::Integers { min: 0, max: i64::MAX },
        default: DefaultValue::Text("0"),
        summary: "End the job if it does fewer operations per second than this",
        differs: "a rate that is missed ends the job after the first cycle",
        accepts: &[("100", "100")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rate_scope",
        category: Category::Rate,
        kind: ValueKind::Choice(&[
            Choice { name: "worker", aliases: &[], summary: "of each worker, as in fio" },
            Choice { name: "job", aliases: &[], summary: "of all workers of the job together, on all ranks" },
        ]),
        default: DefaultValue::Text("worker"),
        summary: "What rate, rate_iops and their minima are the rates of",
        details: "With rate_scope=job, rate_iops=1000 and numjobs=4 on 5 ranks, each of the 20 workers does 50 operations per second. Of ranks that hosts leaves out, none has a part.",
        accepts: &[("worker", "worker"), ("job", "job")],
        rejects: &["rank"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rate_process",
        category: Category::Rate,
        kind: ValueKind::Choice(&[
            Choice { name: "linear", aliases: &[], summary: "evenly spaced" },
            Choice { name: "poisson", aliases: &[], summary: "at random, as independent users would" },
        ]),
        default: DefaultValue::Text("linear"),
        summary: "How operations are spread over time when a rate is set",
        accepts: &[("poisson", "poisson")],
        rejects: &["bursty"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "arrivals",
        category: Category::Rate,
        kind: ValueKind::Text,
        summary: "File with the time at which to send each operation, instead of a rate",
        details: "One time per line, in microseconds from the start of the job's I/O, ascending; fractions are allowed; lines that start with # are skipped. Every clone of the job replays the whole file. If the device falls behind, operations are sent as soon as there is room, and their response time counts from the time in the file. The job ends with the last arrival unless arrivals_repeat is set. iolab only: fio does not have this option.",
        accepts: &[("arrivals.txt", "arrivals.txt")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "arrivals_repeat",
        category: Category::Rate,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Start over with the first arrival after the last one, until the job ends for another reason",
        details: "An average gap follows the last arrival, so that the rate stays the same. iolab only.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rate_cycle",
        aliases: &["ratecycle"],
        category: Category::Rate,
        kind: ValueKind::Time { unit: TimeUnit::Milliseconds },
        default: DefaultValue::Text("1000"),
        summary: "Time over which minimum rates are checked, milliseconds",
        accepts: &[("500", "500ms"), ("2s", "2s")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rate_ignore_thinktime",
        category: Category::Rate,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Do not make up for think time when keeping a rate",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "thinktime",
        category: Category::Rate,
        kind: ValueKind::Time { unit: TimeUnit::Microseconds },
        default: DefaultValue::Text("0"),
        summary: "Pause after each thinktime_blocks operations, microseconds",
        accepts: &[("100", "100us"), ("1ms", "1ms")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "thinktime_spin",
        category: Category::Rate,
        kind: ValueKind::Time { unit: TimeUnit::Microseconds },
        default: DefaultValue::Text("0"),
        summary: "How much of the pause is spent using the CPU, microseconds",
        accepts: &[("10", "10us")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "thinktime_work",
        category: Category::Rate,
        kind: ValueKind::Time { unit: TimeUnit::Microseconds },
        default: DefaultValue::Text("0"),
        summary: "Processor time that ends the spinning of a pause, microseconds",
        details: "The spinning of `thinktime_spin` ends when the worker has used this much processor time, instead of when its time is over. So a pause gets longer where the worker waits for a processor, as that of a program does which computes in it. 0 ends it by the clock. iolab only: fio does not have this option; a job file for both has it in a line `#iolab: thinktime_work=90us`.",
        accepts: &[("90", "90us")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "thinktime_blocks",
        category: Category::Rate,
        kind: ValueKind::Integer { min: 1, max: u32::MAX as i64 },
        default: DefaultValue::Text("1"),
        summary: "Operations between two pauses",
        accepts: &[("8", "8")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "thinktime_blocks_type",
        category: Category::Rate,
        kind: ValueKind::Choice(&[
            Choice { name: "complete", aliases: &[], summary: "when they complete" },
            Choice { name: "issue", aliases: &[], summary: "when they are issued" },
        ]),
        default: DefaultValue::Text("complete"),
        summary: "Whether operations count towards thinktime_blocks when issued or when completed",
        accepts: &[("issue", "issue")],
        rejects: &["begin"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "thinktime_iotime",
        category: Category::Rate,
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("0"),
        summary: "Pause after this much time of I/O instead, seconds",
        accepts: &[("1", "1s"), ("10ms", "10ms")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "thinkcycles",
        category: Category::Rate,
        kind: ValueKind::Integer { min: 0, max: i64::MAX },
        default: DefaultValue::Text("0"),
        summary: "Processor cycles to burn before each pause",
        details: "A pause without thinktime is only these. A cycle is one turn of an empty loop.",
        differs: "a cycle is a turn of a loop",
        accepts: &[("1000", "1000")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "follow",
        category: Category::Rate,
        kind: ValueKind::Text,
        summary: "Job whose operations this one waits for, and how many of them for each of its own",
        details: "`follow=log:12` lets one read, write or trim go for each 12 that the workers of the job `log` have completed, so that table pages keep their place behind the log. Progress is published every 20 ms, and the numbers that count are of reads, writes and trims, not of syncs. Ends with the job that is followed. iolab only: fio does not have this option; a job file for both has it in a line `#iolab: follow=log:12`.",
        accepts: &[("log:12", "log:12"), ("log:0.5", "log:0.5")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "flow",
        category: Category::Rate,
        kind: ValueKind::Integer { min: -1_000_000, max: 1_000_000 },
        default: DefaultValue::Text("0"),
        summary: "Weight of this job within its flow",
        details: "The workers of one flow do reads, writes and trims in the ratio of their weights: one that is a round ahead waits. One that ends no longer counts, one that begins starts level with the slowest. 0: no flow.",
        differs: "by transfers, with a round of slack; there are no negative weights, as in fio since 3.20",
        accepts: &[("2", "2")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "flow_id",
        category: Category::Rate,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "Which flow this job belongs to",
        accepts: &[("1", "1")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "flow_watermark",
        category: Category::Rate,
        kind: ValueKind::Text,
        summary: "Largest difference between the jobs of a flow",
        status: SupportStatus::NoEffect("fio has dropped it, too"),
        accepts: &[("1024", "1024")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "flow_sleep",
        category: Category::Rate,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "Time to sleep when the flow holds the job back, microseconds",
        accepts: &[("100", "100")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "latency_target",
        category: Category::Rate,
        kind: ValueKind::Time { unit: TimeUnit::Microseconds },
        default: DefaultValue::Text("0"),
        summary: "Find the largest queue depth whose latency stays below this, microseconds",
        details: "The depth is doubled from 1 as long as latency_percentile of the operations are below this in each latency_window, then narrowed down. Then the job ends, or goes on at that depth (latency_run). The whole run is reported, not only its last window as by fio. The depth found is latency_depth in JSON.",
        differs: "the whole run is reported (fio: its last window)",
        accepts: &[("10ms", "10ms")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "latency_window",
        category: Category::Rate,
        kind: ValueKind::Time { unit: TimeUnit::Microseconds },
        default: DefaultValue::Text("1s"),
        summary: "Time over which the latency target is checked, microseconds",
        accepts: &[("2s", "2s")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "latency_percentile",
        category: Category::Rate,
        kind: ValueKind::Floats { most: 1, min: 0.0, max: 100.0 },
        default: DefaultValue::Text("100"),
        summary: "Percent of operations that must meet the latency target",
        accepts: &[("99.9", "99.9")],
        rejects: &["101"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "latency_run",
        category: Category::Rate,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Keep adjusting the queue to the latency target",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
];
