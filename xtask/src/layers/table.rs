//! The layers as data. Adding a crate means adding its line here.

/// Package and layer, lowest first. A crate may use crates of lower layers only.
const LAYERS: &[(&str, u32)] = &[
    ("iolab-units", 0),
    ("iolab-bounded-read", 0),
    ("iolab-clock", 0),
    ("iolab-memory", 0),
    ("iolab-process", 0),
    ("iolab-histogram", 0),
    ("iolab-executor", 0),
    ("iolab-command-ring", 0),
    ("iolab-native-aio", 0),
    ("iolab-nvme-spec", 0),
    ("iolab-fuse", 1),
    ("iolab-options", 1),
    ("iolab-statistics", 1),
    ("iolab-figures", 1),
    ("iolab-ssd-timing", 1),
    ("iolab-pci-device", 1),
    ("iolab-device-link", 2),
    ("iolab-engine", 2),
    ("iolab-plan", 2),
    ("iolab-recording", 3),
    ("iolab-jobfile", 3),
    ("iolab-file-calls", 3),
    ("iolab-block", 3),
    ("iolab-vfio", 3),
    ("iolab-virtual-ssd", 3),
    ("iolab-nvme-driver", 3),
    ("iolab-workload", 4),
    ("iolab-outputs", 4),
    ("iolab-study", 4),
    ("iolab-device-server", 4),
    ("iolab-measure", 4),
    ("iolab-observe", 4),
    ("iolab-block-columns", 4),
    ("iolab-logfs", 4),
    ("iolab-logfs-fuse", 5),
    ("iolab-block-trace", 5),
    ("iolab-findings", 5),
    ("iolab-comparison", 5),
    ("iolab-device-settings", 5),
    ("iolab-store", 6),
    ("iolab-resolve", 5),
    ("iolab-guard", 5),
    ("iolab-engine-null", 5),
    ("iolab-engine-posix", 5),
    ("iolab-engine-mmap", 5),
    ("iolab-engine-posixaio", 5),
    ("iolab-engine-fileops", 5),
    ("iolab-engine-cpuio", 5),
    ("iolab-engine-libaio", 5),
    ("iolab-engine-uring", 5),
    ("iolab-engine-nvme", 6),
    ("iolab-export", 5),
    ("iolab-export-fuse", 6),
    ("iolab-engine-logfs", 6),
    ("iolab-image", 6),
    ("iolab-export-ublk", 6),
    ("iolab-fs-bench", 7),
    ("iolab-runner", 6),
    ("iolab-report", 6),
    ("iolab-page", 7),
    ("iolab", 8),
];

/// Crates (by the start of their name) that may use only these crates of the workspace, and why.
pub(super) const NARROW: [(&str, &[&str], &str); 6] = [
    (
        "iolab-engine-cpuio",
        &["iolab-engine", "iolab-options", "iolab-clock"],
        "it knows its contract and, since it burns time, the clock",
    ),
    (
        "iolab-engine-nvme",
        &[
            "iolab-engine",
            "iolab-options",
            "iolab-memory",
            "iolab-clock",
            "iolab-nvme-spec",
            "iolab-nvme-driver",
            "iolab-pci-device",
            "iolab-vfio",
            "iolab-virtual-ssd",
            "iolab-device-link",
            "iolab-guard",
        ],
        "it brings a driver together with the transports it knows and looks at the files of virtual ones, and knows nothing of jobs",
    ),
    (
        "iolab-engine-logfs",
        &[
            "iolab-engine",
            "iolab-options",
            "iolab-memory",
            "iolab-clock",
            "iolab-executor",
            "iolab-block",
            "iolab-logfs",
            "iolab-guard",
        ],
        "it brings a file system together with disks, and knows nothing of jobs",
    ),
    (
        "iolab-engine-",
        &["iolab-engine", "iolab-options", "iolab-memory", "iolab-file-calls", "iolab-native-aio", "iolab-units"],
        "an engine knows its contract only",
    ),
    (
        "iolab-export",
        &[
            "iolab-export",
            "iolab-engine",
            "iolab-memory",
            "iolab-clock",
            "iolab-process",
            "iolab-units",
            "iolab-command-ring",
            "iolab-fuse",
        ],
        "an export takes any lane, and knows no engine",
    ),
    (
        "iolab-report",
        &["iolab-recording", "iolab-plan", "iolab-histogram", "iolab-options", "iolab-units", "iolab-block-columns"],
        "a report is a function of the recording, and so are the columns of its block devices",
    ),
];

/// Packages from outside that only the named crates may use, and why.
const OUTSIDE: [(&str, &[&str], &str); 5] = [
    ("anyhow", &["iolab"], "libraries have typed errors"),
    ("clap", &["iolab"], "only the binary has a command line"),
    ("clap_complete", &["iolab"], "only the binary has a command line"),
    ("clap_mangen", &["iolab"], "only the binary has a command line"),
    ("hdrhistogram", &[], "it is the oracle of tests, not part of what ships"),
];

pub(super) fn layer(package: &str) -> Option<u32> {
    LAYERS.iter().find(|(name, _)| *name == package).map(|(_, layer)| *layer)
}

/// Why a narrow crate must not use another crate of the workspace.
pub(super) fn narrow_refusal(package: &str, used: &str) -> Option<&'static str> {
    let (_, allowed, reason) = NARROW.iter().find(|(start, _, _)| package.starts_with(start))?;
    (!allowed.contains(&used)).then_some(*reason)
}

/// Why a crate must not use a package from outside.
pub(super) fn outside_refusal(package: &str, used: &str) -> Option<&'static str> {
    let (_, allowed, reason) = OUTSIDE.iter().find(|(name, _, _)| *name == used)?;
    (!allowed.contains(&package)).then_some(*reason)
}
