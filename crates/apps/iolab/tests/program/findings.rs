//! Findings where users see them: before iolab's own report and in its recording, never in fio's
//! output; and what `explain` says about a run.

use crate::support::Lab;
use iolab_recording::Severity;

/// Reads a small file many times through the page cache, which is not invalidated.
const CACHED: [&str; 7] =
    ["--name=a", "--rw=read", "--bs=64k", "--size=8m", "--loops=64", "--filename=small", "--invalidate=0"];

#[test]
fn memory_measured_as_a_device_is_told_first() {
    let lab = Lab::new();
    let done = lab.run(["run", "--record=it.iolab"].iter().chain(&CACHED)).ended(0, "");
    let recording = lab.recording();
    let first = &recording.findings[0];
    // If the folder has no device of its own (overlay, tmpfs), there are no counters for
    // comparison.
    let expected = if recording.devices.is_empty() { "fits-in-memory" } else { "page-cache" };
    assert_eq!(first.rule, expected, "{:?}", recording.findings);
    assert!(recording.devices.is_empty() || first.severity == Severity::Invalid, "{first:?}");
    let told = done.printed().find(&format!("[{expected}]")).expect("told");
    assert!(told < done.printed().find("read: IOPS=").expect("a report"), "{}", done.printed());

    let again = lab.run(["report", "it.iolab"]).ended(0, "");
    assert!(again.printed().contains(&format!("[{expected}]")), "{}", again.printed());
    let explained = lab.run(["explain", "it.iolab"]).ended(0, "");
    assert!(explained.printed().starts_with("a: RAM"), "{}", explained.printed());
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

/// A study that compares a file with a device in the memory of the program.
const TWO_STORAGES: &str = r#"
title = "Interfaces"
blocks = 3
figures = ["iops"]
job_text = """
[load]
rw=randread
bs=4k
size=1m
thread=1
number_ios=64
norandommap=1
"""

[[axis]]
name = "interface"
point = [
    { name = "psync", set = { ioengine = "psync", filename = "it.data" } },
    { name = "sync", set = { ioengine = "sync", filename = "it.data" } },
    { name = "driver", set = { ioengine = "nvme", filename = "trtype=VIRT model=ideal size=16M ns=1" } },
]
"#;

#[test]
fn configurations_on_different_storage_are_told_first_everywhere() {
    let lab = Lab::new();
    lab.file("it.toml", TWO_STORAGES);
    let done = lab.run(["study", "run", "it.toml", "--folder", "it"]).ended(0, "");
    let shown = lab.run(["study", "show", "it"]).ended(0, "");
    for printed in [done.printed(), shown.printed()] {
        let told = printed.find("INVALID [different-targets]: interface=psync, sync: ").expect(printed.as_str());
        let answer = printed.find("(iops); but see different-targets").expect(printed.as_str());
        assert!(told < answer, "{printed}");
        assert!(printed.contains("trtype=VIRT model=ideal"), "{printed}");
    }
    let explained = lab.run(["explain", "it"]).ended(0, "");
    assert!(explained.printed().contains("varying interface:\n"), "{}", explained.printed());
    lab.run(["report", "it", "-o", "it.html"]).ended(0, "");
    let page = std::fs::read_to_string(lab.path("it.html")).unwrap();
    let told = page.find("different-targets</code>").expect("told");
    assert!(told < page.find("Conclusions").expect("conclusions"), "the finding stands before what came out");

    // Two runs as the two sides of a comparison. There is no finding if both use one file.
    let job = ["--name=load", "--rw=randread", "--size=1m", "--number_ios=64", "--thread"];
    let run = |record: &str, own: [&str; 2]| lab.run(["run", record].iter().chain(&job).chain(&own)).ended(0, "");
    run("--record=file.iolab", ["--filename=it.data", "--ioengine=psync"]);
    run("--record=same.iolab", ["--filename=it.data", "--ioengine=libaio"]);
    run("--record=memory.iolab", ["--filename=trtype=VIRT model=ideal size=16M ns=1", "--ioengine=nvme"]);
    let compared = lab.run(["compare", "file.iolab", "memory.iolab"]);
    assert!(compared.printed().starts_with("INVALID [different-targets]: baseline ("), "{}", compared.printed());
    lab.run(["compare", "file.iolab", "memory.iolab", "-o", "compared.html"]);
    let page = std::fs::read_to_string(lab.path("compared.html")).unwrap();
    assert!(
        page.find("different-targets</code>") < page.find("Conclusions") && page.contains("different-targets</code>")
    );
    let alike = lab.run(["compare", "file.iolab", "same.iolab"]);
    assert!(!alike.printed().contains("different-targets"), "{}", alike.printed());
}

#[test]
fn findings_engines_and_verdicts_are_explained() {
    let lab = Lab::new();
    for (term, words) in [
        ("page-cache", "Checks: "),
        ("different-targets", "What to do: "),
        ("psync", "Engine psync: "),
        ("undecided", "Verdict undecided: "),
        ("iodepth", "iodepth"),
    ] {
        let done = lab.run(["explain", term]).ended(0, "");
        assert!(done.printed().contains(words), "{term}: {}", done.printed());
    }
    lab.run(["explain", "nothing-of-this-name"]).ended(2, "unknown term");
}
