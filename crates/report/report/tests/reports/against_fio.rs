//! One run of fio 3.33 that wrote both its JSON and its normal report: the recording rebuilt from
//! the JSON must be rendered as fio rendered it.
//!
//! `fio/run.json` lacks options, depths and bands; `fio/run.txt` lacks the lines made from those,
//! from time series and from process ids, and fio 3.33's `; 0 zone resets`. Numbers may differ by
//! one unit or one histogram bucket, because percentiles here stay within the true extremes.

use iolab_histogram::{SparseHistogram, bucket_of};
use iolab_plan::{PercentilePlan, WorkerPlan};
use iolab_recording::{CpuUse, DirectionRecording, Recording, SyncRecording, WorkerOutcome, WorkerRecording};
use iolab_report::{Style, normal_body};
use serde_json::Value;

use crate::fixture;

fn integer(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no integer"))
}

fn histogram(value: &Value) -> SparseHistogram {
    let count = integer(&value["N"]);
    if count == 0 {
        return SparseHistogram::default();
    }
    let float = |key: &str| value[key].as_f64().expect("a float");
    let bins = value["bins"].as_object().into_iter().flatten();
    let bin = |(middle, count): (&String, &Value)| (bucket_of(middle.parse().expect("ns")) as u32, integer(count));
    let mut buckets: Vec<(u32, u64)> = bins.map(bin).collect();
    buckets.sort_unstable();
    let sum = float("mean") * count as f64;
    SparseHistogram {
        count,
        min: integer(&value["min"]),
        max: integer(&value["max"]),
        sum: sum.round() as u128,
        sum_of_squares: float("stddev").powi(2) * (count - 1) as f64 + sum * sum / count as f64,
        buckets,
    }
}

fn direction(value: &Value) -> DirectionRecording {
    DirectionRecording {
        ios: integer(&value["total_ios"]),
        bytes: integer(&value["io_bytes"]),
        runtime_ns: integer(&value["runtime"]) * 1_000_000,
        slat: histogram(&value["slat_ns"]),
        clat: histogram(&value["clat_ns"]),
        lat: histogram(&value["lat_ns"]),
        ..Default::default()
    }
}

fn worker(number: u32, job: &Value) -> (WorkerPlan, WorkerRecording) {
    let mut plan = fixture::worker_plan(number, job["jobname"].as_str().expect("a name"), "randrw");
    plan.group = number;
    plan.description = job["desc"].as_str().map(str::to_owned);
    plan.queue.asked_depth = integer(&job["latency_depth"]) as u32;
    let list = vec![10.0, 25.5, 50.0, 90.0];
    plan.measurement.percentiles = PercentilePlan { list, clat: true, lat: true, slat: true };
    let runtime_ms = integer(&job["job_runtime"]);
    let share = |key: &str| (job[key].as_f64().expect("a share") * runtime_ms as f64 * 10_000.0) as u64;
    let recording = WorkerRecording {
        number,
        outcome: WorkerOutcome::Finished,
        runtime_ns: runtime_ms * 1_000_000,
        directions: ["read", "write", "trim"].map(|name| direction(&job[name])),
        sync: SyncRecording { ios: integer(&job["sync"]["total_ios"]), lat: histogram(&job["sync"]["lat_ns"]) },
        cpu: CpuUse {
            user_ns: share("usr_cpu"),
            system_ns: share("sys_cpu"),
            context_switches: integer(&job["ctx"]),
            major_faults: integer(&job["majf"]),
            minor_faults: integer(&job["minf"]),
        },
        ..Default::default()
    };
    (plan, recording)
}

fn rebuilt() -> Recording {
    let document: Value = serde_json::from_str(include_str!("fio/run.json")).expect("fio's JSON");
    let jobs = document["jobs"].as_array().expect("jobs").iter().zip(0..);
    let mut recording = fixture::case("empty");
    (recording.plan.workers, recording.workers) = jobs.map(|(job, number)| worker(number, job)).unzip();
    recording
}

/// `line` with every number replaced by `#`, and the numbers.
fn taken_apart(line: &str) -> (String, Vec<f64>) {
    let (mut shape, mut numbers, mut number) = (String::new(), Vec::new(), String::new());
    for character in line.chars().chain(['\n']) {
        if character.is_ascii_digit() || character == '.' {
            number.push(character);
        } else {
            if !number.is_empty() {
                numbers.push(number.parse().unwrap_or(f64::NAN));
                shape.push('#');
                number.clear();
            }
            shape.push(character);
        }
    }
    (shape, numbers)
}

#[test]
fn the_same_figures_render_as_fio_renders_them() {
    let left_out = ["(groupid=", "   bw (", "   iops  ", "IO depths ", "     submit ", "     complete ", "  lat ("];
    let ours = normal_body(&rebuilt(), &Style::default());
    let ours = ours.lines().skip(1).filter(|line| {
        let latency = line.contains(": min=");
        latency || !left_out.iter().any(|part| line.contains(part))
    });
    let fio: Vec<&str> = include_str!("fio/run.txt").lines().collect();
    let mut compared = 0;
    for (ours, fio) in ours.zip(&fio) {
        let ((our_shape, our_numbers), (fio_shape, fio_numbers)) = (taken_apart(ours), taken_apart(fio));
        assert_eq!(our_shape, fio_shape, "\nours {ours}\nfio  {fio}");
        for (our, theirs) in our_numbers.iter().zip(&fio_numbers) {
            assert!((our - theirs).abs() <= 1.0 + theirs * 0.008, "\nours {ours}\nfio  {fio}");
        }
        // The layout must match to the column, not only the words.
        assert_eq!(ours.len(), fio.len(), "\nours {ours}\nfio  {fio}");
        compared += 1;
    }
    assert_eq!(compared, fio.len());
}
