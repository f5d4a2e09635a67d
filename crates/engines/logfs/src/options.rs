//! The engine's own options.

use std::path::PathBuf;

use iolab_options::{DefaultValue, OptionEntry, Settings, ValueKind};

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 11] = [
    OptionEntry {
        name: "logfs_device",
        kind: ValueKind::Text,
        summary: "File or block device that the file system is on",
        details: "Created by iolab fs mkfs or logfs_mkfs=1. Separate several with colons; each worker takes the \
            first free domain, and fails if none is left. PATH#2 means only domain 2 of PATH. Without this option, \
            each worker has its own file system in memory, which is discarded when the worker ends.",
        accepts: &[("disk.img", "disk.img"), ("/dev/zram0#1", "/dev/zram0#1"), ("a.img:b.img", "a.img:b.img")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "logfs_mkfs",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Create the file system anew before the job",
        details: "The old contents of logfs_device are lost. Devices in use and files that no job created are \
            refused unless --allow-destroy names them. A missing file is created with logfs_size. If several workers \
            start together, one of them creates it.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "logfs_size",
        kind: ValueKind::Size,
        default: DefaultValue::Text("256m"),
        summary: "Size of a file system in memory or of a new image file",
        details: "In memory, each worker has one of this size. An existing file or device keeps its size.",
        accepts: &[("1g", "1g")],
        rejects: &["large"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "logfs_domains",
        kind: ValueKind::Integer { min: 1, max: 100 },
        default: DefaultValue::Text("1"),
        summary: "Number of domains of a new file system: one per worker",
        details: "Only with logfs_mkfs=1 and logfs_device.",
        accepts: &[("1", "1"), ("2", "2")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "logfs_shared",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "All workers share one file system",
        details: "The domains of logfs_device are opened as one file system, with a thread of the engine for each. A \
            worker sends its operations to one of these threads, which forwards those on files of other domains. A \
            file at top level is in the domain of the worker that creates it, a file in a folder in that of the \
            folder. Workers must be threads (thread=1).",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "logfs_cluster",
        kind: ValueKind::Size,
        default: DefaultValue::Text("1m"),
        summary: "Cluster size of a new file system",
        details: "A power of two from 16k to 16m.",
        accepts: &[("1m", "1m")],
        rejects: &["large"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "logfs_block",
        kind: ValueKind::Size,
        default: DefaultValue::Text("4k"),
        summary: "Block size of a new file system",
        details: "A power of two from 512 to 64k. Operations that cover whole blocks are not copied.",
        accepts: &[("4k", "4k")],
        rejects: &["large"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "logfs_policy",
        kind: ValueKind::Text,
        summary: "Which clusters the file system cleans, and when",
        details: "threshold:K cleans the clusters with a live share below K once they would fill \
            logfs_cleaning_memory; dynamic:CAP is the same with K being the share of free clusters, at most CAP; \
            cost-benefit and greedy clean when space is short. By default as the file system says (iolab fs mkfs \
            --policy), else cost-benefit.",
        accepts: &[("threshold:0.3", "threshold:0.3"), ("cost-benefit", "cost-benefit")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "logfs_cleaning_memory",
        kind: ValueKind::Size,
        summary: "Memory of one cleaning pass for live data",
        details: "With 0 nothing is moved, and only clusters without live data become free. By default as the file \
            system says, else 8m.",
        accepts: &[("0", "0"), ("256m", "256m")],
        rejects: &["much"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "logfs_layout",
        kind: ValueKind::Size,
        summary: "How much of each file to write before the job starts",
        details: "By default everything the job may access; with 0 nothing, so that the job's writes extend the \
            files. Existing data stays. Reads of data that was never written return zeroes without accessing the \
            device.",
        accepts: &[("0", "0"), ("1g", "1g")],
        rejects: &["all"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "logfs_verify",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Compare what is read with its checksums",
        details: "With 0, reads do what they do on a file system without checksums. Of a file system in memory,             reads are not compared.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
];

/// The job's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    /// The devices, each with the one domain to use if given; empty for a file system in memory.
    pub devices: Vec<(PathBuf, Option<u32>)>,
    /// Whether to make a new file system.
    pub makes: bool,
    /// Whether all workers share one file system.
    pub is_shared: bool,
    pub(crate) size_bytes: u64,
    pub(crate) domains: u32,
    pub(crate) cluster_bytes: u64,
    pub(crate) block_bytes: u64,
    pub(crate) layout_bytes: Option<u64>,
    /// As the job gives it.
    pub(crate) policy: Option<String>,
    pub(crate) cleaning_bytes: Option<u64>,
    /// Whether reads are compared with their checksums.
    pub(crate) verifies: bool,
}

impl Requested {
    /// The settings with their defaults.
    pub fn of(settings: &Settings) -> Requested {
        Requested {
            devices: paths(settings.text("logfs_device").unwrap_or_default()),
            makes: settings.flag("logfs_mkfs").unwrap_or(false),
            is_shared: settings.flag("logfs_shared").unwrap_or(false),
            size_bytes: settings.size("logfs_size").unwrap_or(256 << 20),
            domains: settings.integer("logfs_domains").unwrap_or(1) as u32,
            cluster_bytes: settings.size("logfs_cluster").unwrap_or(1 << 20),
            block_bytes: settings.size("logfs_block").unwrap_or(4096),
            layout_bytes: settings.size("logfs_layout"),
            policy: settings.text("logfs_policy").map(str::to_owned),
            cleaning_bytes: settings.size("logfs_cleaning_memory"),
            verifies: settings.flag("logfs_verify").unwrap_or(true),
        }
    }
}

/// The devices that `logfs_device` names, each with its domain where one is named.
pub fn paths(text: &str) -> Vec<(PathBuf, Option<u32>)> {
    let one = |word: &str| match word.rsplit_once('#') {
        Some((path, domain)) if !path.is_empty() && domain.parse::<u32>().is_ok() => {
            (PathBuf::from(path), domain.parse().ok())
        }
        _ => (PathBuf::from(word), None),
    };
    text.split(':').filter(|word| !word.is_empty()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_their_domains_are_told_apart() {
        let read = |text: &str| paths(text);
        assert_eq!(read(""), []);
        assert_eq!(read("a"), [(PathBuf::from("a"), None)]);
        assert_eq!(read("/dev/x#3:b#c"), [(PathBuf::from("/dev/x"), Some(3)), (PathBuf::from("b#c"), None)]);
        assert_eq!(read("#1"), [(PathBuf::from("#1"), None)]);
    }
}
