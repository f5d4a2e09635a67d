//! Fixed surroundings for the tests of this crate.

use iolab_options::{OptionEntry, Rank, ValueKind};

use crate::{KeywordFacts, Surroundings};

/// Four CPUs, the last of three ranks, one variable, two engines, a few files to include.
pub(crate) struct Fixed;

static RING: &[OptionEntry] = &[
    OptionEntry { name: "hipri", kind: ValueKind::Switch, summary: "polled completions", ..OptionEntry::BLANK },
    OptionEntry { name: "sqthread_poll", kind: ValueKind::Switch, ..OptionEntry::BLANK },
    OptionEntry { name: "nonvectored", kind: ValueKind::Integer { min: -1, max: 1 }, ..OptionEntry::BLANK },
    OptionEntry { name: "cmd_type", kind: ValueKind::Text, ..OptionEntry::BLANK },
    // The job table has this name too, and takes precedence over this engine.
    OptionEntry { name: "iodepth", kind: ValueKind::Text, ..OptionEntry::BLANK },
];
static SPDK: &[OptionEntry] = &[
    OptionEntry { name: "mem_size_mb", kind: ValueKind::Text, ..OptionEntry::BLANK },
    OptionEntry { name: "s3_key", kind: ValueKind::Text, is_secret: true, ..OptionEntry::BLANK },
];

impl Surroundings for Fixed {
    fn include(&self, name: &str, _from: &str) -> Result<String, String> {
        match name {
            "common.inc" => Ok("bs=8k\niodepth=4\n".to_owned()),
            "nested.inc" => Ok("include common.inc\ndirect=1\n".to_owned()),
            "loop.inc" => Ok("include loop.inc\n".to_owned()),
            "section.inc" => Ok("[inner]\nbs=4k\n".to_owned()),
            "bad.inc" => Ok("bs=4k\nbs=8q\n".to_owned()),
            other => Err(format!("no such file: {other}")),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "SIZE").then(|| "10g".to_owned())
    }

    fn keywords(&self) -> KeywordFacts {
        let rank = Rank { number: 2, ranks: 3, host: "n7".to_owned() };
        KeywordFacts { cpus: 4, page_bytes: 4096, memory_mib: 1000, rank }
    }

    fn engine_options(&self, engine: &str) -> Option<&'static [OptionEntry]> {
        match engine {
            "io_uring" | "uring" => Some(RING),
            "spdk" => Some(SPDK),
            "psync" | "libaio" | "null" | "sync" => Some(&[]),
            _ => None,
        }
    }

    fn engine_names(&self) -> Vec<&'static str> {
        vec!["io_uring", "spdk", "psync", "libaio", "null", "sync"]
    }
}
