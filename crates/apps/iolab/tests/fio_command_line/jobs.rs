//! Sources of jobs: one or several files, standard input, sections, the environment.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::drop_in::Folder;
use crate::{ONE, TWO};

/// `(job, group, KiB)` of each terse line.
fn lines(text: &str) -> Vec<(String, String, String)> {
    let fields = text.lines().map(|line| line.split(';').map(str::to_owned).collect::<Vec<_>>());
    fields.map(|fields| (fields[2].clone(), fields[3].clone(), fields[5].clone())).collect()
}

fn names(text: &str) -> Vec<String> {
    lines(text).into_iter().map(|(name, _, _)| name).collect()
}

#[test]
fn several_files_run_one_after_the_other() {
    let folder = Folder::new();
    folder.write("first.fio", "[c]\nrw=read\nioengine=null\nsize=1m\nrate=4m\n");
    folder.write("two.fio", TWO);
    let text = folder.good(&["first.fio", "two.fio", "--output-format=json"]);
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let jobs = report["jobs"].as_array().expect("jobs");
    let groups: Vec<(&str, u64)> =
        jobs.iter().map(|job| (job["jobname"].as_str().unwrap_or(""), job["groupid"].as_u64().unwrap_or(99))).collect();
    assert_eq!(groups, [("c", 0), ("a", 1), ("b", 2)]);
    let starts: Vec<u64> = jobs.iter().map(|job| job["job_start"].as_u64().expect("a start")).collect();
    // At its rate, the first job needs a quarter of a second.
    assert!(starts[1] >= starts[0] + 200 && starts[2] >= starts[1], "{starts:?}");
}

#[test]
fn sections_are_chosen_by_name() {
    let folder = Folder::new();
    folder.write("two.fio", TWO);
    assert_eq!(names(&folder.good(&["two.fio", "--section=b", "--minimal"])), ["b"]);
    assert_eq!(names(&folder.good(&["--section=a", "--section=b", "two.fio", "--minimal"])), ["a", "b"]);
}

#[test]
fn standard_input_is_a_job_file() {
    let folder = Folder::new();
    let mut child =
        folder.command(&["-", "--minimal"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("fio starts");
    child.stdin.take().expect("a pipe").write_all(ONE.as_bytes()).expect("writable");
    let output = child.wait_with_output().expect("fio ends");
    assert!(output.status.success());
    assert_eq!(names(&String::from_utf8_lossy(&output.stdout)), ["c"]);
}

#[test]
fn job_files_read_the_environment() {
    let folder = Folder::new();
    folder
        .write("env.fio", "[j]\nrw=${RW}\nioengine=null\nsize=${SIZE}\nnumjobs=${JOBS}\ndescription=x${UNSET_HERE}y\n");
    let mut command = folder.command(&["env.fio", "--output-format=json"]);
    command.env("RW", "randwrite").env("SIZE", "128k").env("JOBS", "2").env_remove("UNSET_HERE");
    let output = command.output().expect("fio runs");
    assert!(output.status.success() && output.stderr.is_empty());
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let jobs = report["jobs"].as_array().expect("jobs");
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|job| job["write"]["io_bytes"] == 131_072 && job["desc"] == "xy"));
}

#[test]
fn command_line_and_file_go_together() {
    let folder = Folder::new();
    folder.write("one.fio", ONE);
    // Options before any `--name` apply to the jobs of files that do not set them.
    let all = lines(&folder.good(&["--bs=64k", "--size=4m", "one.fio", "--minimal"]));
    assert_eq!(all, [("c".to_owned(), "0".to_owned(), "1024".to_owned())]);
    let include = "[global]\ninclude one.inc\n[d]\nrw=read\n";
    folder.write("one.inc", "ioengine=null\nsize=256k\n");
    folder.write("including.fio", include);
    assert_eq!(lines(&folder.good(&["including.fio", "--minimal"]))[0].2, "256");
}

#[test]
fn folders_of_a_file_name_are_made() {
    let folder = Folder::new();
    folder.good(&["--name=j", "--rw=write", "--size=64k", "--filename=a/b/file", "--output=r.txt"]);
    assert_eq!(std::fs::metadata(folder.path("a/b/file")).map(|facts| facts.len()).ok(), Some(65536));
    let format = ["--filename_format=$jobname.$jobnum/$filenum", "--numjobs=2", "--nrfiles=2"];
    folder.good(&[&["--name=k", "--rw=randread", "--size=64k", "--output=r.txt"], &format[..]].concat());
    for file in ["k.0/0", "k.0/1", "k.1/0", "k.1/1"] {
        assert!(folder.path(file).is_file(), "{file}");
    }
}

#[test]
fn a_program_runs_as_long_as_its_job() {
    let folder = Folder::new();
    folder.write("beat.fio", "[beat]\nioengine=exec\nprogram=/bin/echo\narguments=%n for %r s\nruntime=90\n");
    folder.good(&["beat.fio"]);
    assert_eq!(folder.read("beat.stdout"), "beat for 90 s\n");
    assert_eq!(folder.read("beat.stderr"), "");
    // The job ends the program: without that, this run would take minutes.
    folder.good(&["--name=long", "--ioengine=exec", "--program=/bin/sleep", "--arguments=600", "--runtime=100ms"]);
    let none = folder.fio(&["--name=none", "--ioengine=exec", "--runtime=1"]);
    assert!(none.code == 1 && none.err.contains("exec needs a program"), "{}: {}", none.code, none.err);
}
