//! What is measured, and the job of a pattern on it.

use crate::profiles::{AccessPattern, BenchPattern};

/// A file or device, found safe by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredTarget {
    /// The target as the user named it.
    pub target: String,
    /// What it is, in a few words.
    pub what: String,
    /// The file or device as jobs name it, before colons are escaped.
    pub filename: String,
    /// How much of it is used.
    pub size_bytes: u64,
    /// The engine.
    pub engine: &'static str,
    /// Past the page cache.
    pub direct: bool,
    /// Whether patterns that write are measured.
    pub writable: bool,
    /// Whether every job gets a new device to which nothing was written.
    pub is_new_each_time: bool,
}

/// The job of a pattern as `iolab run` takes it. `round` chooses the offsets: with the same
/// offsets, later rounds would read what caches already hold.
pub fn words(pattern: &BenchPattern, measured: &MeasuredTarget, round: u32, runtime_ms: u64) -> Vec<String> {
    let rw = match pattern.access {
        AccessPattern::Read => "read",
        AccessPattern::Write | AccessPattern::Commit => "write",
        AccessPattern::RandomRead => "randread",
        AccessPattern::RandomWrite => "randwrite",
        AccessPattern::RandomMix { .. } => "randrw",
    };
    let mut words = vec![
        format!("--name={}", pattern.key),
        format!("--filename={}", measured.filename.replace(':', "\\:")),
        format!("--size={}", measured.size_bytes),
        format!("--rw={rw}"),
        format!("--bs={}", pattern.block_bytes),
        format!("--direct={}", u8::from(measured.direct)),
        format!("--ioengine={}", measured.engine),
        format!("--iodepth={}", pattern.depth),
        format!("--numjobs={}", pattern.jobs),
        format!("--randseed={}", round + 1),
        "--norandommap".to_owned(),
        "--time_based".to_owned(),
        format!("--runtime={runtime_ms}ms"),
        "--thread".to_owned(),
    ];
    match pattern.access {
        AccessPattern::RandomMix { read_percent } => words.push(format!("--rwmixread={read_percent}")),
        AccessPattern::Commit => words.push("--fdatasync=1".to_owned()),
        _ => {}
    }
    words
}

/// The job that writes everything twice, sequentially: what SNIA calls workload-independent
/// preconditioning.
pub fn fill_words(measured: &MeasuredTarget) -> Vec<String> {
    vec![
        "--name=fill".to_owned(),
        format!("--filename={}", measured.filename.replace(':', "\\:")),
        format!("--size={}", measured.size_bytes),
        "--rw=write".to_owned(),
        "--bs=131072".to_owned(),
        format!("--direct={}", u8::from(measured.direct)),
        format!("--ioengine={}", measured.engine),
        "--iodepth=32".to_owned(),
        "--loops=2".to_owned(),
        "--thread".to_owned(),
    ]
}
