//! Job options: what is measured and how it is shown.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, TimeUnit, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "group_reporting",
        category: Category::Measurement,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Report all jobs of a group together",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "stats",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Whether the job appears in reports",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "clat_percentiles",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Report percentiles of completion latency",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "lat_percentiles",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Report percentiles of total latency",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "slat_percentiles",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Report percentiles of submission latency",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "percentile_list",
        category: Category::Measurement,
        kind: ValueKind::Floats { most: 20, min: 0.0, max: 100.0 },
        default: DefaultValue::Text("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99"),
        summary: "Which percentiles to report",
        details: "At most 20, separated by `:`.",
        accepts: &[("50:99:99.9", "50:99:99.9")],
        rejects: &["50:x", "101", "1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "significant_figures",
        category: Category::Measurement,
        kind: ValueKind::Integer { min: 1, max: 10 },
        default: DefaultValue::Text("4"),
        summary: "Significant digits in the normal report",
        accepts: &[("6", "6")],
        rejects: &["0", "11"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "disk_util",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Report the utilisation of the devices used",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "gtod_reduce",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Read the clock as rarely as possible",
        details: "Turns off latency and bandwidth statistics.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "disable_lat",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Do not measure total latency",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "disable_clat",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Do not measure completion latency",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "disable_slat",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Do not measure submission latency",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "disable_bw_measurement",
        aliases: &["disable_bw"],
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Do not record bandwidth over time",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "unified_rw_reporting",
        category: Category::Measurement,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &["0"], summary: "each direction separately" },
            Choice { name: "mixed", aliases: &["1"], summary: "all directions together" },
            Choice { name: "both", aliases: &["2"], summary: "each separately and all together" },
        ]),
        default: DefaultValue::Text("none"),
        summary: "Whether to report reads, writes and trims together",
        accepts: &[("1", "mixed"), ("both", "both")],
        rejects: &["3"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "clocksource",
        category: Category::Measurement,
        kind: ValueKind::Choice(&[
            Choice { name: "gettimeofday", aliases: &[], summary: "gettimeofday" },
            Choice { name: "clock_gettime", aliases: &[], summary: "the kernel's monotonic clock" },
            Choice { name: "cpu", aliases: &[], summary: "the processor's time stamp counter" },
        ]),
        default: DefaultValue::Derived("the time stamp counter if it is reliable, else clock_gettime"),
        summary: "Clock to measure with",
        accepts: &[("cpu", "cpu")],
        rejects: &["sundial"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "kb_base",
        category: Category::Measurement,
        kind: ValueKind::Choice(&[
            Choice { name: "1024", aliases: &[], summary: "k is 1024 and ki is 1000, as old job files expect" },
            Choice { name: "1000", aliases: &[], summary: "k is 1000 and ki is 1024, as the standards say" },
        ]),
        default: DefaultValue::Text("1024"),
        summary: "What k, M, ki and Mi mean",
        details: "Applies to the whole section, wherever it appears in it.",
        accepts: &[("1000", "1000")],
        rejects: &["512"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "unit_base",
        category: Category::Measurement,
        kind: ValueKind::Choice(&[
            Choice { name: "0", aliases: &[], summary: "whatever fits" },
            Choice { name: "8", aliases: &[], summary: "bytes" },
            Choice { name: "1", aliases: &[], summary: "bits" },
        ]),
        default: DefaultValue::Text("0"),
        summary: "Whether reports count bytes or bits",
        accepts: &[("8", "8")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "bwavgtime",
        category: Category::Measurement,
        kind: ValueKind::Time { unit: TimeUnit::Milliseconds },
        default: DefaultValue::Text("500"),
        summary: "Window of the bandwidth summary, milliseconds",
        accepts: &[("1s", "1s")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "iopsavgtime",
        category: Category::Measurement,
        kind: ValueKind::Time { unit: TimeUnit::Milliseconds },
        default: DefaultValue::Text("500"),
        summary: "Window of the IOPS summary, milliseconds",
        accepts: &[("250", "250ms")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "job_start_clock_id",
        category: Category::Measurement,
        kind: ValueKind::Integer { min: 0, max: 15 },
        default: DefaultValue::Text("0"),
        summary: "Clock for the job's start time in reports",
        details: "The number of clock_gettime(2): 0 real time, 1 monotonic, 7 since boot.",
        accepts: &[("1", "1")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "block_error_percentiles",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Count trims and errors of each block",
        details: "For tests of endurance: trims are counted for each block, of the size of a trim, until a write or a trim of \
                  it fails. The report shows how many trims blocks had before that.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "steadystate",
        aliases: &["ss"],
        category: Category::Measurement,
        kind: ValueKind::SteadyState,
        default: DefaultValue::Text("iops_slope:0.01%"),
        summary: "End the job when its rate is steady",
        details: "`iops` and `bw` limit the largest deviation from the mean over the window; `iops_slope` and `bw_slope` limit the slope of a line through it, per check. With `%` the limit is a share of the mean, otherwise IOPS or bytes per second. Needs `steadystate_duration`. With `group_reporting`, the sum over the group is checked and all its jobs end together.",
        accepts: &[("iops:0.3%", "iops:0.3%"), ("bw_slope:5", "bw_slope:5"), ("bw:1m", "bw:1048576")],
        rejects: &["iops", "rate:1%", "iops:x", "iops:-5", "lat:5%", "bw:x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "steadystate_duration",
        aliases: &["ss_dur"],
        category: Category::Measurement,
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("0"),
        summary: "Length of the window in which the rate must be steady",
        details: "0 turns the check off. The window holds one sample per `steadystate_check_interval`.",
        accepts: &[("10s", "10s")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "steadystate_ramp_time",
        aliases: &["ss_ramp"],
        category: Category::Measurement,
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("0"),
        summary: "Time to wait before the first check",
        details: "Counted from the start of the measured part, after `ramp_time`. The window starts after it.",
        accepts: &[("5", "5s")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "steadystate_check_interval",
        aliases: &["ss_interval"],
        category: Category::Measurement,
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("1"),
        summary: "How often to check whether the rate is steady",
        details: "Each check takes one sample. 10ms or more. fio 3.33 does not have this option and takes one sample a second.",
        accepts: &[("1", "1s"), ("100ms", "100ms")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "interval",
        category: Category::Measurement,
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Text("1"),
        summary: "Length of the recorded intervals",
        details: "iolab only. 10ms to 1h; 0 records none. Each interval has a full latency histogram per direction and is saved while the run goes on: a killed run loses only the last one. `iolab report --intervals` shows them.",
        accepts: &[("100ms", "100ms"), ("1", "1s"), ("0", "0s"), ("10ms", "10ms")],
        rejects: &["x", "-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "sample_interval",
        category: Category::Measurement,
        kind: ValueKind::Time { unit: TimeUnit::Seconds },
        default: DefaultValue::Derived(
            "a twentieth of the runtime, between 100ms and 1s; for runs longer than an hour a 3600th; 1s if the runtime is unknown; 0 when called as fio",
        ),
        summary: "Time between samples of the block devices and the machine",
        details: "iolab only. 10ms to 1h; 0 takes no samples. Each sample records counters and queue depths of the block devices below the job's files, CPU times, pressure and page cache; a killed run keeps its samples. The first is taken when the run starts, the last when it ends. If jobs differ, the shortest interval counts.",
        accepts: &[("100ms", "100ms"), ("1", "1s"), ("0", "0s")],
        rejects: &["x", "-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "trace_block",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Trace every request of the block devices",
        details: "iolab only. For each sample_interval and each block device below the files, records histograms of the time from issue to completion and of the request sizes. Needs root and tracefs; without them, a warning says so. Each request costs two trace events; lost events are counted.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "per_file_stats",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Report each file or device of a job with several",
        details: "iolab only. Operations, bytes and completion latencies of each file, besides those of the job. Costs about 40 instructions per operation and 64 KiB of memory per file; nothing with a single file.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "calibrate",
        category: Category::Measurement,
        kind: ValueKind::Bool,
        default: DefaultValue::Derived("1; 0 when called as fio"),
        summary: "Measure iolab's own cost before the run",
        details: "iolab only. Takes a few milliseconds before the jobs start: iolab's own time per I/O, the cost of a time stamp, how late timers fire. The report shows them, and a warning appears if iolab was the limit instead of the device.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
];
