//! The table of fuzz targets: every reader of text or bytes that come from outside.
//!
//! A target must not panic, whatever it is given, and it checks what must hold of what it read. Adding one: a
//! line in [`TARGETS`], a binary in `fuzz/fuzz_targets`, an entry in `fuzz/Cargo.toml`; the smoke test checks
//! that they agree. [`CANARY`] has a bug on purpose: a fuzzer that does not find it is broken.

use iolab_recording::{LogEntry, Recording};

/// One target.
pub struct Target {
    /// Its name, and that of its binary.
    pub name: &'static str,
    /// Inputs to begin with.
    pub seeds: &'static [&'static [u8]],
    /// Words that mean something to the reader.
    pub words: &'static [&'static str],
    /// The reader under test.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "recording_reader",
        seeds: &[
            br#"{"iolab_recording":1,"iolab_version":"0","plan":{"sources":[],"global_options":{},"workers":[],"warnings":[]},"host":{"hostname":"","kernel":"","cpu_model":"","cpus":1,"memory_bytes":0,"clock":"","command_line":[]},"started_unix_ns":0,"elapsed_ns":0,"workers":[],"devices":[],"warnings":[],"interrupted":false}"#,
            br#"{"iolab_recording":2}"#,
        ],
        words: &["\"workers\":", "[]", "{}", "null", "true", "-1", "1e999", "18446744073709551616", "\"iolab_recording\":1"],
        run: recording_reader,
    },
    Target {
        name: "log_entry",
        seeds: &[&[0; LogEntry::ENCODED_BYTES], &[0xff; LogEntry::ENCODED_BYTES], b""],
        words: &["\u{1}", "\u{2}", "\u{4}"],
        run: log_entry,
    },
];

/// A target with a bug: the fuzzer's own test.
pub const CANARY: Target = Target {
    name: "canary",
    seeds: &[b"[job]\nbs=4k\n"],
    words: &["bs=8k", "rw=read"],
    run: |input| {
        let has = |word: &[u8]| input.windows(word.len()).any(|window| window == word);
        assert!(!(has(b"bs=8k") && has(b"rw=read")), "the canary was found");
    },
};

/// Runs the target called `name`; for the binaries.
pub fn run(name: &str, input: &[u8]) {
    for target in TARGETS.iter().chain([&CANARY]).filter(|target| target.name == name) {
        (target.run)(input);
    }
}

/// What was read is written and read again as the same.
fn recording_reader(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(recording) = Recording::from_json(text) {
        let again = Recording::from_json(&recording.to_json());
        assert_eq!(again.ok().as_ref(), Some(&recording), "a recording changes when it is saved");
    }
}

/// Bytes that decode encode to the same bytes.
fn log_entry(input: &[u8]) {
    for bytes in input.chunks_exact(LogEntry::ENCODED_BYTES) {
        let Ok(bytes) = bytes.try_into() else { continue };
        if let Some(entry) = LogEntry::decode(bytes) {
            assert_eq!(&entry.encode(), bytes);
        }
    }
}
