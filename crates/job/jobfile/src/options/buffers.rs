//! Job options: what written buffers hold, and what memory they live in.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, SupportStatus, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "zero_buffers",
        category: Category::Buffers,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Write zeroes",
        details: "A drive or file system that compresses or deduplicates makes such a run meaningless.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "refill_buffers",
        category: Category::Buffers,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Fill the buffer with new data for every write",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "scramble_buffers",
        category: Category::Buffers,
        kind: ValueKind::Bool,
        default: DefaultValue::Derived("1, and 0 with zero_buffers"),
        summary: "Change a few bytes of every block, so that no two are equal",
        differs: "one word of each 512 bytes is changed (fio: two)",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "buffer_pattern",
        category: Category::Buffers,
        kind: ValueKind::BytePattern,
        summary: "Bytes to fill write buffers with, repeated",
        details: "Quoted text, `0x` and hexadecimal digits, decimal numbers, and the name of a file in single quotes, \
            whose bytes are taken, may follow one another.",
        accepts: &[
            ("\"abcd\"", "0x61626364"),
            ("0xdeadface", "0xdeadface"),
            ("-12", "0xf4ffffff"),
            ("300", "0x2c01"),
            ("0xabc", "0x0abc"),
            ("0xde\"a\"1", "0xde6101"),
            ("\"abcd\"-120xdeadface", "0x61626364f4ffffffdeadface"),
            ("\"abcd\"-120xdeadface'file'", "\"abcd\"-120xdeadface'file'"),
        ],
        rejects: &["abcd", "'file", "''", "\"open", "0x", "%o"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "buffer_compress_percentage",
        category: Category::Buffers,
        kind: ValueKind::Integer { min: 0, max: 100 },
        default: DefaultValue::Text("0"),
        summary: "Percent by which written data can be compressed",
        details: "Implies refill_buffers, except at 100.",
        accepts: &[("50", "50")],
        rejects: &["101"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "buffer_compress_chunk",
        category: Category::Buffers,
        kind: ValueKind::Size,
        default: DefaultValue::Text("512"),
        summary: "Size of the piece to which buffer_compress_percentage applies",
        accepts: &[("4k", "4k")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "dedupe_percentage",
        category: Category::Buffers,
        kind: ValueKind::Integer { min: 0, max: 100 },
        default: DefaultValue::Text("0"),
        summary: "Percent of written buffers that repeat an earlier one",
        differs: "same share; the first repetitions come from fewer contents in the working-set mode",
        accepts: &[("30", "30")],
        rejects: &["101"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "dedupe_mode",
        category: Category::Buffers,
        kind: ValueKind::Choice(&[
            Choice { name: "repeat", aliases: &[], summary: "repeat the previous buffers" },
            Choice { name: "working_set", aliases: &[], summary: "repeat buffers of a working set" },
        ]),
        default: DefaultValue::Text("repeat"),
        summary: "Which earlier buffers are repeated",
        accepts: &[("working_set", "working_set")],
        rejects: &["mix"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "dedupe_working_set_percentage",
        category: Category::Buffers,
        kind: ValueKind::Integer { min: 0, max: 100 },
        default: DefaultValue::Text("5"),
        summary: "Size of the working set, percent of the file",
        accepts: &[("10", "10")],
        rejects: &["101"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "dedupe_global",
        category: Category::Buffers,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Share the working set between jobs",
        details: "For dedupe_mode=working_set: a job repeats contents of all jobs with this option, evenly.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "mem",
        aliases: &["iomem"],
        category: Category::Buffers,
        kind: ValueKind::BufferMemory,
        default: DefaultValue::Text("malloc"),
        summary: "Kind of memory for I/O buffers",
        details: "`mmap`, `mmaphuge` and `mmapshared` take `:PATH`, a file to map.",
        accepts: &[("malloc", "malloc"), ("mmaphuge:/dev/hugepages/x", "mmaphuge:/dev/hugepages/x")],
        rejects: &["heap", "malloc:/x", "mmap:"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "iomem_align",
        aliases: &["mem_align"],
        category: Category::Buffers,
        kind: ValueKind::Size,
        default: DefaultValue::Text("0"),
        summary: "Offset of each buffer from a page boundary",
        accepts: &[("512", "512")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "hugepage-size",
        category: Category::Buffers,
        kind: ValueKind::Size,
        default: DefaultValue::Derived("the default size of the machine"),
        summary: "Size of one huge page",
        accepts: &[("1g", "1g")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "gpu_dev_id",
        category: Category::Buffers,
        kind: ValueKind::Text,
        summary: "GPU whose memory holds the buffers",
        status: SupportStatus::NoEffect("it is for memory of graphics processors, which mem= refuses"),
        accepts: &[("0", "0")],
        ..OptionEntry::BLANK
    },
];
