//! Job options: strided access, zoned devices and data placement.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, SupportStatus, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "zonemode",
        category: Category::Zones,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &[], summary: "no zones" },
            Choice { name: "strided", aliases: &[], summary: "work in stripes of the range" },
            Choice { name: "zbd", aliases: &[], summary: "zoned block device" },
        ]),
        default: DefaultValue::Text("none"),
        summary: "What the zone options mean",
        details: "With `zbd`, each write goes to the write pointer of the zone that the pattern draws, or of an open \
            one, and each read to written data. A zone that is full and written again is reset first. Trims \
            reset zones. A device without zones, or a file, is treated as if it had zones of zonesize, which \
            begin empty.",
        differs: "with zbd, one write of a zone is in flight at a time, on every device",
        accepts: &[("strided", "strided")],
        rejects: &["banded"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "zonerange",
        category: Category::Zones,
        kind: ValueKind::Size,
        default: DefaultValue::SameAs("zonesize"),
        summary: "Size of a stripe, for zonemode=strided",
        accepts: &[("1m", "1m")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "zonesize",
        category: Category::Zones,
        kind: ValueKind::Size,
        default: DefaultValue::Text("0"),
        summary: "Data to transfer in a zone before moving to the next; for zoned devices, the size of a zone",
        accepts: &[("256m", "256m")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "zonecapacity",
        category: Category::Zones,
        kind: ValueKind::Size,
        default: DefaultValue::Text("0"),
        summary: "Usable size of a zone",
        details: "For zonemode=zbd on a device without zones; a zoned device says it itself.",
        accepts: &[("128m", "128m")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "zoneskip",
        category: Category::Zones,
        kind: ValueKind::SizeOrPercent,
        default: DefaultValue::Text("0"),
        summary: "Distance between zones",
        details: "Bytes, or zones with `z`.",
        accepts: &[("1m", "1m"), ("2z", "2z")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "read_beyond_wp",
        category: Category::Zones,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Allow reads beyond a zone's write pointer",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "max_open_zones",
        category: Category::Zones,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "Maximum number of open zones, over all jobs",
        details: "0 means the limit of the device. Zones count from their first write until they are full or reset.",
        accepts: &[("8", "8")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "job_max_open_zones",
        category: Category::Zones,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "Maximum number of open zones, per job",
        accepts: &[("4", "4")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "ignore_zone_limits",
        category: Category::Zones,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Ignore the device's own limits of open zones",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "zone_reset_threshold",
        category: Category::Zones,
        kind: ValueKind::Floats { most: 1, min: 0.0, max: 1.0 },
        summary: "Share of written blocks from which zones are reset",
        details: "A share of the range of the job, 0 to 1. Takes effect with zone_reset_frequency.",
        accepts: &[("0.5", "0.5")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "zone_reset_frequency",
        category: Category::Zones,
        kind: ValueKind::Floats { most: 1, min: 0.0, max: 1.0 },
        summary: "How often a zone is reset beyond the threshold",
        details: "A share of the writes, 0 to 1: 0.1 resets the zone of each tenth write first.",
        accepts: &[("0.1", "0.1")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "recover_zbd_write_error",
        category: Category::Zones,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Resynchronise the write pointer after a failed write",
        details: "With continue_on_error=write. The device is asked for the write pointer, which may have moved.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "write_zone_remainder",
        category: Category::Zones,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Fill the rest of a zone with a smaller write",
        details: "By default a rest shorter than a block stays unwritten, and the zone is finished.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "fdp",
        category: Category::Zones,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Use flexible data placement",
        status: SupportStatus::Refused("writes carry no placement identifiers"),
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "dataplacement",
        aliases: &["data_placement"],
        category: Category::Zones,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &[], summary: "no placement" },
            Choice { name: "fdp", aliases: &[], summary: "flexible data placement" },
            Choice { name: "streams", aliases: &[], summary: "write streams" },
        ]),
        default: DefaultValue::Text("none"),
        summary: "Kind of data placement",
        status: SupportStatus::Refused("writes carry no placement identifiers"),
        accepts: &[("fdp", "fdp")],
        rejects: &["tapes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "plid_select",
        aliases: &["fdp_pli_select"],
        category: Category::Zones,
        kind: ValueKind::Choice(&[
            Choice { name: "random", aliases: &[], summary: "at random" },
            Choice { name: "roundrobin", aliases: &[], summary: "in turn" },
            Choice { name: "scheme", aliases: &[], summary: "by dp_scheme" },
        ]),
        default: DefaultValue::Text("roundrobin"),
        summary: "How the placement identifier is chosen",
        status: SupportStatus::NoEffect("it is for dataplacement, which is refused"),
        accepts: &[("random", "random")],
        rejects: &["best"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "plids",
        aliases: &["fdp_pli"],
        category: Category::Zones,
        kind: ValueKind::CpuList,
        summary: "Placement identifiers to use",
        status: SupportStatus::NoEffect("it is for dataplacement, which is refused"),
        accepts: &[("0,2-4", "0,2-4")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "dp_scheme",
        category: Category::Zones,
        kind: ValueKind::Text,
        summary: "File that maps offsets to placement identifiers",
        status: SupportStatus::NoEffect("it is for dataplacement, which is refused"),
        accepts: &[("scheme.txt", "scheme.txt")],
        ..OptionEntry::BLANK
    },
];
