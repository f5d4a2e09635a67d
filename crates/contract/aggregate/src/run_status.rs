//! The sums of a reporting group: what `Run status group` lines say.

use iolab_order::Arrange;
use iolab_plan::MeasurementPlan;

use crate::direction::DirectionFigures;
use crate::jobs::JobFigures;
use crate::throughput::Throughput;

/// One reporting group.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStatus<'a> {
    /// Its number.
    pub number: u32,
    /// The number format of its first worker.
    pub measurement: &'a MeasurementPlan,
    /// Directions in which there was I/O.
    pub lines: Vec<RunStatusLine>,
}

impl RunStatus<'_> {
    /// The line of a direction.
    pub fn line(&self, name: &str) -> Option<&RunStatusLine> {
        self.lines.iter().find(|line| line.name == name)
    }
}

/// One direction of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStatusLine {
    /// `read`, `write`, `trim` or `mixed`.
    pub name: &'static str,
    /// Bytes of all workers.
    pub bytes: u64,
    /// Rate over the longest run time, bytes per second: a [`Throughput`].
    pub bytes_per_second: f64,
    /// Slowest and fastest worker, bytes per second.
    pub worker_rates: (f64, f64),
    /// Shortest and longest run time of the workers, ms.
    pub runtime_range_ms: (u64, u64),
}

pub(crate) fn run_status<'a>(jobs: &[JobFigures<'a>]) -> Vec<RunStatus<'a>> {
    let mut numbers: Vec<u32> = jobs.iter().map(|job| job.plan.group).collect();
    numbers.arrange();
    numbers.dedup();
    numbers.into_iter().filter_map(|number| group_status(number, jobs)).collect()
}

fn group_status<'a>(number: u32, jobs: &[JobFigures<'a>]) -> Option<RunStatus<'a>> {
    let members = || jobs.iter().filter(|job| job.plan.group == number);
    let measurement = &members().next()?.plan.measurement;
    let line = |name: &'static str| {
        let all = members().flat_map(|job| job.directions.iter().chain(&job.mixed));
        sum_line(name, &all.filter(|figures| figures.name == name && figures.ios > 0).collect::<Vec<_>>())
    };
    let lines = ["read", "write", "trim", "mixed"].into_iter().filter_map(line).collect();
    Some(RunStatus { number, measurement, lines })
}

fn sum_line(name: &'static str, parts: &[&DirectionFigures]) -> Option<RunStatusLine> {
    // Workers of a group are of one stage: a stonewall begins a new group.
    let whole = parts.iter().map(|figures| figures.throughput()).reduce(Throughput::beside)?;
    let mut worker_rates = (f64::INFINITY, 0.0_f64);
    let mut runtime_range_ms = (u64::MAX, 0);
    for figures in parts {
        let (rates, runtimes) = (figures.worker_rates, figures.runtime_range_ms);
        worker_rates = (worker_rates.0.min(rates.0), worker_rates.1.max(rates.1));
        runtime_range_ms = (runtime_range_ms.0.min(runtimes.0), runtime_range_ms.1.max(runtimes.1));
    }
    Some(RunStatusLine {
        name,
        bytes: whole.bytes,
        bytes_per_second: whole.bytes_per_second(),
        worker_rates,
        runtime_range_ms,
    })
}
