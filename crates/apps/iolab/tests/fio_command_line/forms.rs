//! Forms of options, and options that ask for information.

use crate::drop_in::Folder;
use crate::{ONE, TWO};

#[test]
fn every_spelling_runs_the_same_job() {
    let folder = Folder::new();
    for words in [
        &["--name=x", "--rw=randread", "--ioengine=null", "--size=1m", "--bs=8k", "--minimal"][..],
        &["--name", "x", "--rw", "randread", "--ioengine", "null", "--size", "1m", "--bs", "8k", "--minimal"],
        &["-name", "x", "-rw", "randread", "-ioengine", "null", "-size", "1m", "-bs", "8k", "-minimal"],
        &["-name=x", "-readwrite=randread", "-ioengine=null", "-size=1m", "-blocksize=8k", "-m"],
        &["--rw=randread", "--ioeng=null", "--name=x", "--size=1m", "--bs=8k", "--minim"],
        &["--rw=randread", "--size=1m", "--bs=8k", "--ioengine=null", "--name=x", "-F", "terse"],
        &["--name=global", "--rw=randread", "--bs=8k", "--name=x", "--ioengine=null", "--size=1m", "--minimal"],
    ] {
        let line = folder.good(words);
        let fields: Vec<&str> = line.split(';').collect();
        assert_eq!((fields[2], fields[4], fields[5]), ("x", "0", "1024"), "{words:?}");
    }
}

#[test]
fn versions_are_fios() {
    let folder = Folder::new();
    for form in ["--version", "-version", "-v"] {
        let text = folder.good(&[form]);
        let (major, minor) =
            text.trim_end().strip_prefix("fio-").and_then(|rest| rest.split_once('.')).expect("fio-M.m");
        assert!(major == "3" && minor.parse::<u32>().is_ok(), "{text}");
    }
}

#[test]
fn help_answers() {
    let folder = Folder::new();
    for (question, parts) in [
        (&["--cmdhelp=bs"][..], &["bs", "alias: blocksize", "default: 4096"][..]),
        (&["--cmdhelp"], &["filename", "iodepth", "zonemode", "verify"]),
        (&["--cmdhelp=zonemode"], &["zbd"]),
        (&["--enghelp"], &["Available IO engines:\n", "\tlibaio\n", "\tio_uring\n", "\tpsync\n"]),
        (&["--enghelp=io_uring"], &["sqthread_poll", "fixedbufs", "registerfiles", "hipri"]),
        (&["--enghelp=libaio,userspace_reap"], &["userspace_reap"]),
        (&["-ilibaio"], &["userspace_reap"]),
        (&["--help"], &["--output-format", "--status-interval", "--terse-version"]),
        (&["-h"], &["--output-format"]),
    ] {
        let text = folder.good(question);
        parts.iter().for_each(|part| assert!(text.contains(part), "{question:?}: no {part:?}"));
    }
    for (question, code) in [("--cmdhelp=nosuch", 0), ("--enghelp=nosuch", 1), ("--enghelp=null,nosuch", 1)] {
        let finished = folder.fio(&[question]);
        assert_eq!((finished.code, finished.out.as_str()), (code, ""), "{question}");
        assert!(finished.err.contains("nosuch"));
    }
}

#[test]
fn showcmd_and_parse_only_run_nothing() {
    let folder = Folder::new();
    folder.write("two.fio", &TWO.replace("ioengine=null\n", ""));
    assert_eq!(folder.good(&["--parse-only", "two.fio"]), "");
    let line = folder.good(&["--showcmd", "two.fio"]);
    for word in ["fio --name=a ", "--rw=randread", "--bs=4k", " --name=b ", "--stonewall", "--rw=randwrite"] {
        assert!(line.contains(word), "{line}: no {word}");
    }
    assert!(!folder.path("a.0.0").exists(), "no file was laid out");
    // The output is a valid command line.
    let words: Vec<&str> = line.split_whitespace().skip(1).chain(["--parse-only"]).collect();
    assert_eq!(folder.good(&words), "");
    folder.write("bad.fio", "[a]\nrw=randread\nnosuch=1\n");
    assert_eq!(folder.fio(&["--showcmd", "bad.fio"]).code, 1);
    assert_eq!(folder.fio(&["--parse-only", "bad.fio"]).code, 1);
    folder.write("one.fio", ONE);
    assert!(folder.good(&["--warnings-fatal", "--showcmd", "one.fio"]).contains("--name=c"));
}

#[test]
fn jobs_of_engines_that_are_absent_are_read_and_not_run() {
    let folder = Folder::new();
    let text = "[a]\nioengine=libpmem\nfilename=/nowhere/a\noffset=3t\nsize=1m\nrw=read\n";
    folder.write("absent.fio", text);
    let read = folder.fio(&["--parse-only", "absent.fio"]);
    assert_eq!(read.code, 0, "{}", read.err);
    assert!(read.err.contains("absent.fio:2") && read.err.contains("libpmem"), "{}", read.err);
    let run = folder.fio(&["absent.fio"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("fio has the I/O engine `libpmem`, iolab does not"), "{}", run.err);
    folder.write("unknown.fio", &text.replace("libpmem", "nosuch"));
    assert_eq!(folder.fio(&["--parse-only", "unknown.fio"]).code, 1, "fio has none, either");
}

#[test]
fn options_of_little_meaning_here_are_accepted() {
    let folder = Folder::new();
    folder.write("one.fio", ONE);
    folder.good(&["--max-jobs=100", "--alloc-size=65536", "--eta-newline=1", "--aux-path=.", "one.fio"]);
}

#[test]
fn what_is_not_done_is_said_or_refused() {
    let folder = Folder::new();
    folder.write("one.fio", ONE);
    let finished = folder.fio(&["--minimal", "--latency-log=l", "one.fio"]);
    assert_eq!((finished.code, finished.out.is_empty()), (0, false), "{}", finished.err);
    assert!(
        finished.err.contains("has no effect") && finished.err.contains("write_lat_log=PREFIX"),
        "{}",
        finished.err
    );
    for (option, said) in
        [("--trigger-remote=true", "is not supported yet"), ("--merge-blktrace-only", "nothing to merge")]
    {
        let finished = folder.fio(&[option, "one.fio"]);
        assert_eq!((finished.code, finished.out.as_str()), (1, ""), "{option}");
        assert!(finished.err.contains(said), "{}", finished.err);
    }
    let refused = folder.fio(&["--steady=auto", "one.fio"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("--steady is for studies"), "{}", refused.err);
}

#[test]
fn scripts_may_ask_without_jobs_and_without_files() {
    let folder = Folder::new();
    folder.write("empty.fio", "");
    folder.write("global.fio", "[global]\nbs=4k\n");
    folder.write("missing.fio", "[a]\nfilename=/dev/nosuch\nrw=read\nsize=1m\n[b]\nrw=write\nopendir=/nosuch\n");
    for words in [
        &["--parse-only"][..],
        &["--parse-only", "empty.fio"],
        &["--parse-only", "global.fio"],
        &["--parse-only", "missing.fio"],
        &["--parse-only", "--max-jobs=0"],
    ] {
        let finished = folder.fio(words);
        assert_eq!((finished.code, finished.out.as_str(), finished.err.as_str()), (0, "", ""), "{words:?}");
    }
    for words in [&["empty.fio"][..], &["global.fio"]] {
        let finished = folder.fio(words);
        assert!(finished.code == 1 && finished.err.starts_with("No job(s) defined"), "{words:?}: {}", finished.err);
    }
    assert_eq!(folder.fio(&["--cmdhelp=unknown"]).code, 0);
    assert_eq!(folder.fio(&["--enghelp=unknown"]).code, 1);
    assert_eq!(folder.fio(&["--crctest=unknown"]).code, 1);
    assert!(folder.fio(&["--crctest=crc32c,md5"]).out.contains("MiB/sec"));
    folder.write("one.fio", ONE);
    for (words, said) in [
        (["--minimal", "--max-jobs=0", "one.fio"], ""),
        (["--minimal", "--debug=unknown", "one.fio"], "fio: debug mask unknown not found\n"),
    ] {
        let finished = folder.fio(&words);
        assert_eq!((finished.code, finished.err.as_str()), (0, said), "{words:?}");
    }
}

#[test]
fn a_trigger_ends_the_jobs_and_runs_its_command() {
    let folder = Folder::new();
    folder.write("endless.fio", "[a]\nioengine=null\nsize=1g\ntime_based\nruntime=600\n");
    let finished = folder.fio(&["--minimal", "--trigger-timeout=1", "--trigger=echo fired >fired", "endless.fio"]);
    assert_eq!((finished.code, finished.err.as_str()), (0, ""));
    assert_eq!(folder.read("fired"), "fired\n");
}
