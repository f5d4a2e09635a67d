//! What the rules about networks and layers must not conclude.

use iolab_findings::find;
use iolab_recording::Recording;

use super::{network, of_layer, recording, rules_of};

/// What cannot be known is not concluded: of short jobs the last counts are missing, and of
/// connections that come and go some are never seen.
#[test]
fn too_few_samples_of_connections_are_no_cache() {
    let is_cached = |recording: &Recording| rules_of(recording).iter().any(|rule| rule == "client-cache");
    let cached = recording("rbd-cached-read");
    assert!(is_cached(&cached));
    let mut short = cached.clone();
    short.workers[0].runtime_ns = 9 * short.observations.as_ref().expect("observed").interval_ns;
    assert!(!is_cached(&short));
    let mut replaced = cached.clone();
    network(&mut replaced).peers[0].samples.last_mut().expect("samples").opened += 1;
    network(&mut replaced).links[0].samples.last_mut().expect("samples").received_bytes += 1 << 30;
    assert!(!is_cached(&replaced));
    // Not even all links together carried what was read.
    network(&mut replaced).links[0].samples.last_mut().expect("samples").received_bytes -= 1 << 30;
    assert!(is_cached(&replaced));
    // Beside another engine that has no connections, their bytes are not those of all jobs.
    let mut mixed = cached;
    let (mut plan, mut worker) = (mixed.plan.workers[0].clone(), mixed.workers[0].clone());
    (plan.number, worker.number, plan.section) = (1, 1, 1);
    plan.engine.name = "nvme".to_owned();
    mixed.plan.workers.push(plan);
    mixed.workers.push(worker);
    assert!(!is_cached(&mixed));
}

/// A loop of stages connects anew for each; that is no lost connection.
#[test]
fn connections_of_later_stages_are_not_reconnections() {
    let mut stages = recording("reconnected");
    let (mut plan, mut worker) = (stages.plan.workers[0].clone(), stages.workers[0].clone());
    (plan.number, worker.number, plan.section, plan.stage) = (1, 1, 1, 1);
    stages.plan.workers.push(plan);
    stages.workers.push(worker);
    assert!(!rules_of(&stages).iter().any(|rule| rule == "reconnected"));
}

/// A journal closes the write hole, so that only the reads are told of.
#[test]
fn the_write_hole_is_told_of_arrays_without_a_journal() {
    let consequence = |policy: &str| {
        let mut raid = recording("raid5-small");
        of_layer(&mut raid, &[("md/consistency_policy", policy)]);
        let findings = find(&raid);
        findings.into_iter().find(|finding| finding.rule == "read-modify-write").expect("it reads").consequence
    };
    assert!(consequence("resync").contains("write hole"), "{}", consequence("resync"));
    assert!(!consequence("ppl").contains("write hole"), "{}", consequence("ppl"));
}

/// Data also waits in sockets where the server takes none; then the network is not to blame.
#[test]
fn a_closed_window_is_the_servers() {
    let closed = |share_percent: u64| {
        let mut narrow = recording("narrow-nbd");
        let samples = &mut network(&mut narrow).peers[0].samples;
        samples.iter_mut().for_each(|sample| sample.peer_limited_ns = sample.at_ns / 100 * share_percent);
        rules_of(&narrow).into_iter().find(|rule| ["network-limit", "server-window"].contains(&rule.as_str()))
    };
    for (share_percent, expected) in [(0, Some("network-limit")), (15, None), (40, Some("server-window"))] {
        assert_eq!(closed(share_percent).as_deref(), expected, "{share_percent}");
    }
}
