//! The same verification jobs with the installed fio and with iolab as fio: exit codes, errors,
//! operations, bytes and the keys of JSON agree, and every exception has a reason.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::support::{Done, Lab, skipped};
use serde_json::Value;

/// The properties of a job that are compared.
#[derive(Debug, PartialEq)]
struct Outcome {
    error: u64,
    /// Operations and bytes of reads, writes and trims.
    moved: [(u64, u64); 3],
    keys: BTreeSet<String>,
}

/// The outcome of every job of a report; none if there is no report.
fn outcomes(report: &str) -> Option<Vec<Outcome>> {
    // fio prints warnings before its JSON, and after it.
    let json = &report[report.find("{\n")?..];
    let value: Value = serde_json::Deserializer::from_str(json).into_iter().next()?.ok()?;
    let moved = |job: &Value| {
        ["read", "write", "trim"].map(|direction| {
            let of = &job[direction];
            (of["total_ios"].as_u64().unwrap_or(0), of["io_bytes"].as_u64().unwrap_or(0))
        })
    };
    let keys = |job: &Value| job.as_object().map(|all| all.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let of_job = |job: &Value| Outcome {
        error: job["error"].as_u64().unwrap_or(0),
        moved: moved(job),
        keys: keys(job).into_iter().filter(|key| key != "job_start").collect(),
    };
    Some(value["jobs"].as_array()?.iter().map(of_job).collect())
}

/// Whether a job lets its program exit with success.
fn succeeds(words: &[String], outcome: &Outcome) -> bool {
    outcome.error == 0 || words.iter().any(|word| word == CONTINUE)
}

/// Runs all these jobs by one fio, each on a file named `f` and its number, because every start of
/// fio takes 0.15 seconds of a processor, and returns how each ended.
fn under_fio(folder: &Path, jobs: &[Vec<String>]) -> Option<Vec<Outcome>> {
    let words_of_job = |(number, words): (usize, &Vec<String>)| {
        let own = |word: &String| match word.as_str() {
            "--name=a" => format!("--name=a{number}"),
            "--filename=f" => format!("--filename=f{number}"),
            _ => word.clone(),
        };
        words.iter().map(own).collect::<Vec<_>>()
    };
    let words = jobs.iter().enumerate().flat_map(words_of_job);
    let output = Command::new("fio").arg(JSON).args(words).current_dir(folder).output().ok()?;
    let outcomes = outcomes(&String::from_utf8_lossy(&output.stdout))?;
    assert_eq!(outcomes.len(), jobs.len(), "{jobs:?}");
    let succeeded = jobs.iter().zip(&outcomes).all(|(words, outcome)| succeeds(words, outcome));
    assert_eq!(output.status.success(), succeeded, "the exit code is that of the jobs: {jobs:?}");
    Some(outcomes)
}

/// Runs one job by iolab as fio, and returns how it ended.
fn under_iolab(lab: &Lab, words: &[String]) -> (Done, Option<Outcome>) {
    let done = lab.fio([JSON.to_owned()].iter().chain(words));
    let outcome = outcomes(&done.printed()).map(|mut outcomes| outcomes.remove(0));
    if let Some(outcome) = &outcome {
        assert_eq!(done.code() == 0, succeeds(words, outcome), "{words:?}: the exit code is that of the job");
    }
    (done, outcome)
}

/// Damages a file between two jobs.
fn mangle(file: &Path, which: &str) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
    match which {
        "" => {}
        "data" => {
            let mut byte = [0];
            file.read_exact_at(&mut byte, 8192 + 1000).unwrap();
            file.write_all_at(&[!byte[0]], 8192 + 1000).unwrap();
        }
        "zeroes" => file.write_all_at(&[0; 4096], 8192).unwrap(),
        "swap" => {
            let (mut one, mut other) = ([0; 4096], [0; 4096]);
            file.read_exact_at(&mut one, 4096).unwrap();
            file.read_exact_at(&mut other, 8192).unwrap();
            file.write_all_at(&one, 8192).unwrap();
            file.write_all_at(&other, 4096).unwrap();
        }
        other => panic!("{other}"),
    }
}

/// What may differ between the two programs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Differs {
    Nothing,
    /// The operations may differ, for this reason.
    Operations(&'static str),
}

const JSON: &str = "--output-format=json";

const CONTINUE: &str = "--continue_on_error=verify";

const KINDS: [&str; 14] = [
    "md5",
    "crc64",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-512",
    "xxhash",
];

fn invocations() -> Vec<(Vec<String>, Differs)> {
    let mut all = Vec::new();
    let mut add = |words: &str, differs| all.push((words.split(' ').map(str::to_owned).collect(), differs));
    for kind in KINDS {
        for rw in ["write", "randwrite"] {
            add(&format!("--rw={rw} --verify={kind}"), Differs::Nothing);
        }
    }
    for kind in ["meta", "null"] {
        add(&format!("--rw=randwrite --verify={kind}"), Differs::Nothing);
    }
    for words in [
        "--rw=write --verify=pattern --verify_pattern=0xdeadbeef",
        "--rw=randwrite --verify=pattern --verify_pattern=0xff%o\"abcd\"-12",
        "--rw=write --verify=crc32c --do_verify=0",
        "--rw=write --verify=crc32c --loops=2",
        "--rw=write --verify=crc32c --verify_interval=512",
        "--rw=write --verify=crc32c --verify_interval=1024",
        "--rw=write --verify=crc32c --verify_interval=8192",
        "--rw=write --verify=crc32c --verify_backlog=4",
        "--rw=write --verify=crc32c --verify_backlog=4 --verify_backlog_batch=2",
        "--rw=randwrite --verify=crc32c --verify_backlog=8",
        "--rw=write --verify=crc32c --verify_fatal=1",
        "--rw=write --verify=crc32c --verify_dump=1",
        "--rw=write --verify=crc32c --experimental_verify=1",
        "--rw=write --verify=crc32c --offset=8k --size=32k",
        "--rw=write --verify=crc32c --nrfiles=4",
        "--rw=write --verify=crc32c --ioengine=libaio --iodepth=8",
        "--rw=randwrite --verify=crc32c --ioengine=libaio --iodepth=8",
        "--rw=randwrite --verify=crc32c --ioengine=io_uring --iodepth=8",
        "--rw=randwrite --verify=crc32c --random_generator=lfsr",
        "--rw=write --verify=crc32c --fsync=4",
        "--rw=write --verify=crc32c --end_fsync=1",
        "--rw=write --verify=crc32c --number_ios=5",
        "--rw=write --verify=crc32c --io_size=32k",
        "--rw=write --verify=crc32c --bs=8k",
        "--rw=write --verify=crc32c --bs=1k",
        "--rw=write --verify=crc32c --bs=64k",
        "--rw=write --verify=crc32c --overwrite=1",
        "--rw=write --verify=crc32c --fallocate=none",
        "--rw=write --verify=crc32c --continue_on_error=verify",
        "--rw=write --verify=crc32c --zero_buffers=1",
        "--rw=write --verify=crc32c --refill_buffers=1",
        "--rw=write --verify=crc32c --buffer_compress_percentage=50",
        "--rw=write --verify=crc32c --thread",
        "--rw=write --verify=crc32c --verifysort=1",
        "--rw=write --verify=crc32c --verify_state_save=0",
        "--rw=read --verify=0",
        "--rw=write --verify=0 --do_verify=1",
    ] {
        add(words, Differs::Nothing);
    }
    add("--rw=write --verify=crc32c --verify_only=1", Differs::Operations("fio counts the writes that it leaves out"));
    add("--rw=write --verify=crc32c --io_size=160k", Differs::Operations("fio rounds down to whole passes"));
    add("--rw=randrw --verify=crc32c", Differs::Operations("the dice of the mix are others"));
    add("--rw=randwrite --verify=crc32c --norandommap=1", Differs::Operations("the random offsets are others"));
    add("--rw=randwrite --verify=crc32c --bssplit=1k/50:4k/50", Differs::Operations("the random sizes are others"));
    all
}

/// What fio refuses before it runs anything.
const REFUSED: [&str; 2] = ["--verify=md4", "--verify"];

fn words_of(words: &[String]) -> Vec<String> {
    let fixed = ["--name=a", "--filename=f", "--size=64k", "--bs=4k"];
    let files = words.iter().any(|word| word.starts_with("--nrfiles"));
    let fixed = fixed.iter().filter(|word| !(files && word.starts_with("--filename")));
    fixed.map(|word| (*word).to_owned()).chain(words.iter().cloned()).collect()
}

/// Tries all of them, four at once, because a short run waits for most of its time.
fn try_all<T: Sync>(all: &[T], each: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| {
        for first in 0..4 {
            let each = &each;
            scope.spawn(move || all.iter().skip(first).step_by(4).for_each(each));
        }
    });
}

/// Whether fio is installed and knows the kinds of 3.33.
fn has_fio() -> bool {
    let version = Command::new("fio").arg("--version").output();
    let there = version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).starts_with("fio-3."));
    if !there {
        skipped("fio is not installed");
    }
    there
}

#[test]
fn invocations_end_as_under_fio() {
    if !has_fio() {
        return;
    }
    let theirs = Lab::new();
    let all = invocations();
    let jobs: Vec<_> = all.iter().map(|(words, _)| words_of(words)).collect();
    // The check alone needs something to check.
    let is_check_only = |words: &[String]| words.iter().any(|word| word.starts_with("--verify_only"));
    let written = words_of(&["--rw=write".to_owned(), "--verify=crc32c".to_owned()]);
    under_fio(&theirs.path(""), std::slice::from_ref(&written)).expect("fio's report");
    let number = jobs.iter().position(|words| is_check_only(words)).unwrap();
    std::fs::rename(theirs.path("f0"), theirs.path(&format!("f{number}"))).unwrap();
    let expected = under_fio(&theirs.path(""), &jobs).expect("fio's report");
    let both: Vec<_> = all.iter().zip(&expected).collect();
    try_all(&both, |((words, differs), expected)| {
        let ours = Lab::new();
        if is_check_only(words) {
            under_iolab(&ours, &written).0.ended(0, "");
        }
        let (done, found) = under_iolab(&ours, &words_of(words));
        let found = found.unwrap_or_else(|| panic!("{words:?}: {done:?}"));
        assert_eq!(found.error, expected.error, "{words:?}");
        assert!(done.errors().is_empty() == (expected.error == 0), "{words:?}: {}", done.errors());
        let missing: Vec<_> = expected.keys.difference(&found.keys).collect();
        assert!(missing.is_empty(), "{words:?}: keys {missing:?} are missing");
        match differs {
            Differs::Nothing => assert_eq!(found.moved, expected.moved, "{words:?}"),
            Differs::Operations(why) => assert_ne!(found.moved, expected.moved, "{words:?} no longer differs: {why}"),
        }
    });
    for word in REFUSED {
        let (theirs, ours) = (Lab::new(), Lab::new());
        let words = words_of(&["--rw=write".to_owned(), word.to_owned()]);
        assert_eq!(under_fio(&theirs.path(""), std::slice::from_ref(&words)), None, "{word}");
        let (done, found) = under_iolab(&ours, &words);
        assert!(found.is_none() && done.code() != 0 && !done.errors().is_empty(), "{word}: {done:?}");
    }
}

/// What a job does when it finds damage. This is the same for every kind of check, so only the
/// first ending is tried with all kinds.
const ENDINGS: [&str; 3] = ["", "--verify_fatal=1", CONTINUE];

#[test]
fn damage_is_found_where_fio_finds_it() {
    if !has_fio() {
        return;
    }
    let (theirs, ours) = (Lab::new(), Lab::new());
    let with = |kind: &str, words: &[&str]| {
        let words = words.iter().filter(|word| !word.is_empty()).map(|word| (*word).to_owned());
        words_of(&words.chain([format!("--verify={kind}")]).collect::<Vec<_>>())
    };
    let write = KINDS.map(|kind| with(kind, &["--rw=write", "--do_verify=0", "--verify_state_save=0"]));
    under_fio(&theirs.path(""), &write).expect("fio's report");
    // Of each kind, the file as fio wrote it and as iolab wrote it.
    let sound: Vec<_> = (write.iter().enumerate())
        .map(|(number, write)| {
            under_iolab(&ours, write).0.ended(0, "");
            [theirs.path(&format!("f{number}")), ours.path("f")].map(|file| std::fs::read(file).unwrap())
        })
        .collect();
    for ending in ENDINGS {
        let kinds = if ending == ENDINGS[0] { &KINDS[..] } else { &KINDS[..1] };
        let cases = kinds.iter().zip(&sound);
        let cases: Vec<_> =
            cases.flat_map(|(kind, sound)| ["", "data", "zeroes", "swap"].map(|which| (*kind, sound, which))).collect();
        let (theirs, ours) = (Lab::new(), Lab::new());
        let read = |kind| with(kind, &["--rw=read", "--verify_state_save=0", ending]);
        let reads: Vec<_> = cases.iter().map(|(kind, ..)| read(kind)).collect();
        for (number, (_, [sound, _], which)) in cases.iter().enumerate() {
            mangle(&theirs.file(&format!("f{number}"), sound), which);
        }
        let expected = under_fio(&theirs.path(""), &reads).expect("fio's report");
        for ((kind, [_, sound], which), expected) in cases.iter().zip(&expected) {
            mangle(&ours.file("f", sound), which);
            ends_alike(under_iolab(&ours, &read(kind)), expected, (kind, which, ending));
        }
    }
}

fn ends_alike((done, found): (Done, Option<Outcome>), expected: &Outcome, context: (&str, &str, &str)) {
    let (kind, which, ending) = context;
    let found = found.expect("a report");
    // fio 3.33 does not notice changed data under an intact header.
    if (kind, which) == ("sha512", "data") && expected.error == 0 {
        assert_eq!(found.error, 84, "{context:?}");
        return;
    }
    assert_eq!(found.error, expected.error, "{context:?}");
    // As fio's manual says, but not as fio does, the whole file is read unless the first mismatch
    // ends the job.
    if which.is_empty() || ending == CONTINUE {
        assert_eq!(found.moved, expected.moved, "{context:?}");
    }
    let place = if which == "swap" { "offset 4096" } else { "offset 8192" };
    let said = done.errors().contains(place) || done.code() == 0;
    assert!(said, "{context:?}: {}", done.errors());
}
