//! Rules about hosts beside one another.

use iolab_findings::find;
use iolab_recording::Recording;

/// The recording of a run on two hosts, from the corpus of saved forms.
fn of_two_hosts() -> Recording {
    let path = format!("{}/../../contract/recording/tests/corpus/2-b-start.json", env!("CARGO_MANIFEST_DIR"));
    Recording::from_json(&std::fs::read_to_string(&path).expect(&path)).expect("a recording")
}

#[test]
fn a_host_that_is_slower_than_the_others_is_named() {
    let mut recording = of_two_hosts();
    // The same job on both, without a rate.
    let (plan, worker) = (recording.plan.workers[0].clone(), recording.workers[0].clone());
    recording.plan.workers.truncate(2);
    recording.workers.truncate(2);
    recording.calibration = None;
    for (host, number) in [(0, 0), (1, 1)] {
        let mut own = plan.clone();
        (own.host, own.number, own.pacing.think) = (host, number, None);
        (own.pacing.rate_bytes, own.pacing.rate_iops) = Default::default();
        recording.plan.workers[host as usize] = own;
        recording.workers[host as usize] = iolab_recording::WorkerRecording { number, ..worker.clone() };
    }
    let slow = |recording: &Recording| {
        let found = find(recording).into_iter().filter(|finding| finding.rule == "slow-host");
        found.map(|finding| finding.evidence).collect::<Vec<_>>()
    };
    assert_eq!(slow(&recording), Vec::<String>::new(), "equal hosts");
    recording.workers[1].directions.iter_mut().for_each(|direction| direction.bytes /= 2);
    let name = &recording.hosts[1].name;
    let found = slow(&recording);
    assert!(found.len() == 1 && found[0].contains(&format!("{name} did ")), "{found:?}");
    assert!(found[0].contains("the other host "), "{found:?}");
    recording.hosts.truncate(1);
    assert_eq!(slow(&recording), Vec::<String>::new(), "one host");
}
