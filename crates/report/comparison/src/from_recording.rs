//! Summarises a recording.

use std::collections::BTreeMap;

use iolab_aggregate::{Throughput, flaw, members};
use iolab_histogram::SparseHistogram;
use iolab_order::Gather;
use iolab_plan::{Direction, WorkerPlan};
use iolab_recording::{Host, Recording, WorkerRecording};
use iolab_study::{DeviceFigure, Figure, FigureDirection, Measure};

use crate::summary::gather;
use crate::{DirectionSummary, IntervalSummary, JobSummary, Latencies, OperationType, RunSummary, SummaryInterval};

impl RunSummary {
    /// The summary of a recording; with its intervals if a comparison of single runs needs them.
    pub fn of_recording(name: &str, recording: &Recording, with_intervals: bool) -> RunSummary {
        let members = members(recording);
        let mut jobs = Vec::new();
        for (plan, worker) in &members {
            gather(&mut jobs, job(&recording.plan.global_options, plan, worker));
        }
        if with_intervals {
            for job in &mut jobs {
                let own: Vec<_> = members.iter().filter(|(plan, _)| plan.job == job.name).copied().collect();
                job.intervals = intervals(&own);
            }
        }
        let hosts = recording.all_hosts();
        let of_hosts = |of: &dyn Fn(&Host) -> &str| {
            let mut values: Vec<&str> = hosts.iter().map(of).collect();
            values.dedup();
            values.join(", ")
        };
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        RunSummary {
            name: name.to_owned(),
            tool: format!("iolab {}", recording.iolab_version),
            hostname: known(&of_hosts(&|host| host.name.as_str())),
            kernel: known(&of_hosts(&|host| host.facts.kernel.as_str())),
            cpu_model: known(&of_hosts(&|host| host.facts.cpu_model.as_str())),
            started_unix_ns: Some(recording.started_unix_ns),
            elapsed_ns: Some(recording.elapsed_ns),
            flaw: flaw(recording),
            findings: recording.findings.clone(),
            reached: iolab_aggregate::targets(recording),
            notes: Vec::new(),
            of_the_run: of_the_run(recording),
            jobs,
        }
    }
}

fn of_the_run(recording: &Recording) -> BTreeMap<String, f64> {
    use DeviceFigure::{QueueLength, ReadSize, Reads, ReadsMerged, Utilization, WriteSize, Writes, WritesMerged};
    let all = [ReadsMerged, WritesMerged, ReadSize, WriteSize, Reads, Writes, QueueLength, Utilization];
    let measures = all.map(Measure::Device).into_iter().chain([Measure::MachineCpu, Measure::Traffic]);
    let figures = measures.map(|measure| Figure { side: FigureDirection::All, measure });
    figures.filter_map(|figure| Some((figure.name(), figure.of(recording)?))).gather()
}

fn job(global: &BTreeMap<String, String>, plan: &WorkerPlan, worker: &WorkerRecording) -> JobSummary {
    let mut options = global.clone();
    options.extend(plan.job_options.clone());
    let summary = |direction: Direction| {
        let of = &worker.directions[direction.index()];
        let done = Throughput::of_worker(&[direction], worker);
        DirectionSummary {
            operations: operations(direction),
            ios: done.ios,
            bytes: done.bytes,
            ios_per_second: done.ios_per_second(),
            bytes_per_second: done.bytes_per_second(),
            lat: Latencies::of(&of.lat),
            clat: Latencies::of(&of.clat),
            response: Latencies::of(&of.response),
        }
    };
    JobSummary {
        name: plan.job.clone(),
        workers: 1,
        stage: plan.stage,
        options,
        directions: Direction::ALL.into_iter().map(summary).filter(|one| one.ios > 0).collect(),
        cpu_ns: Some(worker.cpu.user_ns.saturating_add(worker.cpu.system_ns) as f64),
        intervals: Vec::new(),
    }
}

fn operations(direction: Direction) -> OperationType {
    match direction {
        Direction::Read => OperationType::Read,
        Direction::Write => OperationType::Write,
        Direction::Trim => OperationType::Trim,
    }
}

/// Most intervals that a comparison lays out: half a day of the shortest.
const MOST_INTERVALS: u64 = 1 << 22;

/// The intervals of a job's workers together, from the time when all were measured until the first
/// ended. If a worker completed nothing in an interval, its recording may omit the interval, which
/// counts anyway.
fn intervals(workers: &[(&WorkerPlan, &WorkerRecording)]) -> Vec<IntervalSummary> {
    let Some(grid_ns) = grid_ns(workers) else { return Vec::new() };
    let of_workers: Vec<Vec<Stretch>> = workers.iter().map(|(_, worker)| stretches(worker)).collect();
    let first = |own: &Vec<Stretch>| own.first().map(|one| one.start_ns.div_ceil(grid_ns));
    let end = |own: &Vec<Stretch>| own.last().map(|one| (one.start_ns + one.length_ns) / grid_ns);
    let (Some(first), Some(end)) = (of_workers.iter().filter_map(first).max(), of_workers.iter().filter_map(end).min())
    else {
        return Vec::new();
    };
    if end.saturating_sub(first) > MOST_INTERVALS {
        return Vec::new();
    }
    let empty =
        |number: u64| IntervalSummary { start_ns: number * grid_ns, length_ns: grid_ns, directions: Vec::new() };
    let mut merged: Vec<IntervalSummary> = (first..end).map(empty).collect();
    for stretch in of_workers.iter().flatten() {
        let place = (stretch.start_ns / grid_ns).checked_sub(first).and_then(|place| usize::try_from(place).ok());
        if let Some(interval) = place.and_then(|place| merged.get_mut(place)) {
            stretch.directions.iter().for_each(|direction| add(&mut interval.directions, direction));
        }
    }
    merged
}

/// The work of one worker in one interval.
struct Stretch {
    start_ns: u64,
    length_ns: u64,
    directions: Vec<SummaryInterval>,
}

/// The interval length of all workers, if it is the same: that of latencies, otherwise that of
/// rates.
fn grid_ns(workers: &[(&WorkerPlan, &WorkerRecording)]) -> Option<u64> {
    let has_latencies = workers.iter().all(|(_, worker)| !worker.interval_latencies.is_empty());
    let grid = |plan: &WorkerPlan| match has_latencies {
        true => plan.measurement.histogram_interval_ns,
        false => plan.measurement.interval_ns,
    };
    let first = grid(workers.first()?.0);
    (first > 0 && workers.iter().all(|(plan, _)| grid(plan) == first)).then_some(first)
}

fn stretches(worker: &WorkerRecording) -> Vec<Stretch> {
    if worker.interval_latencies.is_empty() {
        let rates = |interval: &iolab_recording::Interval| {
            let of = |(place, direction): (usize, Direction)| SummaryInterval {
                operations: operations(direction),
                ios: interval.ios[place],
                bytes: interval.bytes[place],
                lat: SparseHistogram::default(),
                clat: SparseHistogram::default(),
                response: SparseHistogram::default(),
            };
            let directions = Direction::ALL.into_iter().enumerate().map(of).filter(|one| one.ios > 0).collect();
            Stretch { start_ns: interval.start_ns, length_ns: interval.length_ns, directions }
        };
        return worker.intervals.iter().map(rates).collect();
    }
    let latencies = |interval: &iolab_recording::IntervalLatencies| {
        let of = |one: &iolab_recording::DirectionInterval| SummaryInterval {
            operations: operations(one.direction),
            ios: one.ios,
            bytes: one.bytes,
            lat: one.lat(),
            clat: one.clat(),
            response: one.response(),
        };
        let directions = interval.directions.iter().map(of).collect();
        Stretch { start_ns: interval.start_ns, length_ns: interval.length_ns, directions }
    };
    worker.interval_latencies.iter().map(latencies).collect()
}

fn add(sums: &mut Vec<SummaryInterval>, more: &SummaryInterval) {
    match sums.iter_mut().find(|own| own.operations == more.operations) {
        None => sums.push(more.clone()),
        Some(own) => {
            own.ios = own.ios.saturating_add(more.ios);
            own.bytes = own.bytes.saturating_add(more.bytes);
            own.lat.merge(&more.lat);
            own.clat.merge(&more.clat);
            own.response.merge(&more.response);
        }
    }
}
