//! The same verification jobs with the installed fio and with iolab as fio: exit codes, errors,
//! operations, bytes and the keys of JSON agree, and every exception has a reason.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::support::{Lab, skipped};
use serde_json::Value;

/// The properties of a run that are compared.
#[derive(Debug, PartialEq)]
struct Outcome {
    succeeded: bool,
    errors: Vec<u64>,
    /// Operations and bytes of reads, writes and trims, of each job.
    moved: Vec<[(u64, u64); 3]>,
    keys: BTreeSet<String>,
}

fn outcome(code: i32, report: &str) -> Option<Outcome> {
    // fio prints warnings before its JSON, and after it.
    let json = &report[report.find("{\n")?..];
    let value: Value = serde_json::Deserializer::from_str(json).into_iter().next()?.ok()?;
    let jobs = value["jobs"].as_array()?;
    let moved = |job: &Value| {
        ["read", "write", "trim"].map(|direction| {
            let of = &job[direction];
            (of["total_ios"].as_u64().unwrap_or(0), of["io_bytes"].as_u64().unwrap_or(0))
        })
    };
    let keys = |job: &Value| job.as_object().map(|all| all.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    Some(Outcome {
        succeeded: code == 0,
        errors: jobs.iter().map(|job| job["error"].as_u64().unwrap_or(0)).collect(),
        moved: jobs.iter().map(moved).collect(),
        keys: jobs.iter().flat_map(keys).filter(|key| key != "job_start").collect(),
    })
}

fn under_fio(folder: &Path, words: &[String]) -> Option<Outcome> {
    let output = Command::new("fio").args(words).current_dir(folder).output().ok()?;
    outcome(output.status.code().unwrap_or(-1), &String::from_utf8_lossy(&output.stdout))
}

/// Damages the file between two invocations.
fn mangle(lab: &Path, which: &str) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new().read(true).write(true).open(lab.join("f")).unwrap();
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
        "--rw=write --verify=md4",
        "--rw=write --verify",
        "--rw=read --verify=0",
        "--rw=write --verify=0 --do_verify=1",
    ] {
        add(words, Differs::Nothing);
    }
    add("--rw=write --verify=crc32c --verify_only=1", Differs::Operations("fio counts the writes that it leaves out"));
    add("--rw=write --verify=crc32c --io_size=160k", Differs::Operations("fio rounds down to whole passes"));
    add("--rw=randrw --verify=crc32c", Differs::Operations("the dice of the mix are others"));
    add("--rw=randwrite --verify=crc32c --norandommap=1", Differs::Operations("the random offsets are others"));
    add("--rw=randwrite --verify=crc32c --bssplit=4k/50:8k/50", Differs::Operations("the random sizes are others"));
    all
}

fn words_of(words: &[String]) -> Vec<String> {
    let fixed = ["--name=a", "--filename=f", "--size=64k", "--bs=4k", "--output-format=json"];
    let files = words.iter().any(|word| word.starts_with("--nrfiles"));
    let fixed = fixed.iter().filter(|word| !(files && word.starts_with("--filename")));
    fixed.map(|word| (*word).to_owned()).chain(words.iter().cloned()).collect()
}

/// Tries all of them, four at once, because fio spends most of a short run waiting.
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
    try_all(&invocations(), |(words, differs)| {
        let (theirs, ours) = (Lab::new(), Lab::new());
        if words.iter().any(|word| word.starts_with("--verify_only")) {
            let first = words_of(&["--rw=write".to_owned(), "--verify=crc32c".to_owned()]);
            under_fio(&theirs.path(""), &first).expect("fio's report");
            ours.fio(&first).ended(0, "");
        }
        let words = words_of(words);
        let expected = under_fio(&theirs.path(""), &words);
        let done = ours.fio(&words);
        let found = outcome(done.code(), &done.printed());
        let (Some(expected), Some(found)) = (&expected, &found) else {
            assert_eq!(expected.is_none(), found.is_none(), "{words:?}: {expected:?} {done:?}");
            return;
        };
        assert_eq!((found.succeeded, &found.errors), (expected.succeeded, &expected.errors), "{words:?}");
        assert!(done.errors().is_empty() == expected.succeeded, "{words:?}: {}", done.errors());
        let missing: Vec<_> = expected.keys.difference(&found.keys).collect();
        assert!(missing.is_empty(), "{words:?}: keys {missing:?} are missing");
        match differs {
            Differs::Nothing => assert_eq!(found.moved, expected.moved, "{words:?}"),
            Differs::Operations(why) => assert_ne!(found.moved, expected.moved, "{words:?} no longer differs: {why}"),
        }
    });
}

/// What a job does when it finds damage. This is the same for every kind of check, so only the
/// first ending is tried with all kinds.
const ENDINGS: [&[&str]; 3] = [&[], &["--verify_fatal=1"], &["--continue_on_error=verify"]];

#[test]
fn damage_is_found_where_fio_finds_it() {
    if !has_fio() {
        return;
    }
    try_all(&KINDS, |kind| {
        let (theirs, ours) = (Lab::new(), Lab::new());
        let with = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned());
            words_of(&words.chain([format!("--verify={kind}")]).collect::<Vec<_>>())
        };
        let write = with(&["--rw=write", "--do_verify=0", "--verify_state_save=0"]);
        under_fio(&theirs.path(""), &write).expect("fio's report");
        ours.fio(&write).ended(0, "");
        let sound = [&theirs, &ours].map(|lab| std::fs::read(lab.path("f")).unwrap());
        for which in ["", "data", "zeroes", "swap"] {
            for more in ENDINGS.iter().take(if *kind == KINDS[0] { ENDINGS.len() } else { 1 }) {
                for (lab, sound) in [&theirs, &ours].into_iter().zip(&sound) {
                    lab.file("f", sound);
                    mangle(&lab.path(""), which);
                }
                let read = with(&[&["--rw=read", "--verify_state_save=0"][..], more].concat());
                let expected = under_fio(&theirs.path(""), &read).expect("fio's report");
                let done = ours.fio(&read);
                let found = outcome(done.code(), &done.printed()).expect("a report");
                let context = format!("{kind}, {which}, {more:?}");
                // fio 3.33 does not notice changed data under an intact header.
                if (*kind, which) == ("sha512", "data") && expected.errors == [0] {
                    assert_eq!(found.errors, [84], "{context}");
                    continue;
                }
                assert_eq!((found.succeeded, &found.errors), (expected.succeeded, &expected.errors), "{context}");
                // As fio's manual says, but not as fio does, the whole file is read unless the
                // first mismatch ends the job.
                if which.is_empty() || more.first() == Some(&"--continue_on_error=verify") {
                    assert_eq!(found.moved, expected.moved, "{context}");
                }
                let place = if which == "swap" { "offset 4096" } else { "offset 8192" };
                let said = done.errors().contains(place) || found.succeeded;
                assert!(said, "{context}: {}", done.errors());
            }
        }
    });
}
