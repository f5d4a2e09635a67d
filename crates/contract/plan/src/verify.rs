//! Verification of written data.

use serde::{Deserialize, Serialize};

/// How a worker verifies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyPlan {
    /// What is checked.
    pub kind: VerifyKind,
    /// Read back after each pass of writes (`do_verify`).
    pub after: bool,
    /// Do not write; check what an earlier run of the same job wrote (`verify_only`).
    pub only: bool,
    /// End at the first mismatch.
    pub fatal: bool,
    /// Keep damaged blocks, and what they should have been, in files.
    pub dump: bool,
    /// Folder of those files; the working directory if absent.
    pub dump_folder: Option<String>,
    /// Distance between headers, bytes.
    pub interval_bytes: u64,
    /// Where the header stands in its interval, bytes.
    pub header_offset_bytes: u64,
    /// Writes may end within an interval.
    pub partial: bool,
    /// Contents of the kinds that have a pattern.
    pub pattern: Option<VerifyPattern>,
    /// The pattern starts again every so many bytes; 0: at each interval.
    pub pattern_interval_bytes: u64,
    /// Read back while writing.
    pub backlog: Option<VerifyBacklog>,
    /// Threads that check beside the worker; 0: the worker itself.
    pub threads: u32,
    /// CPUs of those threads.
    pub thread_cpus: Option<Vec<usize>>,
    /// The seed of the header has to be that of the job.
    pub checks_seed: bool,
    /// The generation has to be that of the last write.
    pub checks_sequence: bool,
    /// Discard some of what was written.
    pub trim: Option<VerifyTrim>,
    /// Seed of contents: the same for all jobs with the same `randseed`.
    pub seed: u64,
}

/// `verify_backlog`, `verify_backlog_batch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyBacklog {
    /// Writes after which some are read back.
    pub writes: u64,
    /// How many are.
    pub batch: u64,
}

/// `trim_percentage`, `trim_backlog`, `trim_backlog_batch`, `trim_verify_zero`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyTrim {
    /// Percent of writes that are discarded later.
    pub percent: u32,
    /// Writes after which some are.
    pub writes: u64,
    /// How many at most.
    pub batch: u64,
    /// They have to be read as zeroes.
    pub zeroes: bool,
}

/// The bytes of `verify_pattern`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct VerifyPattern {
    /// They repeat; `%o` is eight zeroes.
    pub bytes: Vec<u8>,
    /// Where in `bytes` the eight bytes of each `%o` begin.
    pub offsets_at: Vec<u32>,
}

/// `verify=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names of the checksums")]
#[repr(u8)]
pub enum VerifyKind {
    Md5 = 1,
    Crc64 = 2,
    Crc32 = 3,
    Crc32c = 4,
    #[serde(rename = "crc32c-intel")]
    Crc32cIntel = 5,
    Crc16 = 6,
    Crc7 = 7,
    Sha1 = 8,
    Sha256 = 9,
    Sha512 = 10,
    #[serde(rename = "sha3-224")]
    Sha3_224 = 11,
    #[serde(rename = "sha3-256")]
    Sha3_256 = 12,
    #[serde(rename = "sha3-384")]
    Sha3_384 = 13,
    #[serde(rename = "sha3-512")]
    Sha3_512 = 14,
    Xxhash = 15,
    /// The header, and that the content is the one that belongs to it.
    Meta = 16,
    /// Every byte is of the pattern; there is no header.
    Pattern = 17,
    /// A header in front of the pattern.
    #[serde(rename = "pattern_hdr")]
    PatternHdr = 18,
    /// Nothing is checked.
    Null = 19,
}

impl VerifyKind {
    /// All of them.
    pub const ALL: [VerifyKind; 19] = [
        VerifyKind::Md5,
        VerifyKind::Crc64,
        VerifyKind::Crc32,
        VerifyKind::Crc32c,
        VerifyKind::Crc32cIntel,
        VerifyKind::Crc16,
        VerifyKind::Crc7,
        VerifyKind::Sha1,
        VerifyKind::Sha256,
        VerifyKind::Sha512,
        VerifyKind::Sha3_224,
        VerifyKind::Sha3_256,
        VerifyKind::Sha3_384,
        VerifyKind::Sha3_512,
        VerifyKind::Xxhash,
        VerifyKind::Meta,
        VerifyKind::Pattern,
        VerifyKind::PatternHdr,
        VerifyKind::Null,
    ];

    /// Bytes of the checksum; 0 for kinds without.
    pub const fn digest_bytes(self) -> u64 {
        match self {
            VerifyKind::Md5 => 16,
            VerifyKind::Crc64 => 8,
            VerifyKind::Crc32 | VerifyKind::Crc32c | VerifyKind::Crc32cIntel | VerifyKind::Xxhash => 4,
            VerifyKind::Crc16 => 2,
            VerifyKind::Crc7 => 1,
            VerifyKind::Sha1 => 20,
            VerifyKind::Sha3_224 => 28,
            VerifyKind::Sha256 | VerifyKind::Sha3_256 => 32,
            VerifyKind::Sha3_384 => 48,
            VerifyKind::Sha512 | VerifyKind::Sha3_512 => 64,
            VerifyKind::Meta | VerifyKind::Pattern | VerifyKind::PatternHdr | VerifyKind::Null => 0,
        }
    }

    /// Bytes of the header with its checksum, a multiple of 8; 0 for kinds without.
    pub const fn header_bytes(self) -> u64 {
        match self {
            VerifyKind::Pattern | VerifyKind::Null => 0,
            _ => 64 + self.digest_bytes().next_multiple_of(8),
        }
    }

    /// The word of the option.
    pub const fn name(self) -> &'static str {
        match self {
            VerifyKind::Md5 => "md5",
            VerifyKind::Crc64 => "crc64",
            VerifyKind::Crc32 => "crc32",
            VerifyKind::Crc32c => "crc32c",
            VerifyKind::Crc32cIntel => "crc32c-intel",
            VerifyKind::Crc16 => "crc16",
            VerifyKind::Crc7 => "crc7",
            VerifyKind::Sha1 => "sha1",
            VerifyKind::Sha256 => "sha256",
            VerifyKind::Sha512 => "sha512",
            VerifyKind::Sha3_224 => "sha3-224",
            VerifyKind::Sha3_256 => "sha3-256",
            VerifyKind::Sha3_384 => "sha3-384",
            VerifyKind::Sha3_512 => "sha3-512",
            VerifyKind::Xxhash => "xxhash",
            VerifyKind::Meta => "meta",
            VerifyKind::Pattern => "pattern",
            VerifyKind::PatternHdr => "pattern_hdr",
            VerifyKind::Null => "null",
        }
    }
}
