//! Job options: verification of written data.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, SupportStatus, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "verify",
        category: Category::Verify,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &["0"], summary: "no verification" },
            Choice { name: "md5", aliases: &[], summary: "MD5" },
            Choice { name: "crc64", aliases: &[], summary: "CRC-64" },
            Choice { name: "crc32", aliases: &[], summary: "CRC-32" },
            Choice { name: "crc32c", aliases: &[], summary: "CRC-32C" },
            Choice { name: "crc32c-intel", aliases: &[], summary: "CRC-32C in hardware" },
            Choice { name: "crc16", aliases: &[], summary: "CRC-16" },
            Choice { name: "crc7", aliases: &[], summary: "CRC-7" },
            Choice { name: "sha1", aliases: &[], summary: "SHA-1" },
            Choice { name: "sha256", aliases: &[], summary: "SHA-256" },
            Choice { name: "sha512", aliases: &[], summary: "SHA-512" },
            Choice { name: "sha3-224", aliases: &[], summary: "SHA3-224" },
            Choice { name: "sha3-256", aliases: &[], summary: "SHA3-256" },
            Choice { name: "sha3-384", aliases: &[], summary: "SHA3-384" },
            Choice { name: "sha3-512", aliases: &[], summary: "SHA3-512" },
            Choice { name: "xxhash", aliases: &[], summary: "xxHash" },
            Choice { name: "meta", aliases: &[], summary: "only the header fields" },
            Choice { name: "pattern", aliases: &[], summary: "the pattern of verify_pattern" },
            Choice { name: "pattern_hdr", aliases: &[], summary: "the pattern of verify_pattern and a header" },
            Choice { name: "null", aliases: &[], summary: "pretend to verify" },
        ]),
        default: DefaultValue::Text("none"),
        summary: "Verify written data with this method",
        differs: "headers have another layout, so neither program verifies the files of the other, but for pattern; reads of mixes are checked, too; the whole file is read when damage is found",
        accepts: &[("0", "none"), ("md5", "md5"), ("crc32c-intel", "crc32c-intel")],
        rejects: &["md4"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "do_verify",
        category: Category::Verify,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Verify after writing, if verify is set",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_only",
        category: Category::Verify,
        kind: ValueKind::Switch,
        default: DefaultValue::Text("0"),
        summary: "Verify what an earlier run wrote, without writing",
        differs: "operations that are left out are not counted",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_policy",
        category: Category::Verify,
        kind: ValueKind::Choice(&[
            Choice { name: "completed", aliases: &[], summary: "all that were complete" },
            Choice { name: "fsynced", aliases: &[], summary: "those whose flush was complete" },
            Choice { name: "durable", aliases: &[], summary: "what a loss of power may leave" },
        ]),
        default: DefaultValue::Text("completed"),
        summary: "Which writes verify_state_load checks",
        details: "completed: each block must hold its last write. fsynced: the blocks whose last write was covered by a completed flush must hold it; no others are checked. durable: the same, and no block may be older than its last flushed write; what was not flushed may be old, new or torn between sectors. The run that saves the state must have fsynced or durable, too (either keeps both). A write is covered by an fsync or fdatasync of its file that was sent after it was complete, by sync=1 or sync=dsync, and by end_fsync, fsync_on_close and end_syncfs. `iolab verify STATE` checks by durable.",
        accepts: &[("fsynced", "fsynced"), ("durable", "durable")],
        rejects: &["some"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verifysort",
        category: Category::Verify,
        kind: ValueKind::Text,
        summary: "Sort blocks before verifying",
        status: SupportStatus::NoEffect("fio has dropped it, too"),
        accepts: &[("1", "1")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verifysort_nr",
        category: Category::Verify,
        kind: ValueKind::Text,
        summary: "Number of blocks to sort",
        status: SupportStatus::NoEffect("fio has dropped it, too"),
        accepts: &[("1024", "1024")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_interval",
        category: Category::Verify,
        kind: ValueKind::Size,
        default: DefaultValue::Text("0"),
        summary: "Distance between verification headers; 0: what all block sizes and alignments share",
        accepts: &[("512", "512")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_offset",
        category: Category::Verify,
        kind: ValueKind::Size,
        default: DefaultValue::Text("0"),
        summary: "Position of the verification header within its interval",
        accepts: &[("16", "16")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_pattern",
        category: Category::Verify,
        kind: ValueKind::Text,
        summary: "Bytes that are written and verified",
        details: "As buffer_pattern, files included, and `%o` for the block's offset.",
        accepts: &[("0xff%o\"abcd\"-12", "0xff%o\"abcd\"-12"), ("'file'%o", "'file'%o")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_pattern_interval",
        category: Category::Verify,
        kind: ValueKind::Size,
        default: DefaultValue::Text("0"),
        summary: "Length after which the pattern starts again",
        accepts: &[("4k", "4k")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_fatal",
        category: Category::Verify,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Stop at the first block that does not verify",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_dump",
        category: Category::Verify,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Write blocks that do not verify into files",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_async",
        category: Category::Verify,
        kind: ValueKind::Integer { min: 0, max: 1024 },
        default: DefaultValue::Text("0"),
        summary: "Threads that verify beside the worker; 0: the worker itself",
        details: "What was read is copied, and the operation is over; damage is counted when a thread has found it. The worker waits when all of them have enough to do.",
        differs: "damage is counted with a later read, or at the end of the pass",
        accepts: &[("4", "4")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_async_cpus",
        category: Category::Verify,
        kind: ValueKind::CpuList,
        summary: "CPUs of the threads of verify_async",
        accepts: &[("0-3", "0-3")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_backlog",
        category: Category::Verify,
        kind: ValueKind::Integer { min: 0, max: i64::MAX },
        default: DefaultValue::Text("0"),
        summary: "Verify after this many blocks are written",
        accepts: &[("1024", "1024")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_backlog_batch",
        category: Category::Verify,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "Blocks to verify at a time; 0: as many as verify_backlog",
        accepts: &[("64", "64")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "experimental_verify",
        category: Category::Verify,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Replay the random generator instead of remembering writes",
        status: SupportStatus::NoEffect("iolab always makes the operations again instead of remembering them"),
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_state_load",
        category: Category::Verify,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Check what an earlier run has saved of its writes with verify_state_save",
        details: "Reads the files that verify_state_save has made, from the folder of --aux-path or the working directory. A job that only reads, or that has verify_only, reads each block that the state knows, once, by ascending offset, and must find its last write; blocks that were being written when the run ended are not checked. A job that writes goes on from there. The verified files must have the same names, and the jobs the same verify and intervals.",
        differs: "it reads the states of iolab only",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_state_file",
        category: Category::Verify,
        kind: ValueKind::Text,
        summary: "The state that verify_state_load loads",
        details: "For a copy of the verified file under another name, or a state that was moved. Without it, the state of each verified file is loaded by its name. Only jobs on one file can have it.",
        accepts: &[("states/local-f-verify.state", "states/local-f-verify.state")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_state_save",
        category: Category::Verify,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Keep in a file what each block must hold, for verify_state_load",
        details: "The file is local-FILE-verify.state, one for each verified file, in the folder of --aux-path or the working directory; jobs on one file share it. It is mapped into memory and true at every moment, so that it also serves after the run was killed; it is not meant to outlive a crash of the machine. It has two bytes for each block. An older state of the same name is replaced, any other file is not. In fio, states are saved unless this is 0; here they are saved when it is 1, and programs do not read each other's.",
        differs: "saved when it is 1 (fio: unless it is 0); a state is of a file, not of a job",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_write_sequence",
        category: Category::Verify,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Verify the order of writes",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "verify_header_seed",
        category: Category::Verify,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Verify the seed in the header",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "trim_percentage",
        category: Category::Verify,
        kind: ValueKind::Integer { min: 0, max: 100 },
        default: DefaultValue::Text("0"),
        summary: "Percent of verified blocks to discard",
        accepts: &[("10", "10")],
        rejects: &["101"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "trim_verify_zero",
        category: Category::Verify,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Expect zeroes from discarded blocks",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "trim_backlog",
        category: Category::Verify,
        kind: ValueKind::Integer { min: 0, max: i64::MAX },
        default: DefaultValue::Text("0"),
        summary: "Discard after this many blocks are written",
        accepts: &[("512", "512")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "trim_backlog_batch",
        category: Category::Verify,
        kind: ValueKind::Integer { min: 0, max: u32::MAX as i64 },
        default: DefaultValue::Text("0"),
        summary: "Blocks to discard at a time; 0: as many as trim_backlog",
        accepts: &[("64", "64")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
];
