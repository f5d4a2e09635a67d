//! One direction of one reported job.

use iolab_histogram::SparseHistogram;
use iolab_plan::Direction;
use iolab_recording::{DirectionRecording, PriorityRecording, WorkerRecording};

use crate::members::Member;
use crate::series::{SeriesSummary, summed_series, windows};
use crate::throughput::{Throughput, milliseconds};

/// Totals, latencies and rates of one direction, or of all directions together.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionFigures {
    /// `read`, `write`, `trim` or `mixed`.
    pub name: &'static str,
    /// Operations completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// The divisor of its rates, ns: that of [`Throughput`].
    pub runtime_ns: u64,
    /// Shortest and longest run time of the workers that did such operations, ms.
    pub runtime_range_ms: (u64, u64),
    /// Slowest and fastest of those workers, bytes per second.
    pub worker_rates: (f64, f64),
    /// Short transfers.
    pub short_ios: u64,
    /// Operations given up.
    pub dropped_ios: u64,
    /// Submission latency, ns.
    pub slat: SparseHistogram,
    /// Completion latency, ns.
    pub clat: SparseHistogram,
    /// Total latency, ns.
    pub lat: SparseHistogram,
    /// Latency from the intended start, ns; empty unless the load was paced.
    pub response: SparseHistogram,
    /// The part of it spent waiting for the device, ns.
    pub backlog_wait: SparseHistogram,
    /// The part of it due to the load generator's own lateness, ns.
    pub generator_late: SparseHistogram,
    /// The operations of each priority, if the job's have several; that of the workers first.
    pub priorities: Vec<PriorityRecording>,
    /// Bandwidth over the averaging windows, KiB/s.
    pub bandwidth: SeriesSummary,
    /// IOPS over the averaging windows.
    pub iops: SeriesSummary,
    /// Mean bandwidth as a share of the group's, percent, at most 100.
    pub share_percent: f64,
}

impl DirectionFigures {
    /// Adds up `directions` of workers; windows and recorded latencies follow the plan of the
    /// first.
    pub(crate) fn of(directions: &[Direction], members: &[Member<'_>]) -> DirectionFigures {
        let name = if directions.len() == 1 { directions[0].name() } else { "mixed" };
        let measurement = &members[0].0.measurement;
        let workers: Vec<&WorkerRecording> = members.iter().map(|member| member.1).collect();
        let whole = Throughput::of(directions, members);
        let mut sum = DirectionRecording::default();
        let mut runtime_range_ms = (u64::MAX, 0);
        let mut worker_rates = (f64::INFINITY, 0.0_f64);
        for worker in &workers {
            let own = Throughput::of_worker(directions, worker);
            if own.ios > 0 {
                let ms = milliseconds(own.runtime_ns);
                runtime_range_ms = (runtime_range_ms.0.min(ms), runtime_range_ms.1.max(ms));
                let rate = own.bytes_per_second();
                worker_rates = (worker_rates.0.min(rate), worker_rates.1.max(rate));
            }
            directions.iter().for_each(|direction| add(&mut sum, &worker.directions[direction.index()]));
        }
        if whole.ios == 0 {
            (runtime_range_ms, worker_rates) = ((0, 0), (0.0, 0.0));
        }
        let (bandwidth, iops) = if whole.ios == 0 || !measurement.bandwidth {
            Default::default()
        } else {
            let series = summed_series(&workers, directions, measurement.interval_ns);
            let over = |window_ms| windows(&series, window_ms);
            (
                SeriesSummary::of(over(measurement.bandwidth_window_ms).iter().map(|s| s.kib_per_second())),
                SeriesSummary::of(over(measurement.iops_window_ms).iter().map(|s| s.ios_per_second())),
            )
        };
        DirectionFigures {
            name,
            ios: whole.ios,
            bytes: whole.bytes,
            runtime_ns: whole.runtime_ns,
            runtime_range_ms,
            worker_rates,
            short_ios: sum.short_ios,
            dropped_ios: sum.dropped_ios,
            slat: sum.slat,
            clat: sum.clat,
            lat: sum.lat,
            response: sum.response,
            backlog_wait: sum.backlog_wait,
            generator_late: sum.generator_late,
            priorities: sum.priorities,
            bandwidth,
            iops,
            share_percent: 0.0,
        }
    }

    /// What was done, and the time it took.
    pub fn throughput(&self) -> Throughput {
        Throughput { ios: self.ios, bytes: self.bytes, runtime_ns: self.runtime_ns }
    }

    /// Bytes per second.
    pub fn bytes_per_second(&self) -> f64 {
        self.throughput().bytes_per_second()
    }

    /// Operations per second.
    pub fn ios_per_second(&self) -> f64 {
        self.throughput().ios_per_second()
    }

    /// Run time, ms.
    pub fn runtime_ms(&self) -> u64 {
        if self.ios == 0 { 0 } else { milliseconds(self.runtime_ns) }
    }

    pub(crate) fn set_share(&mut self, group_bytes_per_second: f64) {
        if group_bytes_per_second > 0.0 {
            self.share_percent = (self.bandwidth.mean * 1024.0 * 100.0 / group_bytes_per_second).min(100.0);
        }
    }
}

/// Adds everything but what [`Throughput`] holds.
fn add(sum: &mut DirectionRecording, own: &DirectionRecording) {
    sum.short_ios += own.short_ios;
    sum.dropped_ios += own.dropped_ios;
    sum.slat.merge(&own.slat);
    sum.clat.merge(&own.clat);
    sum.lat.merge(&own.lat);
    sum.response.merge(&own.response);
    sum.backlog_wait.merge(&own.backlog_wait);
    sum.generator_late.merge(&own.generator_late);
    for one in &own.priorities {
        match sum.priorities.iter_mut().find(|known| known.priority == one.priority) {
            Some(known) => known.latency.merge(&one.latency),
            None => sum.priorities.push(one.clone()),
        }
    }
}
