//! The table of fuzz targets: every reader of text or bytes that come from outside.
//!
//! A target must not panic, whatever it is given, and it checks what must hold of what it read.
//! Adding one: a line in [`TARGETS`], a binary in `fuzz/fuzz_targets`, an entry in
//! `fuzz/Cargo.toml`; the smoke test checks that they agree. [`CANARY`] has a bug on purpose: a
//! fuzzer that does not find it is broken.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use iolab_jobfile::{KeywordFacts, NumberRules, OPTIONS, Surroundings, fuzz_entry, parse_value};
use iolab_options::{OptionEntry, Rank};
use iolab_recording::partial::{self, Partial};
use iolab_recording::{BlockHeader, LogEntry, Recording, SpoolBlock, SpooledRecord};
use iolab_trace::{End, Operation, Reader, Writer};
use iolab_trace_import::{ImportError, Imported, blktrace, iolog, strace};

/// Frames of client and server.
#[path = "hosts.rs"]
mod hosts;
/// The enemy of a device that the driver's own tests use too.
#[path = "../../crates/nvme/driver/tests/driver/hostile/enemy.rs"]
mod nvme_enemy;
/// PDUs of NVMe/TCP.
#[path = "nvme_tcp.rs"]
mod nvme_tcp;

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
        name: "job_file",
        seeds: &[
            b"[global]\nioengine=psync\nsize=1g ; half of ${SIZE}\n[a]\nrw=randrw:8\nbs=4k,8k,\n[b]\nstonewall\nbssplit=4k/10:64k/\n",
            b"[job]\ninclude other.fio\nrandom_distribution=zoned:50/5:30/15:20/\ncpus_allowed=0-3,8\nsize=(4*$ncpus)g\n",
            b"--name=a\0--rw=read\0--bs=4k\0--name=b\0--rwmixread=70\0job.fio",
        ],
        words: &[
            "[global]", "[", "]", "\n", "=", "${", "$ncpus", "include loop.fio", "(", ")", "%", ":", ",", "\0--", "0x",
            "bssplit=", "random_distribution=zipf:", "percentile_list=", "buffer_pattern=", "rate=", "size=", "rw=",
        ],
        run: job_file,
    },
    Target {
        name: "option_value",
        seeds: &[b"bs\n4k-8k,16k,", b"runtime\n1m30s", b"size\n50%", b"buffer_pattern\n0xdead\"x\"-1", b"cpumask\n0xff"],
        words: &["k", "kib", "ms", "%", "z", "(1+2*3)", "^", "/", ":", "-", "\"", "'", "0x", "size\n", "runtime\n"],
        run: option_value,
    },
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
        name: "partial_recording",
        seeds: &[
            b"iolab partial 1\n\x02\0\0\0\0\0\0\0\x01{}",
            // An interval of 100 ns with two reads of 3 and 5 ns, after which the worker ends.
            b"\x19\x03\0\0\x64\0\x02\x08\x09\x03\x02\x08\0\0\0\0\0\0A@\x04\0\x03\x01\x01\x01\x03\x04{}",
            b"\x04\x02\xe8\x07\x05\x03\0\x64\0",
        ],
        words: &["\u{1}", "\u{2}", "\u{4}", "\u{0}\u{2}\u{8}\u{9}", "\u{7f}", "{\"number\":0}"],
        run: partial_recording,
    },
    hosts::TARGET,
    Target {
        name: "log_entry",
        seeds: &[
            &[0; LogEntry::ENCODED_BYTES],
            &[0xff; LogEntry::ENCODED_BYTES],
            b"",
            // A block of two operations with offsets: the first with its traits, the second like
            // it.
            b"\x21\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x45\x64\x32\0\x10\0\0\0\0\0\
              \0\x10\0\0\0\0\0\0\x05\x64\x32\0\x20\0\0\0\0\0\0",
        ],
        words: &["\u{1}", "\u{2}", "\u{4}", "@", "\u{1a}"],
        run: log_entry,
    },
    Target {
        name: "trace",
        seeds: &[
            include_bytes!("../../crates/contract/trace/tests/corpus/1-commits.trace"),
            // Frames as a length, a kind and what is in them: a file, a thread, a block of two
            // writes.
            b"\x0d\x02{\"path\":\"/\"}\x15\x03{\"process\":1,\"id\":1}\x20\x04\x02\x05\x01\0\x02\0\0\x01\x02\0\x01\0\x02\0\x0a\
              \x01\x02\x09\x01\x01\x02\x01\x01\0\x02\x09\0\x01\x02\0\x01",
            b"\x0a\x05{\"elapsed_ns\":1,\"operations\":2}",
        ],
        words: &["\u{4}\u{2}", "\u{1}\u{2}", "{\"path\":\"x\"}", "\u{7f}", "{\"process\":0,\"id\":0}"],
        run: trace,
    },
    Target {
        name: "strace_text",
        seeds: &[
            b"1234  1700000000.000200 pwrite64(5</db/pg_wal/0001>, \"\\20, (a)\"..., 8192, 16384) = 8192 <0.000021>\n\
              [pid 7] 12:34:56.000300 fdatasync(5 <unfinished ...>\n[pid 7] 12:34:57 <... fdatasync resumed>) = 0 <0.002100>\n",
            b"     0.000100 openat(AT_FDCWD, \"/a\", O_RDWR) = 3\nwritev(3, [{iov_base=\"a\", iov_len=2}], 1) = 2\nread(3, \"\", 1) = 0\n",
            b"clone(flags=CLONE_FILES) = 9\n9 splice(3, [5] => [7], 4, NULL, 9, 0) = 2\n9 io_submit(0, 1, [{aio_data=0, CMD_PREAD, aio_fildes=3, aio_nbytes=1, aio_offset=2}]) = 1\n",
        ],
        words: &["<unfinished ...>", "<... read resumed>", "(", ")", "\"", "\\", "[", "{", "= -1 EIO", "18446744073709551615", "0x", "<0.1>", "23:59:59 "],
        run: |input| imported(|output| strace::import(&mut std::io::Cursor::new(input), output, Vec::new(), false)),
    },
    Target {
        name: "iolog",
        seeds: &[
            b"fio version 2 iolog\n/d add\n/d open\n/d write 0 8192\n/d wait 500 0\n/d datasync 0 0\n/d close\n",
            b"fio version 3 iolog\n20 f 1 add\n106 f 1 read 0 4096\n369 f 1 trim 45056 4096\n",
        ],
        words: &[" read ", " wait ", "18446744073709551615", "\n", "fio version 3 iolog\n", " 0 0\n"],
        run: |input| imported(|output| iolog::import(&mut std::io::Cursor::new(input), output, Vec::new(), false)),
    },
    Target {
        name: "blktrace",
        seeds: &[
            // An issue and its completion, of 4096 bytes written at sector 8.
            b"\x07tae\x01\0\0\0\xe8\x03\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\x07\0\x02\0M\0\0\0\x01\0\x80\0\0\0\0\0\0\0\0\0\
              \x07tae\x02\0\0\0\xe8\x09\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\x08\0\x02\0M\0\0\0\x01\0\x80\0\0\0\0\0\0\0\0\0",
        ],
        words: &["\u{7}tae", "\u{7}\u{0}", "\u{8}\u{0}", "\u{0}\u{4}"],
        run: |input| {
            let (one, two) = input.split_at(input.len() / 2);
            imported(|output| blktrace::import(vec![one, two], output, Vec::new(), false));
            imported(|output| blktrace::import(vec![input], output, Vec::new(), true));
        },
    },
    Target {
        name: "logfs_image",
        seeds: &[
            // Changes of a file system's image: three bytes of place, a value, and how.
            &[0, 64, 0, 1, 3],
            &[20, 64, 0, 9, 3, 64, 64, 0, 3, 3],
            &[40, 2, 0, 0, 3, 0, 0, 0, 0, 0],
            &[70, 70, 0, 255, 3, 80, 72, 0, 0, 3, 200, 3, 0, 1, 1],
        ],
        words: &["\u{3}", "@\u{0}", "\u{50}\u{40}\u{0}\u{14}\u{3}", "\u{0}\u{0}\u{0}"],
        run: |input| {
            static IMAGE: LazyLock<Vec<u8>> = LazyLock::new(iolab_logfs::hostile::sample);
            iolab_logfs::hostile::survive(&IMAGE, &input[..input.len().min(40)]);
        },
    },
    Target {
        name: "nvme_host",
        seeds: &[
            // The configuration, then steps: a kind, a place, and what the kind needs.
            &[0, 0, 4, 1, 0, 2, 5, 0, 7, 9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 9, 3, 14, 50],
            &[2, 2, 0, 0, 0x7d, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 4, 13, 0, 13, 1],
            &[3; 64],
        ],
        words: &["\u{2}\u{0}\u{1}\u{1}\u{2}", "\u{9}\u{2}", "\u{a}\u{3}", "\u{b}\u{3}", "\u{d}\u{0}\u{d}\u{1}", "\u{e}\u{7f}"],
        run: |script| {
            iolab_virtual_ssd::hostile::run(script);
        },
    },
    Target {
        name: "nvme_device",
        seeds: &[
            // Whether it is an enemy from the start, then looks: from f0h on something goes wrong,
            // and the next bytes say what.
            &[0, 0, 0, 0, 0xf1, 0, 0, 0, 0, 2, 1, 0, 0, 0, 3, 0, 5, 0, 1, 0],
            &[0, 0xff, 9, 0, 0xf0, 200, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 3],
            &[1, 0, 0, 0, 0xf0, 20, 1],
        ],
        words: &["\u{0}\u{0}\u{0}\u{0}", "\u{fff}\u{0}", "\u{7f}"],
        run: |input| {
            nvme_enemy::survive(input);
        },
    },
    Target {
        name: "nvme_tcp",
        seeds: &[
            // Which end and which digests, then PDUs: ICReq, a command, data, R2T.
            b"\x00\x04\x00\x48\x48\x4c\x00\x00\x00\x01\x40\x05\x00",
            b"\x01\x07\x04\x18\x18\x20\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00abcdefgh",
            b"\x03\x09\x00\x18\x00\x18\x00\x00\x00\x05\x00\x06\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00",
            b"\x06\x03\x00\x18\x00\x18\x00\x00\x00\x01\x00\x04\x00\x00\x00",
        ],
        words: &["\u{0}\u{0}\u{80}\u{0}", "\u{4}\u{0}HH", "\u{6}\u{0}\u{18}\u{18}", "\u{9}\u{0}\u{18}\u{0}", "\u{7f}\u{0}"],
        run: nvme_tcp::survive,
    },
    Target {
        name: "vfio_user",
        seeds: iolab_vfio_user::hostile::SEEDS,
        words: &["\u{1}\u{0}\u{4}\u{0}\u{0}\u{1}\u{0}", "\u{7}\u{0}\u{0}\u{0}\u{4}", "\u{0}\u{10}\u{0}\u{0}", "\u{7f}\u{0}"],
        run: iolab_vfio_user::hostile::survive,
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

/// Writes what a fuzzer begins with into the folder that `IOLAB_FUZZ_START` names: the seeds of a
/// target, and beside the folder a dictionary (`.words`); for the binaries.
pub fn write_start(name: &str) {
    let Some(folder) = std::env::var_os("IOLAB_FUZZ_START").map(PathBuf::from) else { return };
    for target in TARGETS.iter().chain([&CANARY]).filter(|target| target.name == name) {
        for (number, seed) in target.seeds.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed).expect("the folder of seeds can be written to");
        }
        let quoted = |word: &&str| word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
        let words: String = target.words.iter().map(|word| format!("\"{}\"\n", quoted(word))).collect();
        fs::write(folder.with_extension("words"), words).expect("the dictionary can be written");
    }
}

/// A small fixed world for the job language.
struct World;

impl Surroundings for World {
    fn include(&self, name: &str, _from: &str) -> Result<String, String> {
        match name {
            "other.fio" => Ok("bs=8k\n".to_owned()),
            "loop.fio" => Ok("include loop.fio\n".to_owned()),
            _ => Err("no such file".to_owned()),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "SIZE").then(|| "10g".to_owned())
    }

    fn keywords(&self) -> KeywordFacts {
        let rank = Rank { number: 1, ranks: 3, host: "n1".to_owned() };
        KeywordFacts { cpus: 4, page_bytes: 4096, memory_mib: 8192, rank }
    }

    fn engine_options(&self, engine: &str) -> Option<&'static [OptionEntry]> {
        (engine == "psync").then_some(&[])
    }
}

/// Job files and command lines are read, or refused with messages that can be shown.
fn job_file(input: &[u8]) {
    fuzz_entry(input, &World);
}

/// `name`, newline, value: the value is read by the kind of the option, or refused with a place
/// inside it.
fn option_value(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Some((name, value)) = text.split_once('\n') else { return };
    for entry in OPTIONS.iter().filter(|entry| entry.answers_to(name)) {
        for bare_arithmetic in [false, true] {
            let rules = NumberRules { bare_arithmetic, ..NumberRules::default() };
            if let Err(error) = parse_value(&entry.kind, Some(value), rules) {
                let (start, end) = error.range;
                assert!(start <= end && end <= value.len(), "{name}={value}: error at {start}..{end}");
            }
        }
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

/// Partial recordings: as the bytes are, and as entries with right checksums around them (a length,
/// then a kind, then the content). What is read makes a recording, which survives being saved.
fn partial_recording(input: &[u8]) {
    let mut forged = partial_start();
    let mut rest = input;
    while let Some((length, more)) = rest.split_first() {
        let (entry, next) = more.split_at(usize::from(*length).min(more.len()));
        rest = next;
        if let Some((kind, payload)) = entry.split_first() {
            forged.extend(partial::forged(*kind, payload));
        }
    }
    for bytes in [input, &forged] {
        let Ok(partial) = Partial::read(bytes) else { continue };
        assert!(partial.damage.is_none_or(|damage| damage.at_byte < bytes.len() as u64));
        let recording = partial.into_recording();
        let again = Recording::from_json(&recording.to_json());
        assert_eq!(again.ok().as_ref(), Some(&recording), "a rebuilt recording changes when it is saved");
    }
}

/// Traces: as the bytes are, and as frames with right checksums. What is read is written and read
/// again as the same.
fn trace(input: &[u8]) {
    let mut forged = iolab_trace::MARK.to_vec();
    forged.extend(iolab_trace::forged(1, b"{\"source\":\"\"}"));
    let mut rest = input;
    while let Some((length, more)) = rest.split_first() {
        let (frame, next) = more.split_at(usize::from(*length).min(more.len()));
        rest = next;
        if let Some((kind, payload)) = frame.split_first() {
            forged.extend(iolab_trace::forged(*kind, payload));
        }
    }
    for bytes in [input, &forged] {
        let Some((operations, reader)) = operations_of(bytes) else { continue };
        let Ok(mut writer) = Writer::new(Vec::new(), reader.facts()) else { continue };
        reader.files().iter().for_each(|file| drop(writer.file(file.clone())));
        reader.threads().iter().for_each(|thread| drop(writer.thread(thread.clone())));
        operations.iter().for_each(|operation| drop(writer.operation(operation)));
        let again = writer.finish(End::default()).unwrap_or_default();
        assert_eq!(operations_of(&again).map(|(operations, _)| operations), Some(operations));
    }
}

/// What is imported makes a trace that is whole.
fn imported(import: impl FnOnce(&mut Vec<u8>) -> Result<Imported, ImportError>) {
    let mut bytes = Vec::new();
    if let Ok(imported) = import(&mut bytes) {
        let found = operations_of(&bytes).map(|(operations, reader)| (operations.len() as u64, reader.end().cloned()));
        assert_eq!(found, Some((imported.end.operations, Some(imported.end))));
    }
}

fn operations_of(bytes: &[u8]) -> Option<(Vec<Operation>, Reader<&[u8]>)> {
    let mut reader = Reader::new(bytes).ok()?;
    let mut operations = Vec::new();
    while let Ok(Some(operation)) = reader.next_operation() {
        operations.push(operation);
    }
    assert!(reader.damage().is_none_or(|damage| damage.at_byte <= bytes.len() as u64));
    Some((operations, reader))
}

/// A beginning whose plan has one worker, number 0.
pub fn partial_start() -> Vec<u8> {
    static START: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let empty = TARGETS.iter().find(|target| target.name == "recording_reader").map(|target| target.seeds[0]);
        let text = empty.and_then(|seed| std::str::from_utf8(seed).ok()).unwrap_or_default();
        let worker = include_str!("../../crates/contract/recording/tests/worker_plan.json");
        let text = text.replacen("\"workers\":[]", &format!("\"workers\":[{worker}]"), 1);
        Recording::from_json(&text).map(|recording| partial::start(&recording)).unwrap_or_default()
    });
    START.clone()
}

/// Bytes that decode encode to the same bytes; what is read of a block can be written and is read
/// again.
fn log_entry(input: &[u8]) {
    for bytes in input.chunks_exact(LogEntry::ENCODED_BYTES) {
        let Ok(bytes) = bytes.try_into() else { continue };
        if let Some(entry) = LogEntry::decode(bytes) {
            assert_eq!(&entry.encode(), bytes);
        }
    }
    let Some((header, rest)) = input.split_first_chunk() else { return };
    let Some(header) = BlockHeader::decode(header) else { return };
    let found: Vec<_> = header.records(rest).take(500).collect();
    let mut block = SpoolBlock::new(true, header.has_slat());
    for record in &found {
        match record {
            SpooledRecord::Operation(operation) => block.operation(operation),
            SpooledRecord::Window(entry) => block.window(entry),
        }
    }
    let sealed = block.seal();
    let again = sealed.split_first_chunk().and_then(|(header, rest)| Some(BlockHeader::decode(header)?.records(rest)));
    assert_eq!(again.map(Iterator::collect::<Vec<_>>), Some(found));
}
