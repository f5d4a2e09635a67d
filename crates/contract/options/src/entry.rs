//! One row of an option table.

use std::fmt;

/// The default of a switch that is neither on nor off: it is on if the kernel and the limits of the
/// process allow it. A plan contains this word.
pub const AUTOMATIC: &str = "automatic";

/// One option: everything that help, docs, completions, the parser and the tests need.
#[derive(Debug, Clone, Copy)]
pub struct OptionEntry {
    /// Canonical name, as in fio's manual.
    pub name: &'static str,
    /// Other accepted spellings.
    pub aliases: &'static [&'static str],
    /// Chapter of the reference in which it is listed.
    pub category: Category,
    /// What text it accepts.
    pub kind: ValueKind,
    /// The default. This is its only place: help shows it, and resolving reads it from here.
    pub default: DefaultValue,
    /// One line, no full stop, for `--cmdhelp` and completions.
    pub summary: &'static str,
    /// One or more sentences for `iolab explain` and the reference; may be empty.
    pub details: &'static str,
    /// Whether its text is a secret (a password, a key): it is neither shown nor saved.
    pub is_secret: bool,
    /// How far iolab supports it.
    pub status: SupportStatus,
    /// How it differs from fio, in a sentence without a full stop; empty if it does not, or if fio
    /// does not have it.
    pub differs: &'static str,
    /// `(text, canonical rendering)` pairs that must parse: the entry's own test.
    pub accepts: &'static [(&'static str, &'static str)],
    /// Texts that must be refused: the entry's own test.
    pub rejects: &'static [&'static str],
}

impl OptionEntry {
    /// A template for table entries: `OptionEntry { name: "bs", ..OptionEntry::BLANK }`.
    pub const BLANK: OptionEntry = OptionEntry {
        name: "",
        aliases: &[],
        category: Category::Engine,
        kind: ValueKind::Text,
        default: DefaultValue::Absent,
        summary: "",
        details: "",
        is_secret: false,
        status: SupportStatus::Supported,
        differs: "",
        accepts: &[],
        rejects: &[],
    };

    /// A row of a switch that is off by default.
    pub const fn switch(name: &'static str, summary: &'static str, details: &'static str) -> OptionEntry {
        OptionEntry {
            name,
            kind: ValueKind::Switch,
            default: DefaultValue::Text("0"),
            summary,
            details,
            accepts: &[("", "1"), ("0", "0"), ("1", "1")],
            rejects: &["maybe"],
            ..OptionEntry::BLANK
        }
    }

    const fn priority(
        name: &'static str,
        kind: ValueKind,
        summary: &'static str,
        details: &'static str,
    ) -> OptionEntry {
        OptionEntry { name, kind, summary, details, category: Category::Process, ..OptionEntry::BLANK }
    }

    /// The rows of engines whose operations can have a priority of their own.
    pub const COMMAND_PRIORITIES: [OptionEntry; 5] = [
        OptionEntry {
            accepts: &[("20", "20"), ("20,10", "20,10,10")],
            rejects: &["101"],
            ..OptionEntry::priority(
                "cmdprio_percentage",
                ValueKind::Integers { min: 0, max: 100 },
                "Percent of reads and writes sent with a priority of their own",
                "Reports show the latencies of each priority: clat, or lat with lat_percentiles.",
            )
        },
        OptionEntry {
            accepts: &[("1", "1"), ("1,2", "1,2,2")],
            rejects: &["4"],
            ..OptionEntry::priority(
                "cmdprio_class",
                ValueKind::Integers { min: 0, max: 3 },
                "Priority class of those operations",
                "1 is realtime (the default), 2 best effort, 3 idle.",
            )
        },
        OptionEntry {
            accepts: &[("0", "0"), ("7", "7")],
            rejects: &["8"],
            ..OptionEntry::priority(
                "cmdprio",
                ValueKind::Integers { min: 0, max: 7 },
                "Priority level of those operations",
                "0, the default, is the highest.",
            )
        },
        OptionEntry {
            accepts: &[("0", "0"), ("1,7", "1,7,7")],
            rejects: &["8"],
            ..OptionEntry::priority(
                "cmdprio_hint",
                ValueKind::Integers { min: 0, max: 7 },
                "Priority hint of those operations",
                "1 to 7 are the duration limits of a drive (Linux 6.5).",
            )
        },
        OptionEntry {
            accepts: &[("64k/40:1m/60", "64k/40:1m/60"), ("4k/30/1/0,4k/10/2/7/1", "4k/30/1/0,4k/10/2/7/1")],
            ..OptionEntry::priority(
                "cmdprio_bssplit",
                ValueKind::Text,
                "Percent of operations with a priority of their own, by block size",
                "SIZE/PERCENT:…, or SIZE/PERCENT/CLASS/LEVEL:…, and /HINT behind; a list for reads, then one for writes.",
            )
        },
    ];

    /// The row of engines that can write atomically. Its value is that of the job's option.
    pub const ATOMIC: OptionEntry = OptionEntry {
        name: "atomic",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Send writes that a loss of power cannot tear (RWF_ATOMIC)",
        details: "",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    };

    /// Whether `name` is this option's name or one of its aliases.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// The default of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// The meaning of this text in the option's own language.
    Text(&'static str),
    /// The value of another option of the same table.
    SameAs(&'static str),
    /// A value that depends on other options, on the mode or on the machine: described in words,
    /// for help. Resolving computes it.
    Derived(&'static str),
    /// The engine decides when it is opened; a plan says [`AUTOMATIC`].
    Automatic,
    /// No value: the thing that the option would name does not exist.
    Absent,
}

impl fmt::Display for DefaultValue {
    /// In words; nothing for [`DefaultValue::Absent`].
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefaultValue::Text(word) | DefaultValue::Derived(word) => text.write_str(word),
            DefaultValue::SameAs(other) => write!(text, "the value of {other}"),
            DefaultValue::Automatic => text.write_str(AUTOMATIC),
            DefaultValue::Absent => Ok(()),
        }
    }
}

/// Chapter of the option reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// What the job is called and what it shares.
    Job,
    /// Which files or devices, how they are laid out, opened and removed.
    Files,
    /// Which engine, how deep its queue.
    Engine,
    /// Read, write or trim; sequential or random; where.
    Pattern,
    /// How large each operation is.
    BlockSize,
    /// What written buffers hold.
    Buffers,
    /// When the job starts, ends, waits.
    Time,
    /// Rates and think time.
    Rate,
    /// Flushes and synchronous writes.
    Durability,
    /// Threads, processes, CPUs, priorities.
    Process,
    /// What is measured and how it is shown.
    Measurement,
    /// Per-operation and per-interval log files.
    Logs,
    /// What happens on errors.
    Errors,
    /// Data verification.
    Verify,
    /// Trace replay and recording.
    Replay,
    /// Zoned devices and data placement.
    Zones,
    /// Settings of the block devices under the files.
    Device,
}

/// What text an option accepts, and which [`crate::Value`] it becomes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueKind {
    /// Any text → `Value::Text`.
    Text,
    /// Any text, or no value at all (meaning an empty one) → `Value::Text`.
    OptionalText,
    /// Any text, in which `%n` stands for the job's name and `%r` for its runtime in seconds →
    /// `Value::Text`. Only for options of engines; a plan has the text with both in place.
    JobText,
    /// `0`/`1`, or no value at all (meaning 1) → `Value::Flag`. `=value` is optional.
    Switch,
    /// `0`/`1`, value required → `Value::Flag`.
    Bool,
    /// Whole number, arithmetic and unit suffixes allowed, within bounds → `Value::Integer`.
    Integer {
        /// Smallest accepted.
        min: i64,
        /// Largest accepted.
        max: i64,
    },
    /// Up to three whole numbers for read, write, trim (`a,b,c`) → `Value::Integers`.
    Integers {
        /// Smallest accepted.
        min: i64,
        /// Largest accepted.
        max: i64,
    },
    /// 0 to 100 with at most three decimals; whole numbers as for [`ValueKind::Integer`] →
    /// `Value::Percent`.
    Percent,
    /// A number of bytes with units → `Value::Size`.
    Size,
    /// Bytes, `N%` or `Nz` → `Value::SizeSpec`.
    SizeOrPercent,
    /// Up to three sizes for read, write, trim → `Value::Sizes`.
    Sizes,
    /// Up to three ranges `min-max` for read, write, trim → `Value::SizeRanges`.
    SizeRanges,
    /// `size/percent:…`, per direction → `Value::Splits`.
    Splits,
    /// A time; a bare number counts in the unit → `Value::Time` (nanoseconds).
    Time {
        /// Unit of a bare number.
        unit: TimeUnit,
    },
    /// One size or a range `min-max` of sizes → `Value::SizeRanges`, the same for every direction.
    SizeRange,
    /// Up to three times for read, write, trim → `Value::Time` if all are equal, else
    /// `Value::Times` (nanoseconds).
    Times {
        /// Unit of a bare number.
        unit: TimeUnit,
    },
    /// One time → `Value::Time`, or a range `min-max` of times → `Value::TimeRange` (nanoseconds).
    TimeRange {
        /// Unit of a bare number.
        unit: TimeUnit,
    },
    /// One of the choices (name or alias) → `Value::Choice`.
    Choice(&'static [Choice]),
    /// `read`, `randrw`, … with an optional `:N` suffix → `Value::Pattern`.
    Pattern,
    /// Floating-point numbers separated by `:`, at most this many → `Value::Floats`.
    Floats {
        /// Most numbers accepted.
        most: usize,
        /// Smallest accepted.
        min: f64,
        /// Largest accepted.
        max: f64,
    },
    /// `random|zipf:…|pareto:…|normal:…|zoned:…|zoned_abs:…`, per direction →
    /// `Value::Distributions`.
    Distribution,
    /// `0,2-4` → `Value::Cpus`.
    CpuList,
    /// A hexadecimal or decimal bit mask → `Value::Cpus`.
    CpuMask,
    /// Bytes as `"text"`, `0xabcd`, decimal numbers, `%o`, concatenated → `Value::Bytes`.
    BytePattern,
    /// `kind:period` pairs of `sync_file_range` → `Value::Text`, checked.
    SyncFileRange,
    /// `roundrobin:8`, `zipf:1.2`, … of `file_service_type` → `Value::Text`, checked.
    FileService,
    /// `iops:0.3%`, `bw_slope:5`, … of `steadystate` → `Value::Text`, checked.
    SteadyState,
    /// `read:write:verify` lists of errno names or numbers → `Value::Text`, checked.
    ErrorNumbers,
    /// `bind:0-1`, `local`, … of `numa_mem_policy` → `Value::Text`, checked.
    NumaMemory,
    /// `malloc`, `mmaphuge:PATH`, … of `mem` → `Value::Text`, checked.
    BufferMemory,
    /// Comma list of words out of these → `Value::Text`, checked.
    Words(&'static [&'static str]),
}

/// Unit of a bare number in a time option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

/// One accepted word of a [`ValueKind::Choice`].
#[derive(Debug, PartialEq, Eq)]
pub struct Choice {
    /// Canonical word.
    pub name: &'static str,
    /// Other spellings of the same choice.
    pub aliases: &'static [&'static str],
    /// One line.
    pub summary: &'static str,
}

/// How far iolab supports an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupportStatus {
    /// Does what the reference says.
    Supported,
    /// Accepted but without effect, for the given reason.
    NoEffect(&'static str),
    /// Known but not supported, for the given reason. A job that sets it (to anything but its
    /// default) is refused in every mode, because ignoring it would change what is written,
    /// verified, measured or timed.
    Refused(&'static str),
}
