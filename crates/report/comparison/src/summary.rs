//! The summary of a run: what a comparison needs of it, whichever program ran it.
//!
//! A job has the sum of its workers: rates over the longest run time (the definition of
//! [`Throughput`]), histograms merged. A percentile comes from a histogram if there is one;
//! percentiles stated in a report are used unchanged and never combined. Nothing is shown with
//! fewer samples than it needs ([`samples_needed`]).

use std::collections::BTreeMap;

use iolab_aggregate::{ReachedStorage, Throughput};
use iolab_histogram::SparseHistogram;
use iolab_recording::Finding;
use iolab_statistics::samples_needed;
use serde::{Deserialize, Serialize};

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its file name, or another name that the reader knows.
    pub name: String,
    /// Program and version that ran it.
    pub tool: String,
    /// The machine, if known.
    pub hostname: Option<String>,
    /// `uname -r`, if known.
    pub kernel: Option<String>,
    /// Model of the CPU, if known.
    pub cpu_model: Option<String>,
    /// When its first stage began, ns since the Unix epoch, if known.
    pub started_unix_ns: Option<u64>,
    /// How long it took, ns, if known.
    pub elapsed_ns: Option<u64>,
    /// Why the run does not count: it failed or was interrupted.
    pub flaw: Option<String>,
    /// Findings about its figures.
    pub findings: Vec<Finding>,
    /// The storage it used; empty if that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<ReachedStorage>,
    /// What was lost or assumed when it was read.
    pub notes: Vec<String>,
    /// Figures of the run as a whole, by name: of block devices, or those printed by the command of
    /// a study.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub of_the_run: BTreeMap<String, f64>,
    /// Its jobs, in order, with unique names.
    pub jobs: Vec<JobSummary>,
}

/// The workers of one job together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobSummary {
    /// Its name.
    pub name: String,
    /// Workers.
    pub workers: u32,
    /// Jobs of the same stage run at the same time.
    pub stage: u32,
    /// Options as the user wrote them, those of `[global]` included.
    pub options: BTreeMap<String, String>,
    /// What was done, each kind of operations at most once.
    pub directions: Vec<DirectionSummary>,
    /// CPU time of its workers, ns, if known.
    pub cpu_ns: Option<f64>,
    /// Intervals of equal length, ascending, if they were recorded and requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<IntervalSummary>,
}

/// The kind of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationType {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// All directions together, if a report does not separate them (`unified_rw_reporting`).
    Mixed,
}

/// One kind of operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionSummary {
    /// Their kind.
    pub operations: OperationType,
    /// Number of operations.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Operations per second.
    pub ios_per_second: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// reaped - begun.
    pub lat: Latencies,
    /// reaped - submitted.
    pub clat: Latencies,
    /// reaped - intended, of a paced load.
    pub response: Latencies,
}

/// Latencies, as completely as they are known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Number of latencies.
    pub count: u64,
    /// Their mean, ns.
    pub mean_ns: Option<f64>,
    /// Histogram of all of them.
    pub histogram: Option<SparseHistogram>,
    /// `(percent, ns)` as stated in a report, if there is no histogram.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<(f64, f64)>,
}

/// One interval of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IntervalSummary {
    /// Start, ns since the start of the run.
    pub start_ns: u64,
    /// Length, ns; all workers were measured throughout.
    pub length_ns: u64,
    /// What was completed in it.
    pub directions: Vec<SummaryInterval>,
}

/// One kind of operations in an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryInterval {
    /// Their kind.
    pub operations: OperationType,
    /// Number of operations.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// reaped - begun; empty when not recorded by interval.
    pub lat: SparseHistogram,
    /// reaped - submitted.
    pub clat: SparseHistogram,
    /// reaped - intended.
    pub response: SparseHistogram,
}

impl Latencies {
    /// All latencies in `histogram`.
    pub fn of(histogram: &SparseHistogram) -> Latencies {
        if histogram.is_empty() {
            return Latencies::default();
        }
        Latencies {
            count: histogram.count,
            mean_ns: Some(histogram.mean()),
            histogram: Some(histogram.clone()),
            percentiles: Vec::new(),
        }
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds those of `other`. Percentiles without a histogram are lost: they cannot be combined.
    pub fn merge(&mut self, other: &Latencies) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        let (ours, theirs) = (self.count as f64, other.count as f64);
        self.mean_ns = self.mean_ns.zip(other.mean_ns).map(|(a, b)| (a * ours + b * theirs) / (ours + theirs));
        self.count = self.count.saturating_add(other.count);
        self.percentiles.clear();
        self.histogram = match (self.histogram.take(), &other.histogram) {
            (Some(mut all), Some(more)) => {
                all.merge(more);
                Some(all)
            }
            _ => None,
        };
    }

    /// The `percent`-th percentile, ns; `None` when it is not known or has too few samples.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        if self.count < samples_needed(percent) {
            return None;
        }
        match &self.histogram {
            Some(histogram) => Some(histogram.percentile(percent) as f64),
            None => self.percentiles.iter().find(|(stated, _)| (stated - percent).abs() < 1e-6).map(|entry| entry.1),
        }
    }
}

impl DirectionSummary {
    /// Operations, bytes, and the time that they took, which follows from the rate.
    pub fn done(&self) -> Throughput {
        let runtime_s = if self.ios_per_second > 0.0 { self.ios as f64 / self.ios_per_second } else { 0.0 };
        Throughput { ios: self.ios, bytes: self.bytes, runtime_ns: (runtime_s * 1e9).round() as u64 }
    }

    /// Adds the work of another worker or job at the same time.
    pub fn merge(&mut self, other: &DirectionSummary) {
        let done = self.done().beside(other.done());
        self.ios = done.ios;
        self.bytes = done.bytes;
        self.ios_per_second = done.ios_per_second();
        self.bytes_per_second = done.bytes_per_second();
        self.lat.merge(&other.lat);
        self.clat.merge(&other.clat);
        self.response.merge(&other.response);
    }
}

impl JobSummary {
    /// Adds a worker of the same job.
    pub fn merge(&mut self, other: JobSummary) {
        self.workers = self.workers.saturating_add(other.workers);
        self.cpu_ns = self.cpu_ns.zip(other.cpu_ns).map(|(ours, theirs)| ours + theirs);
        for direction in &other.directions {
            match self.directions.iter_mut().find(|own| own.operations == direction.operations) {
                Some(own) => own.merge(direction),
                None => self.directions.push(direction.clone()),
            }
        }
    }

    /// Whether it did operations of this kind.
    pub fn has(&self, operations: OperationType) -> bool {
        self.directions.iter().any(|one| one.operations == operations && one.ios > 0)
    }
}

/// Adds `job` to `jobs`, merged with the one of the same name.
pub(crate) fn gather(jobs: &mut Vec<JobSummary>, job: JobSummary) {
    match jobs.iter_mut().find(|own| own.name == job.name) {
        Some(own) => own.merge(job),
        None => jobs.push(job),
    }
}

#[cfg(test)]
mod tests {
    use iolab_histogram::Histogram;

    use super::*;

    fn stated(count: u64, p99_ns: f64) -> Latencies {
        Latencies { count, mean_ns: Some(p99_ns / 2.0), histogram: None, percentiles: vec![(99.0, p99_ns)] }
    }

    fn measured(values: std::ops::Range<u64>) -> Latencies {
        let mut histogram = Histogram::new();
        values.for_each(|value| histogram.add(value));
        Latencies::of(&histogram.to_sparse())
    }

    #[test]
    fn histograms_are_merged_and_stated_percentiles_are_not() {
        let mut both = stated(1000, 100.0);
        both.merge(&stated(3000, 300.0));
        assert_eq!((both.count, both.mean_ns, both.percentile(99.0)), (4000, Some(125.0), None));
        let mut both = measured(0..1000);
        both.merge(&measured(1000..2000));
        assert_eq!(both.percentile(50.0).map(|value| (value / 1000.0).round()), Some(1.0));
        both.merge(&Latencies::default());
        assert_eq!(both.count, 2000);
        both.merge(&stated(5000, 1.0));
        assert_eq!(both.percentile(50.0), None, "half of it is not known");
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        assert_eq!(stated(999, 5.0).percentile(99.0), None);
        assert_eq!(stated(1000, 5.0).percentile(99.0), Some(5.0));
        assert_eq!(stated(1000, 5.0).percentile(98.0), None, "it is not stated");
    }
}
