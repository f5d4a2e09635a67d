//! Iologs that jobs write: they list what was done, and fio and iolab can replay them.

use std::collections::BTreeMap;
use std::process::Command;

use crate::support::{Lab, skipped};
use serde_json::Value;

/// Two workers with two files each, with reads, writes and both kinds of syncs.
const JOB: &str = "[a]\nioengine=psync\nthread=1\nrw=randrw\nbs=4k\nsize=512k\nnrfiles=2\nnumjobs=2\nfsync=8\nwrite_iolog=ops.log\n\
[b]\nioengine=io_uring\niodepth=8\nrw=write\nbssplit=4k/50:16k/50\nsize=256k\nfdatasync=16\nrate_iops=2000\nwrite_iolog=ops.log\n";

/// How often each action occurs in the log.
fn actions(log: &str) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for line in log.lines().skip(1) {
        *counts.entry(line.split(' ').nth(2).unwrap()).or_default() += 1;
    }
    counts
}

/// Operations, bytes and syncs of all jobs of a report.
fn moved(report: &Value) -> [u64; 5] {
    let jobs = report["jobs"].as_array().unwrap();
    let sum = |of: &str, what: &str| jobs.iter().map(|job| job[of][what].as_u64().unwrap_or(0)).sum::<u64>();
    [
        sum("read", "total_ios"),
        sum("read", "io_bytes"),
        sum("write", "total_ios"),
        sum("write", "io_bytes"),
        sum("sync", "total_ios"),
    ]
}

#[test]
fn a_log_holds_what_was_done_in_the_order_of_time_and_is_replayed() {
    let lab = Lab::new();
    let done = lab.job(JOB).ended(0, "");
    let asked = moved(&done.json());
    assert!(asked.iter().all(|count| *count > 0), "{asked:?}");
    let log = std::fs::read_to_string(lab.path("ops.log")).unwrap();
    assert!(log.starts_with("fio version 3 iolog\n0 a.0.0 add\n0 a.0.0 open\n"), "{log:.200}");
    let counts = actions(&log);
    let syncs = counts["sync"] + counts["datasync"];
    assert_eq!([counts["read"], counts["write"], syncs], [asked[0], asked[2], asked[4]]);
    assert_eq!((counts["add"], counts["open"], counts["close"]), (5, 5, 5));
    let times: Vec<u64> = log.lines().skip(1).map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted() && *times.last().unwrap() > 0);
    // At 2000 operations a second, the last of at least 26 operations is sent after 12 ms.
    let of_b = log.lines().filter(|line| line.contains(" b.0.0 write ")).count() as u64;
    assert!(*times.last().unwrap() >= (of_b - 1) * 500, "{of_b} {times:?}");

    lab.run(["replay", "ops.log", "--in-place", "--afap", "--record", "again.iolab"]).ended(0, "");
    let words = ["--read_iolog=ops.log", "--replay_no_stall=1", "--output-format=json"];
    let again = lab.run(["run", "--name=x"].into_iter().chain(words)).ended(0, "");
    assert_eq!(moved(&again.json()), asked, "iolab");
    let Ok(fio) = Command::new("fio").arg("--name=x").args(words).current_dir(lab.path(".")).output() else {
        return skipped("fio is not installed");
    };
    let text = String::from_utf8_lossy(&fio.stdout);
    let report: Value = serde_json::from_str(&text[text.find("{\n").unwrap_or(0)..]).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&fio.stderr));
    });
    assert_eq!(moved(&report)[..4], asked[..4], "fio");
}

#[test]
fn a_log_is_replaced_only_by_a_log_and_not_together_with_verification() {
    let lab = Lab::new();
    lab.file("ops.log", "mine\n");
    let words = ["run", "--name=a", "--ioengine=null", "--rw=write", "--size=64k", "--write_iolog=ops.log"];
    lab.run(words).ended(3, "ops.log");
    assert_eq!(std::fs::read_to_string(lab.path("ops.log")).unwrap(), "mine\n");
    std::fs::remove_file(lab.path("ops.log")).unwrap();
    for _ in 0..2 {
        lab.run(words).ended(0, "");
        let log = std::fs::read_to_string(lab.path("ops.log")).unwrap();
        assert_eq!(actions(&log)["write"], 16, "{log}");
    }
    let verified = words.into_iter().chain(["--verify=md5"]);
    lab.run(verified).ended(2, "write_iolog does not work together with verify");
}
