//! Hand-made recordings for the report tests: small and deterministic, one for each situation that
//! a report must show.
mod calibrated;
mod devices;
mod paced;
mod steady;

use std::collections::BTreeMap;

use devices::device;
use iolab_histogram::{Histogram, SparseHistogram};
use iolab_plan::*;
use iolab_random::Lcg;
use iolab_recording::*;

/// A name, and the function that makes the recording.
pub(crate) type Case = (&'static str, fn() -> Recording);

/// Every case.
pub(crate) const CASES: [Case; 17] = [
    ("single", single),
    ("clones", || clones(false)),
    ("clones_grouped", || clones(true)),
    ("mixed_rw_sync", mixed_rw_sync),
    ("trims", trims),
    ("failed", failed),
    ("survived", survived),
    ("unified_mixed", || unified(UnifiedReporting::Mixed)),
    ("unified_both", || unified(UnifiedReporting::Both)),
    ("empty", empty),
    ("crashed", crashed),
    ("paced", paced::paced),
    ("no_clocks", no_clocks),
    ("calibrated", calibrated::calibrated),
    ("steady", steady::steady),
    ("unsteady", steady::unsteady),
    ("several_devices", several_devices),
];

pub(crate) fn case(name: &str) -> Recording {
    CASES.iter().find(|case| case.0 == name).unwrap_or_else(|| panic!("no case {name}")).1()
}

/// A histogram of `count` values from `least` on, with a long tail, from a fixed generator.
pub(crate) fn latencies(seed: u64, count: u64, least: u64) -> SparseHistogram {
    let mut histogram = Histogram::new();
    let mut random = Lcg::new(seed.wrapping_mul(2).wrapping_add(1));
    for _ in 0..count {
        let draw = (random.next() >> 40) % 1000;
        histogram.add(least + least * draw * draw / 100_000 + if draw > 995 { least * 50 } else { 0 });
    }
    histogram.to_sparse()
}

fn direction(seed: u64, ios: u64, block: u64, runtime_ns: u64) -> DirectionRecording {
    DirectionRecording {
        ios,
        bytes: ios * block,
        issued: ios,
        runtime_ns,
        slat: latencies(seed + 1, ios, 800),
        clat: latencies(seed + 2, ios, 40_000),
        lat: latencies(seed + 3, ios, 41_000),
        ..Default::default()
    }
}

/// One worker of 2 s and 10 intervals of 200 ms.
fn worker(number: u32, ios: [u64; 3]) -> WorkerRecording {
    let seed = u64::from(number) * 10;
    let directions = std::array::from_fn(|at| match ios[at] {
        0 => DirectionRecording::default(),
        some => direction(seed + at as u64, some, 4096, 2_001_000_000),
    });
    let interval = |step: u64| {
        let share = |total: u64| total / 10 + if step.is_multiple_of(2) { total / 50 } else { 0 } - total / 100;
        Interval {
            start_ns: step * 200_000_000,
            length_ns: 200_000_000,
            ios: ios.map(share),
            bytes: ios.map(|total| share(total) * 4096),
        }
    };
    WorkerRecording {
        number,
        pid: 4000 + number,
        outcome: WorkerOutcome::Finished,
        started_ns: 1_000_000,
        runtime_ns: 2_001_000_000,
        directions,
        intervals: (0..10).map(interval).collect(),
        depth: DepthUse {
            at_submit: vec![(1, ios.iter().sum())],
            submit_batches: vec![(1, ios.iter().sum())],
            complete_batches: vec![(1, ios.iter().sum())],
        },
        cpu: CpuUse {
            user_ns: 150_000_000,
            system_ns: 450_000_000,
            context_switches: 77,
            major_faults: 0,
            minor_faults: 12,
        },
        ..Default::default()
    }
}

/// A plan as in recordings. Settings that are not set here do not matter to a report.
fn plan() -> WorkerPlan {
    let text = include_str!("../../../../contract/recording/tests/worker_plan.json");
    serde_json::from_str(text).expect("a worker's plan")
}

pub(crate) fn logs() -> LogPlan {
    plan().logs
}

pub(crate) fn worker_plan(number: u32, job: &str, word: &str) -> WorkerPlan {
    let mut plan = WorkerPlan {
        number,
        job: job.into(),
        section: number,
        group_reporting: false,
        job_options: BTreeMap::from([("rw".into(), word.into()), ("iodepth".into(), "1".into())]),
        host: 0,
        engine: EnginePlan { name: "psync".into(), options: Default::default(), traits: None },
        files: vec![],
        ..plan()
    };
    (plan.layout.direct, plan.layout.overwrite) = (true, false);
    plan.workload.pattern.word = word.into();
    plan.workload.pattern.directions = vec![Direction::Read];
    plan.limits.runtime_ns = Some(2_000_000_000);
    plan.measurement.interval_ns = 200_000_000;
    plan.measurement.histogram_interval_ns = 0;
    plan
}

fn recording(members: Vec<(WorkerPlan, WorkerRecording)>) -> Recording {
    let (plans, workers) = members.into_iter().unzip();
    Recording {
        iolab_recording: FORMAT,
        iolab_version: "0.1.0".into(),
        plan: Plan {
            sources: vec![],
            rank: None,
            global_options: BTreeMap::from([("bs".into(), "4k".into()), ("size".into(), "1g".into())]),
            workers: plans,
            warnings: vec![],
        },
        host: HostFacts::default(),
        hosts: vec![],
        calibration: None,
        started_unix_ns: 1_795_253_380_000_000_000,
        elapsed_ns: 2_010_000_000,
        workers,
        devices: vec![],
        observations: None,
        idleness: None,
        agreed_start_unix_ns: None,
        findings: Vec::new(),
        warnings: vec![],
        interrupted: false,
    }
}

fn single() -> Recording {
    let mut plan = worker_plan(0, "single", "randread");
    plan.description = Some("one \"quoted\" reader".into());
    Recording {
        devices: vec![device("dm-0", &["sda"], 20_000), device("sda", &[], 20_000)],
        ..recording(vec![(plan, worker(0, [20_000, 0, 0]))])
    }
}

fn clones(group_reporting: bool) -> Recording {
    let member = |clone: u32| {
        let plan = WorkerPlan { section: 0, clone, group_reporting, ..worker_plan(clone, "clone", "randread") };
        (plan, worker(clone, [5000 + u64::from(clone) * 1000, 0, 0]))
    };
    recording((0..4).map(member).collect())
}

fn mixed_rw_sync() -> Recording {
    let mut plan = worker_plan(0, "mix", "randrw");
    plan.description = Some("d".into());
    plan.engine.name = "libaio".into();
    plan.queue = QueuePlan { depth: 8, asked_depth: 8, ..plan.queue };
    plan.measurement.percentiles = PercentilePlan { lat: true, slat: true, ..plan.measurement.percentiles };
    plan.process.thread = true;
    let mut worker = worker(0, [8000, 2000, 0]);
    worker.sync = SyncRecording { ios: 250, lat: latencies(9, 250, 900_000) };
    worker.depth = DepthUse {
        at_submit: vec![(1, 1), (2, 1), (3, 1), (8, 9997)],
        submit_batches: vec![(1, 9000), (8, 125)],
        complete_batches: vec![(0, 3), (1, 8000), (5, 400)],
    };
    recording(vec![(plan, worker)])
}

fn trims() -> Recording {
    let mut plan = worker_plan(0, "trim", "randtrim");
    plan.workload.block_sizes = [4096, 4096, 4096].map(|min| BlockSizes::Range { min, max: 65_536 });
    plan.measurement.percentiles = PercentilePlan { list: vec![50.0, 99.0], ..plan.measurement.percentiles };
    recording(vec![(plan, worker(0, [0, 0, 3000]))])
}

fn failed() -> Recording {
    let mut worker = worker(0, [0, 512, 0]);
    worker.outcome = WorkerOutcome::Failed { errno: 28, message: "write of 4096 bytes at 2097152 of f.0.0".into() };
    worker.errors = vec![ErrorCount { errno: 28, count: 1 }];
    recording(vec![(worker_plan(0, "full", "write"), worker)])
}

fn survived() -> Recording {
    let mut plan = worker_plan(0, "survivor", "randread");
    plan.errors.continue_on = vec![ContinuableError::Read];
    let mut worker = worker(0, [1000, 0, 0]);
    worker.errors = vec![ErrorCount { errno: 5, count: 7 }, ErrorCount { errno: 61, count: 2 }];
    worker.directions[0].short_ios = 3;
    worker.directions[0].dropped_ios = 9;
    recording(vec![(plan, worker)])
}

fn unified(unified: UnifiedReporting) -> Recording {
    let mut plan = worker_plan(0, "unified", "randrw");
    plan.description = Some("d".into());
    plan.measurement.unified = unified;
    recording(vec![(plan, worker(0, [6000, 2000, 0]))])
}

/// Two cores with two devices each, one of which they share.
fn several_devices() -> Recording {
    let member = |number: u32, names: [&str; 2]| {
        let mut plan = WorkerPlan { section: 0, clone: number, ..worker_plan(number, "core", "randrw") };
        plan.process.cpus = Some(vec![number as usize]);
        plan.measurement.per_file = true;
        let file = |name: &str| FilePlan {
            path: name.into(),
            start_bytes: 0,
            length_bytes: 1 << 30,
            layout_bytes: 0,
            origin: FileOrigin::default(),
            block_device: true,
        };
        plan.files = names.map(file).into();
        let mut worker = worker(number, [3000, 1000, 0]);
        let part = |seed: u64, ios: u64| FileRecording {
            bytes: [ios * 4096, 0, 0],
            clat: [latencies(seed, ios, 40_000), SparseHistogram::default(), SparseHistogram::default()],
        };
        worker.files = vec![part(u64::from(number) + 70, 1000), part(u64::from(number) + 80, 2000)];
        worker.files[1].bytes[1] = 1000 * 4096;
        worker.files[1].clat[1] = latencies(91, 1000, 9000);
        (plan, worker)
    };
    recording(vec![member(0, ["/dev/fast", "/dev/shared"]), member(1, ["/dev/shared", "/dev/slow"])])
}

fn empty() -> Recording {
    recording(vec![(worker_plan(0, "idle", "randread"), WorkerRecording::default())])
}

fn crashed() -> Recording {
    let mut lost = WorkerRecording { number: 1, pid: 4001, ..Default::default() };
    lost.outcome = WorkerOutcome::Crashed { signal: 9, message: "its figures are lost".into() };
    let plans = [0, 1].map(|number| WorkerPlan { group: number, ..worker_plan(number, "pair", "randread") });
    let [first, second] = plans;
    recording(vec![(first, worker(0, [1000, 0, 0])), (second, lost)])
}

fn no_clocks() -> Recording {
    let mut plan = worker_plan(0, "reduced", "randread");
    plan.measurement = MeasurementPlan {
        slat: false,
        clat: false,
        lat: false,
        bandwidth: false,
        kb_base: 1000,
        unit_base: 1,
        significant_figures: 6,
        ..plan.measurement
    };
    let mut worker = worker(0, [1_000_000, 0, 0]);
    let reads = &mut worker.directions[0];
    (reads.slat, reads.clat, reads.lat) = Default::default();
    recording(vec![(plan, worker)])
}
