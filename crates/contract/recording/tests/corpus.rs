//! Every form of a recording that was ever written can still be read, with the same content.

use std::collections::BTreeMap;
use std::path::PathBuf;

use iolab_plan::{PageCache, Reach};
use iolab_recording::partial::Partial;
use iolab_recording::{FORMAT_OF_SEVERAL_HOSTS, Recording};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// The recordings by name, oldest first.
fn corpus() -> BTreeMap<String, String> {
    let files = std::fs::read_dir(folder()).expect("a folder").map(|entry| entry.expect("an entry").path());
    let recordings = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let named = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).expect("text"))
    };
    recordings.map(named).collect()
}

fn read(name: &str, text: &str) -> Recording {
    Recording::from_json(text).unwrap_or_else(|error| panic!("{name} is not read any more: {error}"))
}

#[test]
fn every_form_is_read_and_kept() {
    for (name, text) in corpus() {
        let recording = read(&name, &text);
        assert_eq!(read(&name, &recording.to_json()), recording, "{name} is lost when it is saved again");
        // What all of them have in common.
        let names: Vec<&str> = recording.plan.workers.iter().map(|plan| plan.job.as_str()).collect();
        assert_eq!(names[..2], ["paced", "queue"], "{name}");
        for (worker, ios) in recording.workers.iter().zip([[40, 19, 0], [40, 40, 0]]) {
            let done = worker.directions.each_ref().map(|direction| direction.ios);
            assert_eq!(done, ios, "{name}");
            assert_eq!(worker.directions[0].lat.count, ios[0], "{name}");
        }
        let hosts = if name.as_str() < "2-1" { 1 } else { 2 };
        assert_eq!((recording.devices.len(), recording.all_hosts().len()), (hosts, hosts), "{name}");
    }
}

#[test]
fn what_was_not_yet_saved_is_filled_in() {
    for (name, text) in corpus() {
        let recording = read(&name, &text);
        assert_eq!(recording.all_hosts()[0].facts, recording.host, "{name}");
        assert_eq!(recording.plan.workers[1].host, u32::from(name.as_str() >= "2-1"), "{name}");
        let since = |step: &str| name.as_str() >= step;
        let worker = &recording.workers[0];
        let facts = [
            ("latencies by interval", "1-2", !worker.interval_latencies.is_empty()),
            ("schedule", "1-2", worker.schedule.is_some()),
            ("lateness", "1-3", !worker.directions[0].generator_late.is_empty()),
            ("calibration", "1-4", recording.calibration.is_some()),
            ("observations", "1-5", recording.observations.is_some()),
            ("findings", "1-5", !recording.findings.is_empty()),
            ("steady state", "1-6", worker.steady.is_some()),
            ("losses", "1-7", !recording.workers[1].lost.is_empty()),
            ("traits", "1-8", recording.plan.workers[0].engine.traits.is_some()),
            ("fractions", "2-2", recording.plan.workers[0].workload.read_percent.as_whole().is_none()),
            ("a replay", "2-3", recording.plan.workers[0].replay.is_some()),
            ("how its times were kept", "2-3", worker.drift.as_ref().is_some_and(|drift| !drift.series.is_empty())),
            ("what is verified", "2-3", recording.plan.workers[1].verify.is_some()),
            ("what was verified", "2-3", recording.workers[1].verification.is_some()),
            ("an iolog", "2-4", recording.plan.workers[1].logs.operations.is_some()),
            ("a program", "2-4", recording.workers.len() == 3),
            ("zones", "2-8", recording.plan.workers[0].workload.zones.is_some() && worker.zone_resets == Some(3)),
            ("priorities", "2-8", !worker.directions[1].priorities.is_empty()),
            ("servers", "2-9", recording.is_of_servers()),
            ("whose logs", "2-9", recording.plan.workers[1].logs.client.is_some()),
            ("idleness", "2-9", recording.idleness.is_some()),
            ("ranks", "2-a", recording.is_of_ranks()),
            ("a network", "2-c", recording.observations.as_ref().is_some_and(|seen| seen.network.len() == 2)),
            ("an agreed start", "2-b", recording.agreed_start_unix_ns.is_some()),
            ("how far from it", "2-b", recording.hosts.last().is_some_and(|host| host.start_skew_ns == Some(-300))),
            ("wearing out", "2-e", recording.plan.workers[0].limits.wear_out),
            ("ranges of trims", "2-d", recording.plan.workers[0].workload.trim_ranges == Some(8)),
            ("sprandom", "2-d", recording.plan.workers[0].workload.sprandom.is_some_and(|plan| plan.regions == 100)),
            ("errors of blocks", "2-d", worker.block_errors.as_ref().is_some_and(|found| found.intact.blocks() == 255)),
            ("drift", "2-b", recording.hosts.last().is_some_and(|host| host.clock_drift_ns == Some(-75))),
            ("figures of files", "2-5", recording.workers[1].files.len() == 2),
        ];
        for (what, step, is_there) in facts {
            assert_eq!(is_there, since(step), "{name}: {what}");
        }
        // Only a part is of one rank.
        assert_eq!(recording.plan.rank.is_some(), name == "1-9-part", "{name}");
        // Whether the engine said it or its name does: the same.
        for (plan, synchronous) in recording.plan.workers.iter().zip([true, false]) {
            let traits = plan.engine.traits();
            assert_eq!((traits.reach, traits.page_cache), (Reach::BlockLayer, PageCache::UnlessDirect), "{name}");
            assert_eq!((traits.synchronous, traits.polls), (synchronous, false), "{name}");
        }
    }
}

#[test]
fn the_newest_has_all_that_is_saved_today() {
    let corpus = corpus();
    let (name, text) = corpus.last_key_value().expect("a file");
    let (then, now): (serde_json::Value, serde_json::Value) =
        (text.parse().expect("JSON"), read(name, text).to_json().parse().expect("JSON"));
    assert!(then == now, "{name} is not what this version saves: add a file to the corpus");
}

#[test]
fn every_format_is_in_it() {
    let names: Vec<String> = corpus().into_keys().collect();
    for format in 1..=FORMAT_OF_SEVERAL_HOSTS {
        assert!(names.iter().any(|name| name.starts_with(&format!("{format}-"))), "no recording of format {format}");
    }
}

#[test]
fn a_partial_recording_of_each_format_is_read() {
    let bytes = std::fs::read(folder().join("partial-1")).expect("a file");
    let partial = Partial::read(&bytes).expect("a partial recording");
    assert!(partial.damage.is_none(), "{:?}", partial.damage);
    let recording = partial.into_recording();
    assert!(recording.interrupted && recording.workers.len() == 2 && recording.observations.is_some());
    assert!(recording.workers.iter().all(|worker| worker.interval_latencies.len() >= 2));
    Recording::from_json(&recording.to_json()).expect("it is sound");
}

#[test]
fn hosts_that_do_not_fit_are_refused() {
    let text = &corpus()["2-1-hosts"];
    for (from, to) in [
        ("\"iolab_recording\":2", "\"iolab_recording\":1"),
        ("\"host\":1", "\"host\":2"),
        ("\"cpus\":8", "\"cpus\":-8"),
        ("\"name\":\"b\"", "\"name\":\"\\u001b\""),
    ] {
        assert!(text.contains(from) && Recording::from_json(&text.replacen(from, to, 1)).is_err(), "{to}");
    }
    let whole = read("2-1-hosts", text);
    let parts = [0, 1].map(|host| whole.of_host(host));
    for (part, (job, kernel)) in parts.iter().zip([("paced", "6.12.0"), ("queue", "6.6.1")]) {
        let jobs: Vec<&str> = part.plan.workers.iter().map(|plan| plan.job.as_str()).collect();
        assert_eq!((jobs, part.workers.len(), part.devices.len()), (vec![job], 1, 1));
        assert_eq!(part.host.kernel, kernel);
    }
}

#[test]
fn a_broken_form_is_refused() {
    let corpus = corpus();
    let (name, text) = corpus.first_key_value().expect("a file");
    assert!(Recording::from_json(&text.replacen("\"elapsed_ns\"", "\"elapsed\"", 1)).is_err(), "{name}");
    assert!(Recording::from_json(&text.replacen("\"iolab_recording\":1", "\"iolab_recording\":999", 1)).is_err());
}

#[test]
fn replay_verification_and_programs_say_what_was_measured() {
    let all = corpus();
    let (name, text) = all.last_key_value().expect("a recording");
    let recording = read(name, text);
    let drift = recording.workers[0].drift.as_ref().expect("a replay");
    assert_eq!(drift.late.count, 41, "40 transfers and a sync");
    let verification = recording.workers[1].verification.as_ref().expect("verified");
    assert_eq!((verification.intervals, verification.damaged, verification.first[0].offset), (16, 1, 8192));
    let (plan, program) = (&recording.plan.workers[2], &recording.workers[2]);
    assert_eq!((plan.job.as_str(), plan.engine.traits().reach), ("sh", Reach::Unknown));
    assert_eq!((program.directions[1].ios, program.directions[1].bytes), (16, 16 * 4096));
    assert_eq!(program.intervals.iter().map(|interval| interval.ios[1]).sum::<u64>(), 16);
    assert!(program.directions[1].lat.is_empty() && !program.notes.is_empty());
}
