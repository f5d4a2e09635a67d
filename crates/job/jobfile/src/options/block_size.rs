//! Job options: how large each operation is.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, DefaultValue, OptionEntry, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "bs",
        aliases: &["blocksize"],
        category: Category::BlockSize,
        kind: ValueKind::Sizes,
        default: DefaultValue::Text("4096"),
        summary: "Block size of reads, writes and trims, bytes",
        details: "A value also applies to the directions after it, unless a comma ends it: `8k,32k,` leaves trims at the default.",
        differs: "different sizes of a random mix: each direction covers the file once (fio: a pass ends early)",
        accepts: &[
            ("4k", "4k"),
            ("4kb", "4k"),
            ("4090", "4090"),
            ("4k,8k,", "4k,8k,"),
            (",8k", ",8k,8k"),
            ("0x1000", "4k"),
            ("(2^12)", "4k"),
            ("(4*1k)", "4k"),
            ("1ki", "1000"),
        ],
        rejects: &["8q", "4k,8k,16k,32k", "-4k", ",", "2*4k", "4k:8k"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "ba",
        aliases: &["blockalign"],
        category: Category::BlockSize,
        kind: ValueKind::Sizes,
        default: DefaultValue::Derived("the smallest block size; sequential patterns always use that"),
        summary: "Align random offsets to a multiple of this",
        details: "Turns off the map of visited blocks.",
        accepts: &[("512", "512"), ("4k,8k", "4k,8k,8k")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "bsrange",
        aliases: &["blocksize_range"],
        category: Category::BlockSize,
        kind: ValueKind::SizeRanges,
        summary: "Range of block sizes",
        details: "Sizes are multiples of the smaller end unless bs_unaligned is set.",
        accepts: &[("1k-4k", "1k-4k"), ("4k-1k", "1k-4k"), ("1k:4k", "1k-4k"), ("1k-4k,2k-8k", "1k-4k,2k-8k,2k-8k")],
        rejects: &["4k", "1k-4k-8k", "1k-"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "bssplit",
        category: Category::BlockSize,
        kind: ValueKind::Splits,
        summary: "Mix of block sizes with percentages",
        details: "Empty percentages share what the others leave. A sum above 100 is refused.",
        accepts: &[
            ("4k/10:64k/50:32k/40", "4k/10:64k/50:32k/40"),
            ("4k/50:1k/:32k/", "4k/50:1k/:32k/"),
            ("2k/50:4k/50,4k/90:8k/10", "2k/50:4k/50,4k/90:8k/10,4k/90:8k/10"),
            ("4k/30:16k/60:64k/10", "4k/30:16k/60:64k/10"),
        ],
        rejects: &["4k/60:8k/60", "4k/101", "4k/x", "8q/100", "0/100"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "bs_unaligned",
        aliases: &["blocksize_unaligned"],
        category: Category::BlockSize,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Allow any size within bsrange",
        differs: "not together with verify",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "bs_is_seq_rand",
        category: Category::BlockSize,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Take the read sizes for sequential and the write sizes for random operations",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
];
