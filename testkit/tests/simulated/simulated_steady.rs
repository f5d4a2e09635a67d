//! Jobs that end when their rate is steady, on a simulated clock: to the operation.

use iolab_clock::Clock;
use iolab_plan::SteadyMeasure;
use iolab_recording::{Recording, SteadyRecording, WorkerOutcome};
use iolab_testkit::simulated::{Fate, make_device};
use iolab_testkit::whole_run::{plan, repeatable, run};

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// A job with these options on a device on which the n-th operation takes so long.
fn run_on(name: &str, options: &str, takes_ns: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Recording {
    let clock = Clock::simulated(S);
    make_device(name, &clock, move |n, _| Fate::Served(takes_ns(n)));
    let text = format!("filename={name}\n[a]\nrw=randread\nsize=1g\ntime_based\ncalibrate=0\n{options}\n");
    run(&text, &clock)
}

fn seen(recording: &Recording) -> &SteadyRecording {
    recording.workers[0].steady.as_ref().unwrap()
}

/// A drive that falls from 1000 to 100 operations per second in its first two seconds and stays
/// there.
fn settles(n: u64) -> u64 {
    match n {
        0..1000 => MS,
        1000..1500 => 2 * MS,
        _ => 10 * MS,
    }
}

#[test]
fn a_rate_that_settles_ends_the_job() {
    for (options, seconds, attained) in [
        ("runtime=100\nss=iops:1%\nss_dur=4", 6, true),
        ("runtime=100\nss=bw:1500k\nss_dur=4", 5, true),
        ("runtime=100\nss=iops_slope:0.5%\nss_dur=4", 6, true),
        ("runtime=100\nss=bw_slope:1\nss_dur=4\nss_ramp=3", 7, true),
        ("runtime=100\nss=iops:1%\nss_dur=2\nss_interval=500ms", 4, true),
        ("ramp_time=2\nruntime=100\nss=iops:1%\nss_dur=4", 4, true),
        ("runtime=5\nss=iops:1%\nss_dur=4", 5, false),
    ] {
        let once = || run_on("settles", options, settles);
        let recording = once();
        let worker = &recording.workers[0];
        assert_eq!((&worker.outcome, worker.runtime_ns), (&WorkerOutcome::Finished, seconds * S), "{options}");
        assert_eq!(seen(&recording).attained, attained, "{options}");
        assert_eq!(repeatable(once()).workers, repeatable(recording).workers, "{options}");
    }
    let recording = run_on("settles", "runtime=100\nss=iops:1%\nss_dur=4", settles);
    let steady = seen(&recording);
    assert_eq!((&steady.iops[..], steady.criterion, steady.excursion), (&[100.0; 4][..], Some(0.0), Some(0.0)));
    assert_eq!(steady.bytes_per_s, [409_600.0; 4]);
    assert_eq!(recording.workers[0].directions[0].ios, 1000 + 500 + 400);
}

#[test]
fn a_rate_that_never_settles_ends_with_the_runtime() {
    // Each second is either fast or slow.
    let sawtooth = |n: u64| if n % 150 < 100 { 10 * MS } else { 20 * MS };
    let recording = run_on("sawtooth", "runtime=30\nss=iops:20%\nss_dur=4", sawtooth);
    let worker = &recording.workers[0];
    assert_eq!((&worker.outcome, worker.runtime_ns), (&WorkerOutcome::Finished, 30 * S));
    let steady = seen(&recording);
    assert!(!steady.attained);
    assert_eq!((&steady.iops[..], steady.excursion), (&[100.0, 50.0, 100.0, 50.0][..], Some(25.0)));
    assert_eq!(steady.criterion.map(|percent| percent.round()), Some(33.0));
    // A wider limit calls the same steady.
    let recording = run_on("sawtooth", "runtime=30\nss=iops:34%\nss_dur=4", sawtooth);
    assert_eq!((recording.workers[0].runtime_ns, seen(&recording).attained), (4 * S, true));
}

#[test]
fn a_job_without_a_window_is_not_judged() {
    let recording = run_on("unjudged", "runtime=3", |_| MS);
    assert_eq!((recording.workers[0].runtime_ns, &recording.workers[0].steady), (3 * S, &None));
}

#[test]
fn a_group_that_is_reported_as_one_ends_as_one() {
    let text = "filename=grouped\n[a]\nrw=randread\nsize=1g\ntime_based\nnumjobs=3\ngroup_reporting\ncalibrate=0\n\
                ss=iops:99%\nss_dur=2\nruntime=24h\n";
    let steady = plan(text).workers[2].limits.steady.unwrap();
    assert_eq!((steady.measure, steady.samples), (SteadyMeasure::Iops, 2));
    // Only the judgement can end the others before a day is over. Their threads share a clock, so
    // that how they interleave is not repeatable.
    let clock = Clock::simulated(S);
    make_device("grouped", &clock, |_, _| Fate::Served(MS));
    let recording = run(text, &clock);
    assert!(recording.workers.iter().all(|worker| worker.outcome == WorkerOutcome::Finished));
    assert!(recording.workers.iter().all(|worker| worker.runtime_ns < 24 * 3600 * S));
    let judged: Vec<bool> = recording.workers.iter().map(|worker| worker.steady.is_some()).collect();
    assert_eq!(judged, [false, false, true], "the last of the group judges");
}
