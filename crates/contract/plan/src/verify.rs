//! Verification of written data.

use serde::{Deserialize, Serialize};

/// How a worker verifies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Folder of those files and of saved states; the working directory if absent.
    pub dump_folder: Option<String>,
    /// Save the expected content of each interval in a file, from the first write on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub state_save: bool,
    /// Load the state that an earlier run saved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub state_load: bool,
    /// The state file to load, even if it belongs to another verified file; otherwise that of each
    /// verified file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_file: Option<String>,
    /// Which writes a state guarantees.
    #[serde(default, skip_serializing_if = "VerifyPolicy::is_completed")]
    pub policy: VerifyPolicy,
    /// Distance between headers, bytes.
    pub interval_bytes: u64,
    /// Where the header stands in its interval, bytes.
    pub header_offset_bytes: u64,
    /// Writes may end within an interval.
    pub partial: bool,
    /// Contents of the kinds that have a pattern.
    pub pattern: Option<VerifyPattern>,
    /// The pattern restarts every this many bytes; 0: at each interval.
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

impl VerifyPlan {
    /// Checks the expected content of every block of `interval_bytes` after all writes.
    pub fn new(kind: VerifyKind, interval_bytes: u64) -> VerifyPlan {
        VerifyPlan {
            kind,
            after: true,
            only: false,
            fatal: false,
            dump: false,
            dump_folder: None,
            state_save: false,
            state_load: false,
            state_file: None,
            policy: VerifyPolicy::Completed,
            interval_bytes,
            header_offset_bytes: 0,
            partial: false,
            pattern: None,
            pattern_interval_bytes: 0,
            backlog: None,
            threads: 0,
            thread_cpus: None,
            checks_seed: true,
            checks_sequence: true,
            trim: None,
            seed: 0,
        }
    }
}

/// `verify_policy`: which writes a state guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum VerifyPolicy {
    /// All that were complete: each block holds its last write.
    #[default]
    Completed,
    /// The flushed ones: a block whose last write was flushed holds it; others are not checked.
    Fsynced,
    /// The flushed ones, and no block is older than its last flushed write.
    Durable,
}

impl VerifyPolicy {
    /// Whether flushes are irrelevant.
    pub fn is_completed(&self) -> bool {
        *self == VerifyPolicy::Completed
    }

    /// The word of the option.
    pub const fn name(self) -> &'static str {
        match self {
            VerifyPolicy::Completed => "completed",
            VerifyPolicy::Fsynced => "fsynced",
            VerifyPolicy::Durable => "durable",
        }
    }
}

/// `verify_backlog`, `verify_backlog_batch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyBacklog {
    /// Writes after which some are read back.
    pub writes: u64,
    /// How many are.
    pub batch: u64,
}

/// `trim_percentage`, `trim_backlog`, `trim_backlog_batch`, `trim_verify_zero`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyPattern {
    /// They repeat; `%o` is eight zeroes.
    pub bytes: Vec<u8>,
    /// Where in `bytes` the eight bytes of each `%o` begin.
    pub offsets_at: Vec<u32>,
}

/// Makes the kinds of verification from their table: number in headers, word of the option, and
/// bytes of the checksum (0 for kinds without).
macro_rules! verify_kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal, $name:literal, $digest:literal;)*) => {
        /// `verify=`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[repr(u8)]
        pub enum VerifyKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind = $number,)*
        }

        impl VerifyKind {
            /// All of them.
            pub const ALL: &'static [VerifyKind] = &[$(VerifyKind::$kind),*];

            /// Bytes of the checksum; 0 for kinds without.
            pub const fn digest_bytes(self) -> u64 {
                match self {
                    $(VerifyKind::$kind => $digest,)*
                }
            }

            /// The word of the option.
            pub const fn name(self) -> &'static str {
                match self {
                    $(VerifyKind::$kind => $name,)*
                }
            }
        }
    };
}

verify_kinds! {
    /// MD5 (RFC 1321).
    Md5 = 1, "md5", 16;
    /// CRC-64/XZ (ECMA-182).
    Crc64 = 2, "crc64", 8;
    /// CRC-32 (IEEE 802.3).
    Crc32 = 3, "crc32", 4;
    /// CRC-32C (Castagnoli; RFC 3720, appendix B.4).
    Crc32c = 4, "crc32c", 4;
    /// The same as `crc32c`, by the name that fio gives its form with the processor's instruction.
    Crc32cIntel = 5, "crc32c-intel", 4;
    /// CRC-16/ARC.
    Crc16 = 6, "crc16", 2;
    /// CRC-7/MMC.
    Crc7 = 7, "crc7", 1;
    /// SHA-1 (FIPS 180-4).
    Sha1 = 8, "sha1", 20;
    /// SHA-256 (FIPS 180-4).
    Sha256 = 9, "sha256", 32;
    /// SHA-512 (FIPS 180-4).
    Sha512 = 10, "sha512", 64;
    /// SHA3-224 (FIPS 202).
    Sha3_224 = 11, "sha3-224", 28;
    /// SHA3-256 (FIPS 202).
    Sha3_256 = 12, "sha3-256", 32;
    /// SHA3-384 (FIPS 202).
    Sha3_384 = 13, "sha3-384", 48;
    /// SHA3-512 (FIPS 202).
    Sha3_512 = 14, "sha3-512", 64;
    /// xxHash, the form of 32 bits.
    Xxhash = 15, "xxhash", 4;
    /// The header, and that the content belongs to it.
    Meta = 16, "meta", 0;
    /// Every byte is of the pattern; there is no header.
    Pattern = 17, "pattern", 0;
    /// A header in front of the pattern.
    PatternHdr = 18, "pattern_hdr", 0;
    /// Nothing is checked.
    Null = 19, "null", 0;
}

impl VerifyKind {
    /// Bytes of the header with its checksum, a multiple of 8; 0 for kinds without.
    pub const fn header_bytes(self) -> u64 {
        match self {
            VerifyKind::Pattern | VerifyKind::Null => 0,
            _ => 64 + self.digest_bytes().next_multiple_of(8),
        }
    }
}
