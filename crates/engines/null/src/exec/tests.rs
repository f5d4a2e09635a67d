//! Programs are started, looked at, ended; their output is kept, and nothing else is overwritten.

use std::path::Path;

use iolab_engine::conformance::{ConformanceSetup, Value};
use iolab_engine::{OpKind, PoolView, Wait};

use super::*;

fn shell(folder: &Path, script: &str) -> ConformanceSetup {
    let file = folder.join("script");
    std::fs::write(&file, script).unwrap();
    ConformanceSetup::default()
        .option("program", Value::Text("/bin/sh".to_owned()))
        .option("arguments", Value::Text(file.display().to_string()))
        .option("grace_time", Value::Integer(5))
        .option("std_prefix", Value::Text(folder.join("job").display().to_string()))
}

fn sleeping() -> ConformanceSetup {
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let setup = shell(folder.path(), "exec sleep 60").depths(&[1]);
    ConformanceSetup { keeps: Some(folder), ..setup }
}

iolab_engine::conformance_suite!(conformance, Exec, super::sleeping());

fn open(setup: &ConformanceSetup) -> Result<ExecLane, OpenError> {
    let options = &setup.options;
    Exec::open(&LaneRequest {
        files: &[],
        depth: 1,
        buffers: PoolView::EMPTY,
        options,
        direct: false,
        seed: 0,
        worker: 0,
    })
}

/// The result of one operation.
fn step(lane: &mut ExecLane) -> i32 {
    let op = Op { offset: 0, length: 512, buffer_offset: 0, file: 0, slot: 0, kind: OpKind::Read, priority: 0 };
    let mut out = Completions::with_room(1);
    match lane.submit(&op) {
        Submission::Accepted => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(lane.reap(Wait::POLL, &mut out), Ok(1));
    out.as_slice()[0].result
}

#[test]
fn the_end_of_the_program_is_the_end_of_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let mut lane = open(&shell(folder.path(), "echo out; echo error >&2; exit 3")).unwrap();
    assert_eq!(step(&mut lane), 512, "the first operation starts it");
    while step(&mut lane) > 0 {}
    assert_eq!(step(&mut lane), 0, "it stays ended");
    assert!(lane.notes()[0].contains("exit status: 3"), "{:?}", lane.notes());
    drop(lane);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!((read("job.stdout").as_str(), read("job.stderr").as_str()), ("out\n", "error\n"));
}

#[test]
fn the_end_of_the_job_is_the_end_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'echo told; exit 0' TERM; echo started; while :; do sleep 0.01; done";
    let mut lane = open(&shell(folder.path(), script)).unwrap();
    let output = folder.path().join("job.stdout");
    while std::fs::read_to_string(&output).unwrap().is_empty() {
        assert_eq!(step(&mut lane), 512);
    }
    drop(lane);
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "started\ntold\n");
}

#[test]
fn a_program_that_ignores_the_request_is_killed_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; sleep 600 & echo $$ $!; wait; sleep 600";
    let mut lane = open(&shell(folder.path(), script).option("grace_time", Value::Integer(0))).unwrap();
    let output = folder.path().join("job.stdout");
    while !std::fs::read_to_string(&output).unwrap().ends_with('\n') {
        assert_eq!(step(&mut lane), 512);
    }
    let numbers = std::fs::read_to_string(&output).unwrap();
    drop(lane);
    // A killed process whose parent has not yet asked for it is a zombie.
    let runs = |number: &str| {
        let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    for number in numbers.split_whitespace() {
        while runs(number) {
            std::thread::yield_now();
        }
    }
}

#[test]
fn output_replaces_only_what_a_program_of_exec_has_printed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = shell(folder.path(), "echo new");
    std::fs::write(folder.path().join("job.stderr"), "precious").unwrap();
    let error = open(&setup).unwrap_err();
    assert!(error.is_refusal() && error.message.contains("job.stderr exists"), "{}", error.message);
    assert_eq!(std::fs::read_to_string(folder.path().join("job.stderr")).unwrap(), "precious");
    std::fs::remove_file(folder.path().join("job.stderr")).unwrap();
    let marks = mark_works(folder.path());
    for _ in 0..if marks { 2 } else { 1 } {
        let mut lane = open(&setup).unwrap();
        while step(&mut lane) > 0 {}
        assert_eq!(std::fs::read_to_string(folder.path().join("job.stdout")).unwrap(), "new\n");
    }
}

fn mark_works(folder: &Path) -> bool {
    iolab_guard::mark_layout(std::fs::File::create(folder.join("probe")).unwrap()).unwrap()
}

#[test]
fn what_cannot_be_started_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let message = open(&ConformanceSetup::default()).unwrap_err().message;
    assert!(message.contains("exec needs a program"), "{message}");
    let setup = shell(folder.path(), "").option("program", Value::Text("/no/such/program".to_owned()));
    let mut lane = open(&setup).unwrap();
    let op = Op { offset: 0, length: 512, buffer_offset: 0, file: 0, slot: 0, kind: OpKind::Read, priority: 0 };
    assert_eq!(lane.submit(&op), Submission::Refused(libc::ENOENT));
    assert!(lane.notes()[0].contains("/no/such/program"), "{:?}", lane.notes());
}
