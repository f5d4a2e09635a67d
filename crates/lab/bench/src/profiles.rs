//! Profiles as data: which patterns are measured, and where each table of them comes from.
//!
//! A profile has the patterns of a tool (direction, block size, depth, jobs), but not its file,
//! duration or engine: compare with figures of the tool itself with care. Every profile begins with
//! a read, so that the file is laid out in full before anything is written.

use iolab_units::NS_PER_MILLISECOND;

/// What a pattern does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessPattern {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandomRead,
    /// Random writes.
    RandomWrite,
    /// Random reads and writes.
    RandomMix {
        /// Share of reads.
        read_percent: u8,
    },
    /// Sequential writes, each followed by fdatasync(2): a commit of a database's log.
    Commit,
}

impl AccessPattern {
    /// Whether it overwrites data.
    pub fn writes(self) -> bool {
        !matches!(self, AccessPattern::Read | AccessPattern::RandomRead)
    }

    /// Whether bandwidth describes it better than the number of operations.
    pub fn is_sequential(self) -> bool {
        matches!(self, AccessPattern::Read | AccessPattern::Write)
    }
}

/// One line of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BenchPattern {
    /// Its name in JSON, and that of its job.
    pub key: &'static str,
    /// Its name on the card.
    pub name: &'static str,
    /// What it does.
    pub access: AccessPattern,
    /// Bytes of an operation.
    pub block_bytes: u64,
    /// Operations in flight of each job.
    pub depth: u32,
    /// Jobs at the same time.
    pub jobs: u32,
}

/// A table of patterns.
#[derive(Debug, Clone, Copy)]
pub struct BenchProfile {
    /// Name by which it is chosen.
    pub name: &'static str,
    /// What it is for.
    pub summary: &'static str,
    /// Where its patterns come from.
    pub source: &'static str,
    /// Its patterns, in the order of the card.
    pub patterns: &'static [BenchPattern],
    /// What is done besides measuring them.
    pub procedure: Procedure,
}

/// What is done besides measuring patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Procedure {
    /// Nothing: the number of rounds is fixed.
    Rounds,
    /// First everything is written twice, sequentially, 128 KiB at a time; then rounds follow until
    /// this pattern is steady.
    UntilSteady {
        /// The key of the pattern.
        tracked: &'static str,
    },
}

impl BenchProfile {
    /// The profile of this name.
    pub fn named(name: &str) -> Option<&'static BenchProfile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const fn pattern(
    key: &'static str,
    name: &'static str,
    access: AccessPattern,
    block_bytes: u64,
    depth: u32,
) -> BenchPattern {
    BenchPattern { key, name, access, block_bytes, depth, jobs: 1 }
}

const fn yabs(key: &'static str, name: &'static str, block_bytes: u64) -> BenchPattern {
    BenchPattern { key, name, access: AccessPattern::RandomMix { read_percent: 50 }, block_bytes, depth: 64, jobs: 2 }
}

const MIX: AccessPattern = AccessPattern::RandomMix { read_percent: 70 };
const SNIA_MIX: AccessPattern = AccessPattern::RandomMix { read_percent: 65 };

/// All profiles; the first is the default.
pub static PROFILES: &[BenchProfile] = &[
    BenchProfile {
        name: "standard",
        summary: "general: bandwidth, latency, queue depth, mixed load, commits",
        source: "iolab's own choice",
        patterns: &[
            pattern("sequential-read", "sequential read, 1 MiB, 8 deep", AccessPattern::Read, MIB, 8),
            pattern("sequential-write", "sequential write, 1 MiB, 8 deep", AccessPattern::Write, MIB, 8),
            pattern("random-read", "random read, 4 KiB, 1 deep", AccessPattern::RandomRead, 4 * KIB, 1),
            pattern("random-write", "random write, 4 KiB, 1 deep", AccessPattern::RandomWrite, 4 * KIB, 1),
            pattern("random-read-deep", "random read, 4 KiB, 32 deep", AccessPattern::RandomRead, 4 * KIB, 32),
            pattern("random-write-deep", "random write, 4 KiB, 32 deep", AccessPattern::RandomWrite, 4 * KIB, 32),
            pattern("mixed", "random 70/30 mix, 4 KiB, 32 deep", MIX, 4 * KIB, 32),
            pattern("commit", "commit: 4 KiB write + fdatasync", AccessPattern::Commit, 4 * KIB, 1),
        ],
        procedure: Procedure::Rounds,
    },
    BenchProfile {
        name: "crystaldiskmark",
        summary: "CrystalDiskMark's default tests",
        source: "the default settings of CrystalDiskMark 8, which names them SEQ1M Q8T1, SEQ1M Q1T1, RND4K Q32T1, RND4K Q1T1",
        patterns: &[
            pattern("seq1m-q8t1-read", "SEQ1M Q8T1 read", AccessPattern::Read, MIB, 8),
            pattern("seq1m-q8t1-write", "SEQ1M Q8T1 write", AccessPattern::Write, MIB, 8),
            pattern("seq1m-q1t1-read", "SEQ1M Q1T1 read", AccessPattern::Read, MIB, 1),
            pattern("seq1m-q1t1-write", "SEQ1M Q1T1 write", AccessPattern::Write, MIB, 1),
            pattern("rnd4k-q32t1-read", "RND4K Q32T1 read", AccessPattern::RandomRead, 4 * KIB, 32),
            pattern("rnd4k-q32t1-write", "RND4K Q32T1 write", AccessPattern::RandomWrite, 4 * KIB, 32),
            pattern("rnd4k-q1t1-read", "RND4K Q1T1 read", AccessPattern::RandomRead, 4 * KIB, 1),
            pattern("rnd4k-q1t1-write", "RND4K Q1T1 write", AccessPattern::RandomWrite, 4 * KIB, 1),
        ],
        procedure: Procedure::Rounds,
    },
    BenchProfile {
        name: "yabs",
        summary: "the disk test of YABS (Yet-Another-Bench-Script)",
        source: "disk_test of yabs.sh: fio with rw=randrw, rwmixread=50, iodepth=64, numjobs=2, bs=4k, 64k, 512k, 1m. Its first step, a \
                 sequential read of 64 KiB that makes the file, is the first line here, so that something can be measured without writing",
        patterns: &[
            BenchPattern {
                key: "setup-64k",
                name: "sequential read, 64 KiB, 2 x 64 deep",
                access: AccessPattern::Read,
                block_bytes: 64 * KIB,
                depth: 64,
                jobs: 2,
            },
            yabs("rand-rw-4k", "random 50/50 mix, 4 KiB, 2 x 64 deep", 4 * KIB),
            yabs("rand-rw-64k", "random 50/50 mix, 64 KiB, 2 x 64 deep", 64 * KIB),
            yabs("rand-rw-512k", "random 50/50 mix, 512 KiB, 2 x 64 deep", 512 * KIB),
            yabs("rand-rw-1m", "random 50/50 mix, 1 MiB, 2 x 64 deep", MIB),
        ],
        procedure: Procedure::Rounds,
    },
    BenchProfile {
        name: "database",
        summary: "pages and commits of databases",
        source: "block sizes: PostgreSQL's default page and WAL block of 8 KiB, InnoDB's default page of 16 KiB; \
            commits by fdatasync, which is PostgreSQL's default wal_sync_method on Linux. Depths and the 70/30 mix \
            are iolab's own choice",
        patterns: &[
            pattern("page-read-8k", "page read, 8 KiB, 1 deep", AccessPattern::RandomRead, 8 * KIB, 1),
            pattern("page-read-8k-deep", "page read, 8 KiB, 32 deep", AccessPattern::RandomRead, 8 * KIB, 32),
            pattern("page-mix-8k", "page 70/30 mix, 8 KiB, 32 deep", MIX, 8 * KIB, 32),
            pattern("page-mix-16k", "page 70/30 mix, 16 KiB, 32 deep", MIX, 16 * KIB, 32),
            pattern("page-write-16k", "page write, 16 KiB, 32 deep", AccessPattern::RandomWrite, 16 * KIB, 32),
            pattern("scan", "scan: sequential read, 1 MiB, 8 deep", AccessPattern::Read, MIB, 8),
            pattern("commit-8k", "commit: 8 KiB write + fdatasync", AccessPattern::Commit, 8 * KIB, 1),
        ],
        procedure: Procedure::Rounds,
    },
    BenchProfile {
        name: "snia-client",
        summary: "throughput, IOPS and latency of SNIA's test for client drives: filled twice, in rounds until steady",
        source: "SNIA Solid State Storage Performance Test Specification 2.0.2, client: sequential throughput of 1024 \
            KiB; of the IOPS test's matrix (seven mixes by eight block sizes) the mixes 100/0, 65/35 and 0/100 of 4 \
            KiB and 65/35 of 8 KiB; the latency test's mixes of 4 KiB. Everything is written twice (sequential, 128 \
            KiB), then rounds run until 4 KiB writes are steady, at most 25. Different from the specification: \
            rounds are shorter than a minute, nothing is purged, one rule of steadiness serves all tests, the write \
            cache stays as it is, and depth 32 is iolab's own choice",
        patterns: &[
            pattern("tp-read-1024k", "throughput: read, 1024 KiB, 32 deep", AccessPattern::Read, MIB, 32),
            pattern("tp-write-1024k", "throughput: write, 1024 KiB, 32 deep", AccessPattern::Write, MIB, 32),
            pattern("iops-100-0-4k", "IOPS: 100/0, 4 KiB, 32 deep", AccessPattern::RandomRead, 4 * KIB, 32),
            pattern("iops-65-35-4k", "IOPS: 65/35, 4 KiB, 32 deep", SNIA_MIX, 4 * KIB, 32),
            pattern("iops-65-35-8k", "IOPS: 65/35, 8 KiB, 32 deep", SNIA_MIX, 8 * KIB, 32),
            pattern("iops-0-100-4k", "IOPS: 0/100, 4 KiB, 32 deep", AccessPattern::RandomWrite, 4 * KIB, 32),
            pattern("lat-100-0-4k", "latency: 100/0, 4 KiB, 1 deep", AccessPattern::RandomRead, 4 * KIB, 1),
            pattern("lat-65-35-4k", "latency: 65/35, 4 KiB, 1 deep", SNIA_MIX, 4 * KIB, 1),
            pattern("lat-0-100-4k", "latency: 0/100, 4 KiB, 1 deep", AccessPattern::RandomWrite, 4 * KIB, 1),
        ],
        procedure: Procedure::UntilSteady { tracked: "iops-0-100-4k" },
    },
];

/// How often and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundPlan {
    /// Rounds, at least 1.
    pub rounds: u32,
    /// Duration of a pattern in a round, ms.
    pub runtime_ms: u64,
}

impl RoundPlan {
    /// This number of rounds of a profile in a given time (ns), without the layout.
    pub fn of(time_ns: u64, rounds: u32, patterns: usize) -> RoundPlan {
        let runs = u64::from(rounds.max(1)) * (patterns as u64).max(1);
        RoundPlan { rounds: rounds.max(1), runtime_ms: (time_ns / NS_PER_MILLISECOND / runs).max(SHORTEST_MS) }
    }
}

/// The shortest useful duration of a pattern, ms.
const SHORTEST_MS: u64 = 20;
