//! The engine's own options, which are those of SPDK's fio plugin.

use iolab_options::{OptionEntry, SupportStatus, ValueKind};

const fn without_effect(name: &'static str, kind: ValueKind, summary: &'static str) -> OptionEntry {
    OptionEntry {
        name,
        kind,
        summary,
        status: SupportStatus::NoEffect(
            "nothing of SPDK runs here: there is no memory of its own to set aside, nor a log",
        ),
        ..OptionEntry::BLANK
    }
}

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 8] = [
    OptionEntry {
        name: "spdk_conf",
        aliases: &["spdk_json_conf"],
        kind: ValueKind::Text,
        summary: "JSON configuration of SPDK that describes the block devices",
        details: "filename names devices of this file. Unknown methods and parameters are mistakes, named with their line.",
        accepts: &[("bdev.json", "bdev.json")],
        ..OptionEntry::BLANK
    },
    without_effect("spdk_mem", ValueKind::Integer { min: 0, max: i32::MAX as i64 }, "Memory to set aside, MiB"),
    without_effect("spdk_single_seg", ValueKind::Switch, "One file of huge pages"),
    without_effect("log_flags", ValueKind::Text, "What to log"),
    without_effect("env_context", ValueKind::Text, "Words for SPDK's environment"),
    OptionEntry {
        name: "spdk_rpc_listen_addr",
        aliases: &["rpc_listen_addr"],
        ..without_effect("spdk_rpc_listen_addr", ValueKind::Text, "Address to listen on for calls")
    },
    OptionEntry {
        name: "initial_zone_reset",
        kind: ValueKind::Integer { min: 0, max: 1 },
        summary: "Reset all zones first",
        status: SupportStatus::Refused("zoned devices are not driven as such"),
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "zone_append",
        kind: ValueKind::Integer { min: 0, max: 1 },
        summary: "Append to zones instead of writing",
        status: SupportStatus::Refused("zoned devices are not driven as such"),
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
];
