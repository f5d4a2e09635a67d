//! Recordings of real runs, put together as those of several hosts.

use iolab_aggregate::{Latency, WholeRun, figures};
use iolab_plan::Direction;

use super::*;

fn recording(text: &str) -> Recording {
    Recording::from_json(text).unwrap()
}

fn host(name: &str, offset_ns: i64, recording: Recording) -> Gathered {
    let clock = ClockOffset { offset_ns, error_ns: 100 };
    Gathered { name: name.to_owned(), port: Some(8765), clock, clock_drift_ns: None, recording, lost: None }
}

fn observed() -> Recording {
    recording(include_str!("../../../../contract/recording/tests/corpus/1-5-observed.json"))
}

fn paced() -> Recording {
    recording(include_str!("../../../../contract/recording/tests/corpus/1-3-paced.json"))
}

/// What is read again is what was written, and passes every check of a recording.
fn is_sound(recording: &Recording) {
    assert_eq!(&Recording::from_json(&recording.to_json()).unwrap(), recording);
}

#[test]
fn counts_are_added_and_histograms_merged() {
    let (one, other) = (observed(), paced());
    let all = recording_of(vec![host("a", 0, one.clone()), host("b", 0, other.clone())]);
    is_sound(&all);
    assert_eq!(all.workers.len(), one.workers.len() + other.workers.len());
    assert!(all.plan.workers.iter().enumerate().all(|(at, worker)| worker.number as usize == at));
    assert_eq!(all.plan.workers.iter().filter(|worker| worker.host == 1).count(), other.workers.len());

    let every = Direction::ALL;
    for latency in [Latency::Total, Latency::Completion] {
        let mut merged = WholeRun::new(&one).latencies(&every, latency);
        merged.merge(&WholeRun::new(&other).latencies(&every, latency));
        let whole = WholeRun::new(&all).latencies(&every, latency);
        assert!(!whole.is_empty() && whole == merged, "{latency:?}");
    }
    let shown = figures(&all);
    let sum = shown.all_hosts.expect("the sum of all");
    let ios: u64 = shown.jobs.iter().flat_map(|job| &job.directions).map(|direction| direction.ios).sum();
    assert_eq!(sum.directions.iter().map(|direction| direction.ios).sum::<u64>(), ios);
    assert_eq!(sum.hosts, ["a", "b"]);
    assert!(shown.jobs.iter().all(|job| job.hosts.len() == 1), "each host by itself");
}

#[test]
fn devices_and_logs_name_their_host() {
    let mut one = observed();
    one.plan.workers[0].logs.bandwidth = Some("p".to_owned());
    one.plan.workers[0].logs.per_job = true;
    let all = recording_of(vec![host("a", 0, one.clone()), host("sock:/b", 0, one.clone())]);
    assert_eq!(all.devices.len(), 2 * one.devices.len());
    assert!(all.devices[one.devices.len()..].iter().all(|device| device.host == 1));
    let second = one.workers.len();
    assert_eq!(all.plan.workers[second].logs.client, Some(ClientLogPlan { host: "sock:/b".to_owned(), worker: 0 }));
}

#[test]
fn clocks_are_those_against_the_first_host() {
    let (mut one, mut other) = (observed(), observed());
    one.started_unix_ns = 1_000_000_000;
    other.started_unix_ns = 1_000_005_700;
    // The clock of b is 5 us ahead of that of a: it began 700 ns later.
    let all = recording_of(vec![host("a", -1000, one), host("b", 4000, other)]);
    is_sound(&all);
    assert_eq!((all.hosts[0].clock_offset_ns, all.hosts[0].clock_error_ns), (0, 0));
    assert_eq!((all.hosts[1].clock_offset_ns, all.hosts[1].clock_error_ns), (-5000, 200));
    assert_eq!((all.hosts[0].began_late_ns, all.hosts[1].began_late_ns), (0, 700));
}

#[test]
fn a_host_that_is_lost_has_failed_and_takes_no_other_with_it() {
    let one = observed();
    let planned =
        Recording { workers: Vec::new(), elapsed_ns: 0, devices: Vec::new(), observations: None, ..observed() };
    let lost = Gathered { lost: Some("the server was killed".to_owned()), ..host("b", 0, planned) };
    let all = recording_of(vec![host("a", 0, one.clone()), lost]);
    is_sound(&all);
    let (alive, dead) = all.workers.split_at(one.workers.len());
    assert!(alive.iter().all(|worker| !worker.has_failed()));
    assert!(dead.iter().all(WorkerRecording::has_failed) && !dead.is_empty());
    assert!(dead[0].outcome.reason().contains("host b: the server was killed"));
    assert!(all.warnings.iter().any(|warning| warning.contains("host b")));
}

#[test]
fn one_host_is_named_too() {
    let all = recording_of(vec![host("a", 0, observed())]);
    is_sound(&all);
    assert!(all.is_of_servers() && !all.has_several_hosts());
    let shown = figures(&all);
    assert!(shown.all_hosts.is_none() && shown.jobs[0].hosts == ["a"]);
}

#[test]
fn sections_of_different_hosts_do_not_mix() {
    let plan = observed().plan;
    let all = plan_of([("a", &plan), ("b", &plan)]);
    let mut sections: Vec<u32> = all.workers.iter().map(|worker| worker.section).collect();
    let of_one = plan.workers.iter().map(|worker| worker.section).collect::<std::collections::BTreeSet<_>>().len();
    sections.sort_unstable();
    sections.dedup();
    assert_eq!(sections.len(), 2 * of_one);
    assert_eq!(all.sources.len(), plan.sources.len(), "a job file of both is there once");
}

#[test]
fn a_run_whose_process_died_was_interrupted_by_nobody() {
    for interrupted in [false, true] {
        let mut lost = host("a", 0, observed());
        lost.recording.interrupted = true;
        lost.lost = Some("killed".to_owned());
        let mut other = host("b", 0, observed());
        other.recording.interrupted = interrupted;
        assert_eq!(recording_of(vec![lost, other]).interrupted, interrupted);
    }
}
