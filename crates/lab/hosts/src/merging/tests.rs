//! Parts of real runs, merged.

use iolab_aggregate::{Latency, WholeRun, figures, hosts_figures};
use iolab_plan::Direction;

use super::*;

fn part(number: u32, ranks: u32, host: &str) -> PartOfRun {
    let text = include_str!("../../../../contract/recording/tests/corpus/1-5-observed.json");
    let mut recording = Recording::from_json(text).unwrap();
    recording.plan.rank = Some(Rank { number, ranks, host: host.to_owned() });
    recording.host.hostname = host.to_owned();
    PartOfRun { name: format!("{number}.iolab"), recording, notes: Vec::new() }
}

fn refused(parts: Vec<PartOfRun>) -> String {
    merge(parts).expect_err("parts that do not fit").message
}

#[test]
fn merged_counts_and_buckets_are_the_sums() {
    let parts = vec![part(2, 3, "b"), part(0, 3, "a"), part(1, 3, "a")];
    let one = parts[0].recording.clone();
    let all = merge(parts).unwrap();
    assert_eq!(Recording::from_json(&all.to_json()).unwrap(), all, "it is sound");
    let named: Vec<_> = all.hosts.iter().map(|host| (host.name.as_str(), host.rank)).collect();
    assert_eq!(named, [("a#0", Some(0)), ("a#1", Some(1)), ("b", Some(2))]);

    let every = Direction::ALL;
    for latency in [Latency::Total, Latency::Completion] {
        let of_one = WholeRun::new(&one).latencies(&every, latency);
        let mut samples = of_one.clone();
        samples.merge(&of_one);
        samples.merge(&of_one);
        let merged = WholeRun::new(&all).latencies(&every, latency);
        assert!(!merged.is_empty() && merged == samples, "{latency:?}");
    }
    let ios = |recording: &Recording| WholeRun::new(recording).throughput(&every).ios;
    assert_eq!(ios(&all), 3 * ios(&one));
    let shown = figures(&all);
    let sum = shown.all_hosts.expect("the sum of all ranks");
    assert_eq!(sum.directions.iter().map(|direction| direction.ios).sum::<u64>(), 3 * ios(&one));
    // The devices of a machine are there once, whatever number of ranks was on it.
    assert_eq!(all.devices.iter().map(|device| device.host).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn the_slow_host_is_named_and_the_time_of_all_is_told() {
    let mut parts = vec![part(0, 3, "a"), part(1, 3, "b"), part(2, 3, "c")];
    let second_ns = 1_000_000_000;
    parts[1].recording.started_unix_ns += second_ns / 4;
    // Half as fast: the same work in twice the time.
    for worker in &mut parts[2].recording.workers {
        worker.runtime_ns *= 2;
        worker.directions.iter_mut().for_each(|direction| direction.runtime_ns *= 2);
    }
    let all = merge(parts).unwrap();
    let beside = hosts_figures(&all).unwrap();
    assert_eq!((beside.slowest().host, beside.skew_ns), (2, second_ns / 4));
    assert_eq!(beside.fastest().host, 0);
    // Rates of 2, 2 and 1 have a mean of 5/3.
    assert!((beside.imbalance() - 0.6).abs() < 1e-9, "{}", beside.imbalance());
    let together = beside.together.expect("they ran at the same time");
    assert_eq!(together.start_ns - beside.whole.start_ns, second_ns / 4);
    assert!(together.length_ns < beside.whole.length_ns && together.ios_per_second > beside.whole.ios_per_second);
}

#[test]
fn the_distance_from_the_agreed_start_is_kept_and_the_farthest_is_told() {
    let mut parts = vec![part(0, 3, "a"), part(1, 3, "b"), part(2, 3, "c")];
    for (part, skew_ns) in parts.iter_mut().zip([Some(1_000), Some(-5_000), None]) {
        let started_ns = part.recording.started_unix_ns;
        part.recording.agreed_start_unix_ns = skew_ns.map(|skew_ns| started_ns.saturating_add_signed(-skew_ns));
        // The worker that begins first counts.
        part.recording.workers.iter_mut().for_each(|worker| worker.started_ns = 700);
    }
    let all = merge(parts).unwrap();
    assert_eq!(all.hosts.iter().map(|host| host.start_skew_ns).collect::<Vec<_>>(), [Some(1_700), Some(-4_300), None]);
    assert_eq!(iolab_aggregate::start_skew_ns(&all), Some(4_300));
    assert_eq!(Recording::from_json(&all.to_json()).unwrap(), all);
    assert_eq!(iolab_aggregate::start_skew_ns(&merge(vec![part(0, 2, "a"), part(1, 2, "b")]).unwrap()), None);
}

#[test]
fn hosts_that_never_ran_together_are_told_so() {
    let mut parts = vec![part(0, 2, "a"), part(1, 2, "b")];
    parts[1].recording.started_unix_ns += 3600 * 1_000_000_000;
    assert_eq!(hosts_figures(&merge(parts).unwrap()).unwrap().together, None);
}

#[test]
fn missing_ranks_and_early_ends_are_said() {
    let mut parts = vec![part(3, 5, "d"), part(1, 5, "b")];
    parts[0].notes.push("this run was killed".to_owned());
    let all = merge(parts).unwrap();
    let said = all.warnings.join("; ");
    for part in ["of 5 ranks, the recordings of 0, 2, 4 are missing", "d: this run was killed", "clocks"] {
        assert!(said.contains(part), "{said}");
    }
    let only = merge(vec![part(1, 2, "b")]).unwrap();
    assert_eq!(Recording::from_json(&only.to_json()).unwrap(), only);
}

#[test]
fn what_is_not_of_one_run_is_refused() {
    assert!(refused(Vec::new()).contains("nothing to merge"));
    assert!(refused(vec![part(0, 2, "a"), part(1, 3, "b")]).contains("not parts of one run"));
    assert!(refused(vec![part(1, 2, "a"), part(1, 2, "b")]).contains("both of rank 1"));
    let mut alone = part(0, 2, "a");
    alone.recording.plan.rank = None;
    assert!(refused(vec![part(0, 2, "b"), alone]).contains("not one of several ranks"));
    let merged = merge(vec![part(0, 2, "a"), part(1, 2, "b")]).unwrap();
    let again = PartOfRun { name: "all.iolab".to_owned(), recording: merged, notes: Vec::new() };
    assert!(refused(vec![again]).contains("already"));
}
