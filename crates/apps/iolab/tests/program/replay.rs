//! Replays do what a trace says, where the user says, in the order of the trace, and touch nothing
//! else.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use iolab_trace::{Call, End, Facts, File, FileKind, Flags, Operation, Thread, Writer};
use tempfile::TempDir;

/// A folder to run the program in.
struct Lab(TempDir);

impl Lab {
    fn new() -> Lab {
        Lab(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn iolab(&self, words: &[&str]) -> Output {
        let state: &Path = self.0.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_iolab"));
        command.env("IOLAB_STATE", state).env("XDG_DATA_HOME", state).env("XDG_STATE_HOME", state);
        command.args(words).current_dir(state).output().unwrap()
    }
}

/// A trace of two threads on two files: each writes and syncs its own and reads the other's.
fn two_threads(operations: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Facts { has_durations: true, ..Facts::default() }).unwrap();
    for path in ["/data/db/log", "/data/db/table"] {
        let (kind, size_bytes) = (FileKind::Regular, Some(1 << 20));
        writer.file(File { path: path.to_owned(), kind, size_bytes, ..File::default() }).unwrap();
    }
    for id in [7, 8] {
        writer.thread(Thread { process: 7, id, name: "worker".to_owned() }).unwrap();
    }
    for number in 0..operations {
        let thread = (number % 2) as u32;
        let (call, length) = match number / 2 % 4 {
            0 | 1 => (Call::Pwrite, 4096),
            2 => (Call::Pread, 8192),
            _ => (Call::Fdatasync, 0),
        };
        let file = if call == Call::Pread { 1 - thread } else { thread };
        let offset = (length > 0).then_some(number % 64 * 8192);
        let (time_ns, duration_ns, flags) = (number * 100_000, 50_000, Flags::default());
        let result = length as i64;
        writer
            .operation(&Operation { time_ns, duration_ns, thread, call, file, offset, length, result, flags })
            .unwrap();
    }
    writer.finish(End { elapsed_ns: operations * 100_000, ..End::default() }).unwrap()
}

/// The numbers of a line of the report: `issued rwts: total=1,2,3,4 …`.
fn issued(report: &str) -> Vec<u64> {
    let line = report.lines().find_map(|line| line.split_once("issued rwts: total=")).expect("a line of totals").1;
    line.split(' ').next().unwrap().split(',').map(|word| word.parse().unwrap()).collect()
}

#[test]
fn a_replay_does_all_that_the_trace_says_below_a_folder() {
    let lab = Lab::new();
    std::fs::write(lab.path("two.trace"), two_threads(400)).unwrap();
    std::fs::create_dir(lab.path("copy")).unwrap();
    let out = lab.iolab(&["replay", "two.trace", "--directory", "copy", "--afap"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let report = String::from_utf8_lossy(&out.stdout);
    assert_eq!(issued(&report), [100, 200, 0, 100], "{report}");
    assert!(report.contains("replay       : as fast as possible"), "{report}");
    // The order around syncs was kept: the threads waited for each other.
    let waited = report.split_once("as fast as possible; ").unwrap().1.split(' ').next().unwrap();
    assert!(waited.replace(',', "").parse::<u64>().is_ok(), "{report}");
    for name in ["log", "table"] {
        assert!(lab.path(&format!("copy/data/db/{name}")).metadata().unwrap().len() >= 60 * 8192);
    }
}

#[test]
fn a_replay_in_time_says_how_late_it_was_and_is_recorded() {
    let lab = Lab::new();
    std::fs::write(lab.path("two.trace"), two_threads(400)).unwrap();
    let out = lab.iolab(&["replay", "two.trace", "--ioengine", "null", "--speed", "0.5", "--record", "r.iolab"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let report = String::from_utf8_lossy(&out.stdout);
    assert!(report.contains("replay       : late by p50="), "{report}");
    let recording: serde_json::Value = serde_json::from_slice(&std::fs::read(lab.path("r.iolab")).unwrap()).unwrap();
    let workers = recording["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2, "a worker for each thread");
    for worker in workers {
        // At half the speed, 40 ms of the trace take at least 80 ms, however fast the engine is.
        assert!(worker["runtime_ns"].as_u64().unwrap() >= 79_000_000, "{}", worker["runtime_ns"]);
        assert_eq!(worker["drift"]["late"]["count"], 200);
        assert!(!worker["drift"]["series"].as_array().unwrap().is_empty());
    }
    let page = lab.iolab(&["report", "r.iolab", "-o", "page.html"]);
    assert!(page.status.success(), "{page:?}");
    assert!(std::fs::read_to_string(lab.path("page.html")).unwrap().contains("replays a trace"));
}

#[test]
fn what_iolab_did_not_make_is_not_overwritten() {
    let lab = Lab::new();
    let precious = lab.path("precious");
    std::fs::write(&precious, "mine").unwrap();
    let mut log = "fio version 2 iolog\n".to_owned();
    let target = precious.display();
    write!(log, "{target} add\n{target} open\n{target} write 0 4096\n{target} sync 0 0\n{target} close\n").unwrap();
    std::fs::write(lab.path("x.log"), log).unwrap();
    for words in [&["replay", "x.log", "--in-place"][..], &["run", "--name=a", "--read_iolog=x.log"]] {
        let out = lab.iolab(words);
        assert!(!out.status.success(), "{words:?}");
        assert!(String::from_utf8_lossy(&out.stderr).contains("--allow-destroy"), "{words:?}");
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "mine");
    }
    let out = lab.iolab(&["replay", "x.log"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("say where"), "{out:?}");
    // With another target, it may.
    let map = format!("{target}={}", lab.path("other").display());
    let out = lab.iolab(&["replay", "x.log", "--map", &map]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(issued(&String::from_utf8_lossy(&out.stdout)), [0, 1, 0, 1]);
    assert_eq!(lab.path("other").metadata().unwrap().len(), 4096);
}

#[test]
fn what_no_map_names_is_replayed_only_where_it_was_told_to() {
    let lab = Lab::new();
    let log = "fio version 3 iolog\n0 /lib/a add\n0 /lib/b add\n0 /db/c add\n0 /lib/a open\n0 /lib/b open\n0 /db/c open\n\
        1 /lib/a read 0 4096\n2 /lib/b read 0 4096\n3 /db/c write 0 4096\n";
    std::fs::write(lab.path("x.log"), log).unwrap();
    let map = format!("/db={}", lab.path("copy").display());
    let out = lab.iolab(&["replay", "x.log", "--map", &map]);
    assert!(!out.status.success());
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("no --map names /lib/a and 1 other file: add --directory FOLDER"), "{said}");
    let rest = lab.path("rest");
    std::fs::create_dir(&rest).unwrap();
    let out = lab.iolab(&["replay", "x.log", "--map", &map, "--directory", rest.to_str().unwrap()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(issued(&String::from_utf8_lossy(&out.stdout)), [2, 1, 0, 0]);
    assert!(rest.join("lib/a").exists() && lab.path("copy/c").exists());
}

#[test]
fn options_of_fio_skip_scale_and_align() {
    let lab = Lab::new();
    let log = "fio version 3 iolog\n0 /d add\n0 /d open\n1 /d write 1000000 4096\n2 /d read 0 4096\n3 /d sync 0 0\n";
    std::fs::write(lab.path("x.log"), log).unwrap();
    let out = lab.iolab(&[
        "run",
        "--name=a",
        "--read_iolog=x.log",
        "--replay_redirect=one",
        "--replay_skip=read",
        "--replay_scale=2",
        "--replay_align=4k",
        "--replay_no_stall=1",
    ]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(issued(&String::from_utf8_lossy(&out.stdout)), [0, 1, 0, 1]);
    assert_eq!(lab.path("one").metadata().unwrap().len(), 499_712 + 4096, "500000, aligned down, and 4 KiB");
}

#[test]
fn a_trace_that_is_cut_off_or_empty_is_refused() {
    let lab = Lab::new();
    let whole = two_threads(40);
    std::fs::write(lab.path("cut.trace"), &whole[..whole.len() - 30]).unwrap();
    let out = lab.iolab(&["replay", "cut.trace", "--ioengine", "null"]);
    assert!(!out.status.success());
    assert!(String::from_utf8_lossy(&out.stderr).contains("only what comes before can be replayed"), "{out:?}");
    std::fs::write(lab.path("none.log"), "fio version 2 iolog\n/d add\n/d open\n").unwrap();
    let out = lab.iolab(&["replay", "none.log", "--ioengine", "null"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("no transfer or sync"), "{out:?}");
}

#[test]
fn a_command_beside_a_run_ends_with_it() {
    let lab = Lab::new();
    let job = ["--name=a", "--ioengine=null", "--size=1m", "--runtime=500ms", "--time_based=1", "--rw=read"];
    let beside = "--beside=echo begun > begun; trap 'echo ended > ended; exit 0' TERM; while :; do sleep 0.05; done";
    let out = lab.iolab(&[&["run", beside, "--record=r.iolab"][..], &job[..]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(lab.path("begun").exists() && lab.path("ended").exists());
    let recording = std::fs::read_to_string(lab.path("r.iolab")).unwrap();
    assert!(recording.contains("ran as long as the run and was told to end, with status 0"), "{recording}");
    let out = lab.iolab(&[&["run", "--beside=exit 3"][..], &job[..]].concat());
    assert!(String::from_utf8_lossy(&out.stderr).contains("ended before the run did, with status 3"), "{out:?}");
}

#[test]
fn a_folder_that_is_missing_or_is_none_is_named_with_what_to_do() {
    let lab = Lab::new();
    std::fs::write(lab.path("two.trace"), two_threads(40)).unwrap();
    std::fs::write(lab.path("file"), "").unwrap();
    for (folder, said) in [
        (
            "missing/deep",
            "missing/deep/data/db/log: laying out: No such file or directory: there is no folder missing/deep: make it (mkdir -p missing/deep)",
        ),
        ("file", "file/data/db/log: laying out: Not a directory: file is not a folder"),
        ("file/below", "file/below/data/db/log: laying out: Not a directory: file is not a folder"),
    ] {
        let out = lab.iolab(&["replay", "two.trace", "--directory", folder, "--afap"]);
        let errors = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && errors.contains(said), "{folder}: {errors}");
    }
    assert!(!lab.path("missing").exists());
}
