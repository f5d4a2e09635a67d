//! Recordings of programs that iolab did not write: the counts, and that everything that reads
//! recordings can read them.

use iolab_recording::partial::Partial;
use iolab_recording::{Recording, WorkerOutcome};

use crate::support::{Lab, PATIENCE_NS, now_ns, read_recording};

/// A process that the shell waits for writes and syncs this much, in calls of this size.
const CALLS: u64 = 32;
const CALL_BYTES: u64 = 65_536;

fn writer(file: &str) -> String {
    format!("dd if=/dev/zero of={file} bs={CALL_BYTES} count={CALLS} conv=fsync status=none")
}

/// Waits until the recorder has taken its first sample, so that what follows is counted.
fn wait_for_a_look(lab: &Lab) {
    let until_ns = now_ns() + PATIENCE_NS;
    let has_looked = || {
        let bytes = std::fs::read(lab.path("it.iolab.partial")).unwrap_or_default();
        Partial::read(&bytes).is_ok_and(|partial| partial.into_recording().observations.is_some())
    };
    while !has_looked() {
        assert!(now_ns() < until_ns, "the recorder never looked");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn written(recording: &Recording) -> (u64, u64) {
    let write = &recording.workers[0].directions[1];
    (write.ios, write.bytes)
}

#[test]
fn a_command_and_its_children_are_counted_to_the_byte_and_its_code_is_passed_on() {
    let lab = Lab::new();
    // The shell waits for one writer; the other one is an orphan that ends before the command.
    let line =
        format!("{}; ({} &); while [ ! -s two ]; do sleep 0.01; done; sleep 0.3; exit 3", writer("one"), writer("two"));
    let done = lab.run(["watch", "--record", "it.iolab", "0.05", "--", "sh", "-c", &line]);
    assert_eq!(done.code(), 3, "{}", done.errors());
    let recording = lab.recording();
    let (ios, bytes) = written(&recording);
    assert_eq!((ios, bytes), (2 * CALLS, 2 * CALLS * CALL_BYTES), "{}", done.errors());
    let worker = &recording.workers[0];
    assert_eq!(recording.plan.workers[0].job, "sh");
    assert_eq!(worker.intervals.iter().map(|interval| interval.bytes[1]).sum::<u64>(), bytes);
    assert!(worker.intervals.len() > 1 && worker.intervals.last().unwrap().start_ns > 0);
    assert_eq!(worker.outcome, WorkerOutcome::Finished);
    assert!(worker.notes.iter().any(|note| note.contains("exited with code 3")), "{:?}", worker.notes);
    assert!(recording.observations.is_some_and(|seen| seen.host.len() > 1));
    assert!(!lab.path("it.iolab.partial").exists());
}

#[test]
fn everything_that_reads_recordings_reads_one_of_a_program() {
    let lab = Lab::new();
    for file in ["one.iolab", "two.iolab"] {
        let line = format!("{}; sleep 0.2", writer("out"));
        assert_eq!(lab.run(["watch", "--record", file, "0.05", "--", "sh", "-c", &line]).code(), 0);
    }
    let database = [("IOLAB_DB", lab.path("runs.db"))];
    for (words, said) in [
        (&["report", "one.iolab"][..], "ioengine=program"),
        (&["report", "one.iolab", "--output-format=json"], "\"jobname\" : \"sh\""),
        (&["report", "--watch", "one.iolab"], "app w/s"),
        (&["report", "one.iolab", "-o", "page.html"], ""),
        (&["compare", "one.iolab", "two.iolab"], "write.bandwidth"),
        (&["explain", "one.iolab"], "sh:"),
        (&["db", "import", "one.iolab"], ""),
        (&["db", "list"], "sh"),
    ] {
        let done = lab.run_with(words, &database);
        assert!(done.code() == 0 && done.printed().contains(said), "{words:?}: {}{}", done.printed(), done.errors());
        for wrong in ["INVALID", "bug in iolab", "NaN", "-0.0"] {
            assert!(!done.printed().contains(wrong), "{words:?}: {}", done.printed());
        }
    }
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("sh") && !page.contains("NaN"));
}

#[test]
fn a_process_that_runs_already_is_counted_from_then_on() {
    let lab = Lab::new();
    let pause = |name: &str| format!("while [ ! -e {name} ]; do sleep 0.01; done");
    let (before, after) = (writer("before"), writer("after"));
    let line = format!("{before}; : >ready; {}; {after}; : >ready2; {}; :", pause("go"), pause("end"));
    let program = lab.start_shell(&line);
    program.until(|_| lab.path("ready").exists());
    let recorder = lab.start(["watch", "--record", "it.iolab", "--pid", &program.id().to_string(), "0.05"]);
    wait_for_a_look(&lab);
    lab.file("go", "");
    program.until(|_| lab.path("ready2").exists());
    lab.file("end", "");
    // Nobody has waited for the program yet, so its last counters can still be read.
    let done = recorder.finish();
    assert_eq!(done.code(), 0, "{}", done.errors());
    assert_eq!(written(&lab.recording()), (CALLS, CALLS * CALL_BYTES));
    assert_eq!(program.finish().code(), 0);
}

#[test]
fn the_time_ends_a_recording_and_the_process_goes_on() {
    let lab = Lab::new();
    let program = lab.start_shell("while [ ! -e go ]; do sleep 0.01; done");
    let id = program.id().to_string();
    let done = lab.run(["watch", "--record", "it.iolab", "-p", &id, "--for", "200ms", "0.05"]);
    assert_eq!(done.code(), 0, "{}", done.errors());
    let notes = &lab.recording().workers[0].notes;
    assert!(notes.iter().any(|note| note == "it went on when the recording ended"), "{notes:?}");
    lab.file("go", "");
    assert_eq!(program.finish().code(), 0);
}

#[test]
fn a_signal_ends_the_command_and_keeps_what_there_is() {
    let lab = Lab::new();
    // The command has its own session, so that no terminal interrupts it, too.
    let recorder = lab
        .start_shell(&format!("exec setsid {} watch --record it.iolab 0.05 -- sleep 60", env!("CARGO_BIN_EXE_iolab")));
    wait_for_a_look(&lab);
    recorder.signal(2);
    let done = recorder.finish();
    assert_eq!(done.code(), 128 + 2, "{}", done.errors());
    let recording = read_recording(&lab.path("it.iolab"));
    assert!(recording.interrupted);
    assert!(matches!(recording.workers[0].outcome, WorkerOutcome::Crashed { signal: 2, .. }));
}

#[test]
fn what_cannot_be_watched_is_said() {
    let lab = Lab::new();
    for (words, said) in [
        (&["watch", "--record", "it.iolab", "--", "no-such-program"][..], "no-such-program: it cannot be started"),
        (&["watch", "--record", "it.iolab"], "--pid PID"),
        (&["watch", "--record", "it.iolab", "--pid", "2147483646"], "process 2147483646 cannot be watched"),
        (&["watch", "--record", "it.iolab", "nowhere9", "--", "true"], "not a block device of this machine"),
        (&["watch", "--", "true"], "--record"),
    ] {
        let done = lab.run(words);
        assert!(done.code() == 2 && done.errors().contains(said), "{words:?}: {} {}", done.code(), done.errors());
        assert!(!lab.path("it.iolab").exists() && !lab.path("it.iolab.partial").exists(), "{words:?}");
    }
}
