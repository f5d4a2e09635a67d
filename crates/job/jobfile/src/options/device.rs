//! Job options: settings of the block devices under a job's files, which iolab applies before a run
//! and restores after it.
//!
//! These are not options of fio: in fio mode, they are unknown. Each name is `device.` followed by
//! the kernel's name of the file in `/sys/block/DEVICE/queue`
//! (Documentation/ABI/stable/sysfs-block). One entry per option, with the texts that test it; see
//! [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, ValueKind};

/// The prefix of the names of these options.
pub const DEVICE_PREFIX: &str = "device.";

/// The default of a setting that a job does not name.
const UNTOUCHED: DefaultValue = DefaultValue::Derived("left as it is");

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "device.scheduler",
        category: Category::Device,
        kind: ValueKind::Text,
        default: UNTOUCHED,
        summary: "I/O scheduler of the devices under the files",
        details: "`none`, `mq-deadline`, `kyber` or `bfq`, if the kernel has it.",
        accepts: &[("none", "none"), ("mq-deadline", "mq-deadline")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.nomerges",
        category: Category::Device,
        kind: ValueKind::Integer { min: 0, max: 2 },
        default: UNTOUCHED,
        summary: "Merging of requests: 0 all, 1 only simple ones, 2 none",
        accepts: &[("2", "2")],
        rejects: &["3", "-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.max_sectors_kb",
        category: Category::Device,
        kind: ValueKind::Integer { min: 1, max: i32::MAX as i64 },
        default: UNTOUCHED,
        summary: "Maximum request size, KiB; larger operations are split",
        details: "At most the device's `max_hw_sectors_kb`.",
        accepts: &[("128", "128")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.nr_requests",
        category: Category::Device,
        kind: ValueKind::Integer { min: 1, max: i32::MAX as i64 },
        default: UNTOUCHED,
        summary: "Requests that the block layer keeps in each queue of the device",
        accepts: &[("64", "64")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.read_ahead_kb",
        category: Category::Device,
        kind: ValueKind::Integer { min: 0, max: i32::MAX as i64 },
        default: UNTOUCHED,
        summary: "Read-ahead of the page cache, KiB",
        accepts: &[("0", "0")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.wbt_lat_usec",
        category: Category::Device,
        kind: ValueKind::Integer { min: -1, max: i32::MAX as i64 },
        default: UNTOUCHED,
        summary: "Latency goal of write-back throttling, µs; 0 none, -1 the kernel's choice",
        accepts: &[("0", "0"), ("-1", "-1")],
        rejects: &["-2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.io_poll",
        category: Category::Device,
        kind: ValueKind::Bool,
        default: UNTOUCHED,
        summary: "Polling for completions, where the device has queues for it",
        details: "Since Linux 6.0 the driver decides (`nvme.poll_queues`), and the kernel refuses or ignores other values.",
        accepts: &[("1", "1")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.rq_affinity",
        category: Category::Device,
        kind: ValueKind::Integer { min: 0, max: 2 },
        default: UNTOUCHED,
        summary: "Where requests complete: 0 anywhere, 1 near the CPU that submitted, 2 on that CPU",
        accepts: &[("2", "2")],
        rejects: &["3"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.rotational",
        category: Category::Device,
        kind: ValueKind::Bool,
        default: UNTOUCHED,
        summary: "Whether the kernel treats the device as a rotating disk",
        details: "Schedulers and file systems behave differently on rotating disks.",
        accepts: &[("0", "0")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.add_random",
        category: Category::Device,
        kind: ValueKind::Bool,
        default: UNTOUCHED,
        summary: "Whether completions add to the kernel's entropy pool",
        accepts: &[("0", "0")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.iostats",
        category: Category::Device,
        kind: ValueKind::Bool,
        default: UNTOUCHED,
        summary: "Whether the kernel counts requests",
        details: "Without the counters, reports and findings cannot tell what the device did.",
        accepts: &[("0", "0")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.io_timeout",
        category: Category::Device,
        kind: ValueKind::Integer { min: 1, max: u32::MAX as i64 },
        default: UNTOUCHED,
        summary: "Time after which the kernel gives up on a request, ms",
        accepts: &[("30000", "30000")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "device.write_cache",
        category: Category::Device,
        kind: ValueKind::Choice(&[
            Choice { name: "write back", aliases: &["write_back"], summary: "flushes are sent to the device" },
            Choice { name: "write through", aliases: &["write_through"], summary: "flushes are not sent" },
        ]),
        default: UNTOUCHED,
        summary: "What the kernel assumes about the device's write cache",
        details: "The cache itself stays as it is: with `write through` on a device whose cache is volatile, a power failure loses data that was flushed.",
        accepts: &[("write through", "write through"), ("write_back", "write back")],
        rejects: &["none"],
        ..OptionEntry::BLANK
    },
];
