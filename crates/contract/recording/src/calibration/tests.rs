//! The arithmetic of calibrations, and when they cause a warning.

use crate::Recording;
use iolab_plan::{Plan, WorkerPlan};

use super::*;
use crate::{FORMAT, HostFacts};

fn plan(number: u32, engine: &str) -> WorkerPlan {
    let mut plan: WorkerPlan = serde_json::from_str(include_str!("../../tests/worker_plan.json")).unwrap();
    (plan.number, plan.section, plan.engine.name) = (number, number, engine.to_owned());
    plan
}

fn worker(number: u32, ios: u64, runtime_ns: u64) -> WorkerRecording {
    let mut worker = WorkerRecording { number, runtime_ns, ..WorkerRecording::default() };
    worker.directions[0].ios = ios;
    worker
}

fn calibration(workers: &[u32], op_ps: u64) -> Calibration {
    let timer = TimerLateness { sleeps: 16, asked_ns: 20_000, p50_ns: 52_000, p99_ns: 54_000, max_ns: 54_000 };
    let loops = vec![LoopCost { workers: workers.to_vec(), op_ps, stamp_ps: 8_100 }];
    Calibration { method: METHOD, timer, loops }
}

fn recording(calibration: Option<Calibration>, members: Vec<(WorkerPlan, WorkerRecording)>) -> Recording {
    let (workers, recorded) = members.into_iter().unzip();
    Recording {
        iolab_recording: FORMAT,
        iolab_version: "0".to_owned(),
        plan: Plan { sources: vec![], global_options: Default::default(), workers, warnings: vec![], rank: None },
        host: HostFacts::default(),
        hosts: Vec::new(),
        calibration,
        started_unix_ns: 0,
        elapsed_ns: 0,
        workers: recorded,
        devices: vec![],
        observations: None,
        idleness: None,
        agreed_start_unix_ns: None,
        findings: Vec::new(),
        warnings: vec![],
        interrupted: false,
    }
}

fn overhead(op_ps: u64, engine: &str, ios: u64, runtime_ns: u64) -> Option<LoopOverhead> {
    let (plan, worker) = (plan(0, engine), worker(0, ios, runtime_ns));
    calibration(&[0], op_ps).of_workers().overheads(&[(&plan, &worker)]).pop()
}

#[test]
fn lateness_is_ranked() {
    let many = (1..=200).rev().collect();
    assert_eq!(
        TimerLateness::of(20, many),
        TimerLateness { sleeps: 200, asked_ns: 20, p50_ns: 100, p99_ns: 198, max_ns: 200 }
    );
    assert_eq!(
        TimerLateness::of(20, vec![5, 60, 7]),
        TimerLateness { sleeps: 3, asked_ns: 20, p50_ns: 7, p99_ns: 60, max_ns: 60 }
    );
    assert_eq!(TimerLateness::of(20, vec![]), TimerLateness { asked_ns: 20, ..TimerLateness::default() });
}

#[test]
fn lines_say_whose_the_time_is() {
    for (engine, op_ps, ios, runtime_ns, expected) in [
        (
            "io_uring",
            31_200,
            1000,
            1_640_000,
            "iolab spends 31 ns of the 1.64 µs per I/O, 1.9 % (clock stamp 8 ns, timer jitter p99 54.0 µs)",
        ),
        (
            "psync",
            62_000,
            10,
            1_000,
            "iolab spends 62 ns of the 100 ns per I/O, 62 % (clock stamp 8 ns, timer jitter p99 54.0 µs)",
        ),
        (
            "null",
            31_200,
            1000,
            35_000,
            "all of the 35 ns per I/O is iolab's overhead, because the engine is null (calibrated 31 ns, clock stamp 8 ns, \
             timer jitter p99 54.0 µs)",
        ),
        (
            "mmap",
            40_000,
            10,
            300,
            "iolab spends 30 ns of the 30 ns per I/O, 100 % (clock stamp 8 ns, timer jitter p99 54.0 µs)",
        ),
    ] {
        assert_eq!(overhead(op_ps, engine, ios, runtime_ns).unwrap().line(), expected);
    }
}

#[test]
fn waiting_is_not_work() {
    for (engine, end) in [
        (
            "null",
            "(clock stamp 8 ns, timer jitter p99 54.0 µs); the rest is waiting that the job asks for, because \
                  the engine is null",
        ),
        ("psync", "(clock stamp 8 ns, timer jitter p99 54.0 µs); this includes the job's own waiting"),
    ] {
        let mut plan = plan(0, engine);
        plan.pacing.rate_iops = [1000, 0, 0];
        let worker = worker(0, 1_000, 1_000_000_000);
        let overhead = calibration(&[0], 76_000).of_workers().overheads(&[(&plan, &worker)])[0];
        assert_eq!(overhead.line(), format!("iolab spends 76 ns of the 1.00 ms per I/O, 0.0 % {end}"));
        assert!(overhead.share_percent() < 0.1 && overhead.limit().is_none());
    }
}

#[test]
fn more_than_a_quarter_is_too_much() {
    for (what, engine, op_ps, per_io_ns, limited) in [
        ("a fast device behind a slow loop", "io_uring", 90_000, 100, true),
        ("just above", "io_uring", 25_100, 100, true),
        ("just at", "io_uring", 25_000, 100, false),
        ("a disk", "libaio", 90_000, 80_000, false),
        ("what was asked for", "null", 90_000, 90, false),
    ] {
        let overhead = overhead(op_ps, engine, 1_000, per_io_ns * 1_000).unwrap();
        assert_eq!(overhead.limit().is_some(), limited, "{what}: {overhead:?}");
    }
    let text = overhead(33_000, "mmap", 1, 100).unwrap().limit().unwrap();
    for part in ["33 %", "33 ns of 100 ns", "the limit is 25 %", "numjobs", "gtod_reduce=1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn time_per_io_is_that_of_a_worker_with_everything_it_completed() {
    let plans = [0, 1, 2, 3].map(|number| plan(number, "psync"));
    let mut first = worker(0, 10, 4_000);
    (first.directions[1].ios, first.sync.ios) = (5, 5);
    let recorded = [first, worker(1, 20, 4_000), worker(2, 0, 1_000), worker(3, 1, 1_000_000)];
    let members: Vec<_> = plans.iter().zip(&recorded).collect();
    let overheads = calibration(&[0, 1, 2], 1_000).of_workers().overheads(&members);
    assert_eq!(overheads.len(), 1);
    assert_eq!((overheads[0].workers, overheads[0].per_io_ns), (2, 200.0), "not 100: each has its own thread");
    assert_eq!(calibration(&[7], 1_000).of_workers().overheads(&members), []);
    assert_eq!(calibration(&[2], 1_000).of_workers().overheads(&members), [], "nothing completed");
}

#[test]
fn each_job_is_judged_by_itself() {
    let members = || vec![(plan(0, "psync"), worker(0, 10, 1_000)), (plan(1, "psync"), worker(1, 10, 100_000))];
    let limits = recording(Some(calibration(&[0, 1], 50_000)), members()).tool_limits();
    assert_eq!(limits.len(), 1, "{limits:?}");
    assert!(limits[0].starts_with("a: limited by iolab, not by the device: 50 %"), "{limits:?}");
    assert_eq!(recording(None, members()).tool_limits(), Vec::<String>::new());
    let mut hidden = members();
    hidden[0].0.measurement.stats = false;
    assert_eq!(recording(Some(calibration(&[0, 1], 50_000)), hidden).tool_limits(), Vec::<String>::new());
}

#[test]
fn a_calibration_survives_writing_and_reading_and_may_be_missing() {
    let members = || vec![(plan(0, "psync"), worker(0, 10, 1_000))];
    for calibration in [Some(calibration(&[0], 31_200)), None] {
        let recording = recording(calibration.clone(), members());
        let text = recording.to_json();
        assert_eq!(text.contains("\"calibration\""), calibration.is_some());
        assert_eq!(Recording::from_json(&text).unwrap(), recording);
    }
}
