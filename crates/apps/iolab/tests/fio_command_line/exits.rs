//! Exit codes and standard error: it is empty on success, and never empty on failure.

use crate::ONE;
use crate::drop_in::Folder;

#[test]
fn what_cannot_be_run_ends_with_one_and_says_why() {
    let folder = Folder::new();
    folder.write("one.fio", ONE);
    folder.write("unknown.fio", "[a]\nrw=read\nnosuch=1\nsize=1m\n");
    folder.write("value.fio", "[a]\nrw=sideways\nsize=1m\n");
    for (arguments, word) in [
        (&["--name=x", "--rw=randread", "--nosuch=1", "--size=1m"][..], "nosuch"),
        (&["--name=x", "--rw=rr", "--size=1m"], "rr"),
        (&["--name=x", "--rw=read", "--bs=8q", "--size=1m"], "8q"),
        (&["--name=x", "--ioengine=nosuch", "--rw=read", "--size=1m"], "nosuch"),
        (&["--name=x", "--rw=read", "--ioengine=null"], "size"),
        (&["unknown.fio"], "nosuch"),
        (&["value.fio"], "sideways"),
        (&["missing.fio"], "missing.fio"),
        (&["one.fio", "--output-format=xml"], "xml"),
        (&["one.fio", "--terse-version=9"], "9"),
        (&["one.fio", "--section=nosuch"], ""),
        (&["one.fio", "--output=no/such/folder/report"], "no/such/folder"),
        (&["one.fio", "--client=host"], "client"),
        (&[], "No job"),
    ] {
        let finished = folder.fio(arguments);
        assert_eq!(finished.code, 1, "{arguments:?}: {}", finished.err);
        assert!(!finished.err.is_empty() && finished.err.contains(word), "{arguments:?}: {}", finished.err);
        assert!(!finished.out.contains("IOPS="), "{arguments:?}");
    }
}

#[test]
fn readonly_refuses_every_write() {
    let folder = Folder::new();
    for rw in ["write", "randrw", "randtrim", "trimwrite"] {
        let finished = folder.fio(&["--readonly", "--name=x", &format!("--rw={rw}"), "--size=64k"]);
        assert_eq!(finished.code, 1, "{rw}");
        assert!(finished.err.contains("but --readonly is set"), "{}", finished.err);
        assert!(!folder.path("x.0.0").exists());
    }
    folder.good(&["--readonly", "--name=x", "--rw=read", "--ioengine=null", "--size=64k"]);
}

#[test]
fn the_exit_code_counts_failed_jobs() {
    let folder = Folder::new();
    // Every write to /dev/full fails with ENOSPC.
    let bad = |name: &str| format!("[{name}]\nfilename=/dev/full\nrw=write\nsize=64k\nioengine=psync\n");
    let good = "[good]\nrw=read\nioengine=null\nsize=64k\n";
    for (jobs, code) in
        [(vec![bad("a")], 1), (vec![bad("a"), good.to_owned(), bad("b")], 2), (vec![good.to_owned()], 0)]
    {
        folder.write("jobs.fio", &jobs.concat());
        let finished = folder.fio(&["jobs.fio", "--output-format=json", "--output=r.json"]);
        assert_eq!(finished.code, code, "{}", finished.err);
        assert_eq!(finished.err.is_empty(), code == 0, "{}", finished.err);
        let report: serde_json::Value = serde_json::from_str(&folder.read("r.json")).expect("a report all the same");
        let errors = report["jobs"].as_array().expect("jobs").iter().filter(|job| job["error"] != 0);
        assert_eq!(errors.count(), code as usize);
    }
}

#[test]
fn a_file_that_no_job_made_is_overwritten_where_it_is_named_with_one_line_about_it() {
    let folder = Folder::new();
    folder.write("precious", &"data ".repeat(20_000));
    let arguments = ["--name=x", "--rw=randwrite", "--size=64k", "--filename=precious", "--minimal"];
    let finished = folder.fio(&arguments);
    assert_eq!((finished.code, finished.err.lines().count()), (0, 1), "{}", finished.err);
    assert!(finished.err.starts_with("fio: warning: precious: the file holds 100000 bytes"), "{}", finished.err);
    // A file that a job made is overwritten without a warning.
    for _ in 0..2 {
        folder.good(&["--name=x", "--rw=randwrite", "--size=64k", "--filename=made", "--minimal"]);
    }
}
