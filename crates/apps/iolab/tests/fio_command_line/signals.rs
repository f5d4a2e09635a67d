//! Signals: SIGTERM and SIGINT promptly end a run with 128 and a complete report; SIGUSR1 and the
//! file `fio-dump-status` request a report of the run so far.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use crate::drop_in::Folder;

const JOB: [&str; 7] =
    ["--name=x", "--ioengine=null", "--rw=read", "--size=1m", "--rate=16m", "--time_based", "--write_iops_log=begun"];

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -{name}");
}

/// Waits until `done` returns true; gives up after much more time than it can need.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}: not within ten seconds");
}

/// Starts a run that would last a minute, and waits until it has begun: then its header is in the
/// report file.
fn begin(folder: &Folder, more: &[&str]) -> Child {
    let arguments = [&JOB[..], &["--output=report"], more].concat();
    let child = folder.command(&arguments).env("TMPDIR", folder.path("")).spawn().expect("fio starts");
    let report = folder.path("report");
    until("the report's header", || std::fs::read_to_string(&report).is_ok_and(|text| text.contains("Starting 1")));
    // Signals are handled from before the header on. The worker needs a moment to have something to
    // report.
    std::thread::sleep(Duration::from_millis(300));
    child
}

fn reports(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.matches("  read: IOPS=").count())
}

#[test]
fn a_run_that_is_told_to_end_reports_and_exits_with_128() {
    for name in ["TERM", "INT"] {
        let folder = Folder::new();
        let mut child = begin(&folder, &["--runtime=60", "--output-format=normal,json"]);
        signal(&child, name);
        let mut code = None;
        until(name, || {
            code = child.try_wait().expect("waitable").map(|status| status.code());
            code.is_some()
        });
        assert_eq!(code, Some(Some(128)), "SIG{name}");
        let text = folder.read("report");
        let document = &text[text.find("\n{").expect("JSON")..=text.rfind("\n}").expect("its end") + 1];
        let report: serde_json::Value = serde_json::from_str(document).expect("whole");
        assert!(report["jobs"][0]["read"]["io_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
        assert!(folder.path("begun_iops.1.log").exists(), "logs are kept");
    }
}

#[test]
fn a_report_of_the_run_so_far_comes_when_asked_for() {
    let folder = Folder::new();
    let mut child = begin(&folder, &["--runtime=60"]);
    let report = folder.path("report");
    signal(&child, "USR1");
    until("SIGUSR1", || reports(&report) == 1);
    let asking = folder.path("fio-dump-status");
    std::fs::write(&asking, "").expect("writable");
    until("fio-dump-status", || reports(&report) == 2);
    assert!(!asking.exists(), "it asks once");
    signal(&child, "TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(128));
    assert_eq!(reports(&report), 3);
}
