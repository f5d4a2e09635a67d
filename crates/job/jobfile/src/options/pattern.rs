//! Job options: reads, writes or trims; sequential or random; where.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, SupportStatus, ValueKind};

/// Text common to both shares of a mix.
const MIX_FRACTIONS: &str = "A fraction (12.5) is kept to the operation: of every thousand operations, in random order, exactly 125 are of that kind; whole percentages are drawn operation by operation, as fio draws them. fio, and iolab as fio, cut the fraction off.";

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "rw",
        aliases: &["readwrite"],
        category: Category::Pattern,
        kind: ValueKind::Pattern,
        default: DefaultValue::Text("read"),
        summary: "Access pattern",
        details: "Random patterns take `:N`: N operations per random offset (rw_sequencer chooses how). Sequential patterns take `:BYTES`: a gap after every operation, which may be negative.",
        differs: "trims of a regular file punch holes (fio: they fail); a run that skips begins anew at the end of the file",
        accepts: &[
            ("read", "read"),
            ("readwrite", "rw"),
            ("randrw", "randrw"),
            ("randread:8", "randread:8"),
            ("read:-8k", "read:-8k"),
            ("write:112k", "write:112k"),
            ("randtrimwrite", "randtrimwrite"),
        ],
        rejects: &["Read", "randread:8k", "randread:0", "both", "write:8q"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rw_sequencer",
        category: Category::Pattern,
        kind: ValueKind::Choice(&[
            Choice { name: "sequential", aliases: &[], summary: "each operation continues where the last one ended" },
            Choice { name: "identical", aliases: &[], summary: "all operations use the same offset" },
        ]),
        default: DefaultValue::Text("sequential"),
        summary: "What the N operations of `rw=…:N` do",
        accepts: &[("identical", "identical")],
        rejects: &["random"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rewrite",
        category: Category::Pattern,
        kind: ValueKind::Integer { min: 1, max: u32::MAX as i64 },
        default: DefaultValue::Text("1"),
        summary: "Operations at each place of a sequential pattern before it goes on",
        details: "As a log is written whose last page is written again with every commit until it is full. iolab only: fio does not have this option; a job file for both has it in a line `#iolab: rewrite=8`.",
        accepts: &[("8", "8")],
        rejects: &["0", "-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rwmixread",
        category: Category::Pattern,
        kind: ValueKind::Percent,
        default: DefaultValue::Text("50"),
        summary: "Percent of reads in a mixed pattern",
        details: MIX_FRACTIONS,
        accepts: &[("70", "70"), ("87.5", "87.5"), ("33.333", "33.333"), ("100.0", "100")],
        rejects: &["101", "-1", "100.5", "12.3456", "12.5k", "nan"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rwmixwrite",
        category: Category::Pattern,
        kind: ValueKind::Percent,
        default: DefaultValue::Derived("what rwmixread leaves of 100"),
        summary: "Percent of writes in a mixed pattern",
        details: "If rwmixread is set too, the later of the two counts. Fractions as for rwmixread.",
        accepts: &[("30", "30"), ("12.5", "12.5")],
        rejects: &["101", "12.3456"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "rwmixcycle",
        category: Category::Pattern,
        kind: ValueKind::Text,
        summary: "Cycle of the read and write mix",
        status: SupportStatus::NoEffect("fio has dropped it, too"),
        accepts: &[("500", "500")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "percentage_random",
        category: Category::Pattern,
        kind: ValueKind::Integers { min: 0, max: 100 },
        default: DefaultValue::Text("100"),
        summary: "Percent of operations that are random in a random pattern, per direction",
        accepts: &[("50", "50"), ("0,100", "0,100,100")],
        rejects: &["101"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "percentage_sequential",
        category: Category::Pattern,
        kind: ValueKind::Text,
        summary: "Percent of sequential operations",
        status: SupportStatus::NoEffect("fio has dropped it, too"),
        accepts: &[("10", "10")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "random_generator",
        category: Category::Pattern,
        kind: ValueKind::Choice(&[
            Choice { name: "tausworthe", aliases: &[], summary: "strong; needs a map of visited blocks" },
            Choice { name: "tausworthe64", aliases: &[], summary: "the same, with 64 bits" },
            Choice { name: "lfsr", aliases: &[], summary: "visits each block once without a map" },
        ]),
        default: DefaultValue::Text("tausworthe"),
        summary: "Generator of random offsets",
        accepts: &[("lfsr", "lfsr")],
        rejects: &["dice"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "random_distribution",
        category: Category::Pattern,
        kind: ValueKind::Distribution,
        default: DefaultValue::Text("random"),
        summary: "Distribution of random offsets",
        details: "`zipf:THETA`, `pareto:POWER` and `normal:DEVIATION` take an optional `:CENTRE` from 0 to 1. `zoned:ACCESS/SIZE:…` sends a percentage of accesses to a percentage of the range, `zoned_abs` to a size in bytes. `sequence:0,2,1` goes through these blocks in this order, again and again. Every distribution except `random` turns off the map of visited blocks.",
        differs: "normal without a centre is around the middle, as fio says of itself",
        accepts: &[
            ("random", "random"),
            ("zipf:1.2", "zipf:1.2"),
            ("zipf", "zipf:1.1"),
            ("pareto:0.2:0.5", "pareto:0.2:0.5"),
            ("gauss:20", "normal:20"),
            ("zoned:60/10:30/20:8/30:2/40", "zoned:60/10:30/20:8/30:2/40"),
            ("zoned:50/50:50/50,90/10:10/90", "zoned:50/50:50/50,zoned:90/10:10/90,zoned:90/10:10/90"),
            ("zoned_abs:60/20g:40/1g", "zoned_abs:60/20g:40/1g"),
            ("sequence:0,2,1", "sequence:0,2,1"),
        ],
        rejects: &[
            "zipf:1",
            "zipf:0",
            "pareto:1",
            "normal",
            "zoned:60/10:60/90",
            "zoned:60/10",
            "zoned",
            "zoned_abs:100/",
            "sequence:",
            "sequence:0,,1",
            "sequence:0,x",
            "uniform",
        ],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "random_sequence_stride",
        category: Category::Pattern,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Begin each round of random_distribution=sequence behind the one before",
        details: "Behind means: behind its largest block. At the end of the file, it begins again at the start.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "norandommap",
        category: Category::Pattern,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Choose random offsets without keeping a map of visited blocks",
        details: "Some blocks are then visited twice and others never, as in most real loads.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "softrandommap",
        category: Category::Pattern,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Continue without the map if there is not enough memory for it",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "randrepeat",
        aliases: &["allrandrepeat"],
        category: Category::Pattern,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Use the same random numbers in every run",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "randseed",
        category: Category::Pattern,
        kind: ValueKind::Integer { min: i64::MIN, max: i64::MAX },
        default: DefaultValue::Text("0x89"),
        summary: "Seed of all random numbers",
        details: "Takes precedence over randrepeat. With randrepeat=0 and no randseed, each run uses another seed.",
        accepts: &[("42", "42"), ("0x89", "137")],
        rejects: &["seed"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "sprandom",
        category: Category::Pattern,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Bring an SSD into the steady state of random writes by one pass over its flash",
        details: "Writes each block once in random order, and some of them again, so that the flash holds valid data as it \
                  does after long random writes: for rw=randwrite with one block size, on a drive that holds no data (new, \
                  formatted or trimmed). Writes spr_op more than the file has bytes, whatever io_size says.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "spr_num_regions",
        category: Category::Pattern,
        kind: ValueKind::Integer { min: 1, max: u32::MAX as i64 },
        default: DefaultValue::Text("100"),
        summary: "Parts of the flash that sprandom fills one after the other",
        details: "More regions follow the steady state more closely, and need less memory.",
        accepts: &[("50", "50")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "spr_op",
        category: Category::Pattern,
        kind: ValueKind::Floats { most: 1, min: 0.0, max: 1.0 },
        default: DefaultValue::Text("0.15"),
        summary: "Over-provisioning of the drive, for sprandom: spare flash divided by capacity",
        accepts: &[("0.07", "0.07")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "spr_cs",
        category: Category::Pattern,
        kind: ValueKind::Size,
        default: DefaultValue::Text("0"),
        summary: "Write cache of the drive, for sprandom",
        details: "If it is not 0, a block is written again only after a whole region, so that the drive cannot replace it in \
                  its cache. A region must be larger than the cache.",
        accepts: &[("1m", "1m")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
];
