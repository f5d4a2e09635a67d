//! Findings where users meet them: before iolab's own report and in its recording, never in fio's
//! output; and what `explain` makes of a run.

mod support;

use iolab_recording::Severity;
use support::Lab;

/// Reads of a file that is small and read many times, through the page cache.
const CACHED: [&str; 6] = ["--name=a", "--rw=read", "--bs=64k", "--size=8m", "--loops=64", "--filename=small"];

#[test]
fn memory_measured_as_a_device_is_told_first() {
    let lab = Lab::new();
    let done = lab.run(["run", "--record=it.iolab"].iter().chain(&CACHED)).ended(0, "");
    let recording = lab.recording();
    let first = &recording.findings[0];
    // Where the folder has no device of its own (overlay, tmpfs), there are no counters to tell by.
    let expected = if recording.devices.is_empty() { "fits-in-memory" } else { "page-cache" };
    assert_eq!(first.rule, expected, "{:?}", recording.findings);
    assert!(recording.devices.is_empty() || first.severity == Severity::Invalid, "{first:?}");
    let told = done.printed().find(&format!("[{expected}]")).expect("told");
    assert!(told < done.printed().find("read: IOPS=").expect("a report"), "{}", done.printed());

    let again = lab.run(["report", "it.iolab"]).ended(0, "");
    assert!(again.printed().contains(&format!("[{expected}]")), "{}", again.printed());
    let explained = lab.run(["explain", "it.iolab"]).ended(0, "");
    assert!(explained.printed().starts_with("a: memory"), "{}", explained.printed());
    assert!(explained.printed().contains("--direct=1"), "{}", explained.printed());
}

#[test]
fn reports_for_programs_and_for_fios_users_have_none() {
    let lab = Lab::new();
    for format in ["json", "terse"] {
        let format = format!("--output-format={format}");
        let done = lab.run(["run", &format].into_iter().chain(CACHED)).ended(0, "");
        assert!(
            !done.printed().contains("page-cache]") && !done.printed().contains("in-memory]"),
            "{}",
            done.printed()
        );
    }
}

#[test]
fn a_run_of_the_null_engine_is_explained_as_such() {
    let lab = Lab::new();
    lab.run(["run", "--record=it.iolab", "--name=n", "--ioengine=null", "--size=64m"]).ended(0, "");
    let explained = lab.run(["explain", "it.iolab"]).ended(0, "");
    assert!(explained.printed().starts_with("n: iolab itself"), "{}", explained.printed());
    let missing = lab.run(["explain", "./nothing.iolab"]);
    assert!(missing.ended(2, "nothing.iolab").printed().is_empty());
}
