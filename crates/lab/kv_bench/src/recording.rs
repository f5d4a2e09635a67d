//! The results of a session as a recording, so that reports, pages and comparisons read them.
//!
//! The plan is that of the closest equivalent jobs of the engine `kv`: one job for each benchmark,
//! one worker for each thread. A deletion is a trim.

use iolab_histogram::SparseHistogram;
use iolab_plan::Plan;
use iolab_recording::{
    CpuUse, DirectionRecording, FORMAT, HostFacts, Interval, Recording, WorkerOutcome, WorkerRecording,
};

use crate::benchmarks::{BENCHMARKS, Load, Order};
use crate::findings::all_findings;
use crate::result::{BenchmarkResult, ThreadResult};
use crate::settings::Settings;

/// The words of a command line of `iolab run` that describes the results; `store` and `folder` are
/// those of the session.
pub fn job_words(settings: &Settings, results: &[BenchmarkResult], store: &str, folder: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, result) in measured(results).enumerate() {
        let Some(benchmark) = BENCHMARKS.iter().find(|benchmark| benchmark.name == result.name) else { continue };
        let twice = measured(results).take(number).filter(|earlier| earlier.name == result.name).count();
        let name = if twice == 0 { result.name.clone() } else { format!("{}-{}", result.name, twice + 1) };
        let value = benchmark.value_size.unwrap_or(settings.value_size).max(1);
        let random = |order| matches!(order, Order::Random | Order::Shuffled);
        let rw = match benchmark.load {
            Load::Fill(order) => {
                if random(order) {
                    "randwrite"
                } else {
                    "write"
                }
            }
            Load::Delete(order) => {
                if random(order) {
                    "randtrim"
                } else {
                    "trim"
                }
            }
            Load::Scan(_) => "read",
            Load::Mixed | Load::Update | Load::Ycsb(_) => "randrw",
            _ => "randread",
        };
        words.push(format!("--name={name}"));
        words.extend(["ioengine=kv", "thread", "stonewall", "norandommap"].map(|word| format!("--{word}")));
        words.push(format!("--rw={rw}"));
        words.push(format!("--bs={value}"));
        words.push(format!("--size={}", value as u64 * (settings.num / benchmark.divisor).max(1)));
        words.push(format!("--numjobs={}", result.threads.len()));
        words.push(format!("--store={store}"));
        words.push(format!("--store_path={}", folder.replace(':', "\\:")));
        words.push(format!("--key_size={}", settings.key_size));
        words.push(format!("--interval={}ns", settings.interval_ns));
        if settings.duration_ns > 0 {
            words.push("--time_based".to_owned());
            words.push(format!("--runtime={}s", settings.duration_ns / 1_000_000_000));
        }
        if settings.rate > 0 {
            words.push(format!("--rate_iops={}", (settings.rate / u64::from(settings.threads)).max(1)));
        }
    }
    words
}

/// The results that are loads: an output or a single action is not a job.
fn measured(results: &[BenchmarkResult]) -> impl Iterator<Item = &BenchmarkResult> {
    results.iter().filter(|result| {
        let benchmark = BENCHMARKS.iter().find(|benchmark| benchmark.name == result.name);
        benchmark.is_some_and(|benchmark| !matches!(benchmark.load, Load::Once(_)))
    })
}

/// The recording of the results; `plan` is made of [`job_words`].
pub fn recording(plan: Plan, host: HostFacts, version: &str, results: &[BenchmarkResult]) -> Recording {
    let memory_bytes = host.memory_bytes;
    let started_unix_ns = measured(results).map(|result| result.started_unix_ns).min().unwrap_or(0);
    let mut workers = Vec::new();
    let mut elapsed_ns = 0;
    let mut notes = Vec::new();
    let mut devices = Vec::new();
    for result in measured(results) {
        let offset_ns = result.started_unix_ns - started_unix_ns;
        for thread in &result.threads {
            workers.push(worker(workers.len() as u32, thread, offset_ns));
        }
        elapsed_ns = elapsed_ns.max(offset_ns + result.elapsed_ns);
        notes.push(summary(result));
        merge_devices(&mut devices, result);
    }
    if let Some(last) = results.last() {
        notes.extend(last.facts.notes.iter().cloned());
    }
    Recording {
        iolab_recording: FORMAT,
        iolab_version: version.to_owned(),
        plan,
        host,
        hosts: Vec::new(),
        calibration: None,
        started_unix_ns,
        elapsed_ns,
        workers,
        devices,
        observations: None,
        idleness: None,
        agreed_start_unix_ns: None,
        findings: all_findings(results, memory_bytes),
        warnings: notes,
        interrupted: results.iter().any(|result| result.threads.iter().any(|thread| thread.interrupted)),
    }
}

/// The first look of the first result, the last look of the last.
fn merge_devices(devices: &mut Vec<iolab_recording::DeviceUse>, result: &BenchmarkResult) {
    for device in &result.devices {
        match devices.iter_mut().find(|known| known.name == device.name) {
            None => devices.push(device.clone()),
            Some(known) => {
                known.after = device.after;
                known.elapsed_ns += device.elapsed_ns;
            }
        }
    }
}

/// The store's facts of one result, in a sentence.
fn summary(result: &BenchmarkResult) -> String {
    let mut text = format!("{}: ", result.name);
    let ratio = |value: Option<f64>| value.map_or("unknown".to_owned(), |value| format!("{value:.2}"));
    text.push_str(&format!(
        "store version {}, compression {}; write amplification {} measured, {} reported by the store; space \
        amplification {}; {:.2} us of CPU time per operation.",
        result.facts.version,
        result.facts.compression.as_deref().unwrap_or("unknown"),
        ratio(result.write_amplification()),
        ratio(result.figures.write_amplification()),
        ratio(result.space_amplification()),
        result.processor_ns_per_operation() / 1000.0
    ));
    text
}

fn worker(number: u32, thread: &ThreadResult, offset_ns: u64) -> WorkerRecording {
    let moved = |interval: &Interval| Interval { start_ns: interval.start_ns + offset_ns, ..*interval };
    let directions = thread.tallies.each_ref().map(|tally| DirectionRecording {
        ios: tally.operations,
        bytes: tally.bytes,
        issued: tally.operations,
        runtime_ns: if tally.operations > 0 { thread.elapsed_ns } else { 0 },
        slat: SparseHistogram::default(),
        clat: tally.latency.clone(),
        lat: tally.latency.clone(),
        response: tally.response.clone(),
        ..DirectionRecording::default()
    });
    let operations = thread.operations();
    WorkerRecording {
        number,
        pid: thread.thread,
        outcome: if thread.interrupted { WorkerOutcome::Interrupted } else { WorkerOutcome::Finished },
        started_ns: thread.started_ns + offset_ns,
        runtime_ns: thread.elapsed_ns,
        directions,
        intervals: thread.intervals.iter().map(moved).collect(),
        interval_latencies: thread
            .interval_latencies
            .iter()
            .map(|interval| iolab_recording::IntervalLatencies {
                start_ns: interval.start_ns + offset_ns,
                ..interval.clone()
            })
            .collect(),
        depth: iolab_recording::DepthUse {
            at_submit: vec![(1, operations)],
            submit_batches: vec![(1, operations)],
            complete_batches: vec![(1, operations)],
        },
        cpu: CpuUse {
            user_ns: thread.usage.user_ns,
            system_ns: thread.usage.system_ns,
            context_switches: thread.usage.context_switches,
            major_faults: thread.usage.major_faults,
            minor_faults: thread.usage.minor_faults,
        },
        schedule: thread.schedule,
        ..WorkerRecording::default()
    }
}
