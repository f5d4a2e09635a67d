//! The results: a sample for each pattern and round, and the findings and limits of all of them
//! together.

use iolab_aggregate::{Latency, WholeRun};
use iolab_findings::{BottleneckKind, limits};
use iolab_histogram::SparseHistogram;
use iolab_order::Arrange;
use iolab_plan::Direction;
use iolab_recording::{Finding, Recording};
use iolab_statistics::{Interval, SteadyState, median_interval};

use crate::measured::MeasuredTarget;
use crate::profiles::{AccessPattern, BenchPattern, BenchProfile, RoundPlan};

/// The source of cards and JSON.
#[derive(Debug)]
pub struct BenchResults {
    /// What was measured.
    pub measured: MeasuredTarget,
    /// By which patterns.
    pub profile: &'static BenchProfile,
    /// How long.
    pub pace: RoundPlan,
    /// The patterns that were measured.
    pub cases: Vec<Case>,
    /// What findings and limits say.
    pub seen: RunFindings,
    /// Drives to compare with.
    pub drives: Vec<KnownDrive>,
    /// Whether the rounds became steady, if the profile asks for that.
    pub steady: Option<SteadyState>,
}

impl BenchResults {
    /// Rounds that were run: more than asked for if they had to become steady.
    pub fn rounds(&self) -> usize {
        self.cases.iter().map(|case| case.samples.len()).max().unwrap_or(self.pace.rounds as usize)
    }

    /// Patterns that were left out because they would have overwritten data.
    pub fn left_out(&self) -> impl Iterator<Item = &'static BenchPattern> + '_ {
        let is_measured = |pattern: &BenchPattern| self.cases.iter().any(|case| case.pattern.key == pattern.key);
        self.profile.patterns.iter().filter(move |pattern| !is_measured(pattern))
    }
}

/// A pattern and its rounds.
#[derive(Debug, Clone)]
pub struct Case {
    /// The pattern.
    pub pattern: BenchPattern,
    /// A sample for each round.
    pub samples: Vec<PatternSample>,
}

/// One round of a pattern.
#[derive(Debug, Clone, Default)]
pub struct PatternSample {
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Latencies of operations, ns.
    pub latencies: SparseHistogram,
    /// Latencies of fdatasync, ns.
    pub syncs: SparseHistogram,
}

/// The confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// The result of one run of a pattern.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Its figures.
    pub sample: PatternSample,
    /// What they are worth.
    pub findings: Vec<Finding>,
    /// Its limit, in a few words.
    pub limit: Option<&'static str>,
}

impl Reading {
    /// The result from the recording of one run.
    pub fn of(recording: &Recording) -> Reading {
        let limit = limits(recording).into_iter().next().map(|limit| word(limit.kind));
        Reading { sample: PatternSample::of(recording), findings: recording.findings.clone(), limit }
    }
}

impl PatternSample {
    fn of(recording: &Recording) -> PatternSample {
        let whole = WholeRun::new(recording);
        let done = whole.throughput(&Direction::ALL);
        let mut syncs = SparseHistogram::default();
        whole.workers().for_each(|worker| syncs.merge(&worker.sync.lat));
        PatternSample {
            iops: done.ios_per_second(),
            bytes_per_second: done.bytes_per_second(),
            latencies: whole.latencies(&Direction::ALL, Latency::Total),
            syncs,
        }
    }
}

impl Case {
    /// Operations per second: the median over the rounds.
    pub fn iops(&self) -> Option<Interval> {
        self.interval(|sample| sample.iops)
    }

    /// Bytes per second: the median over the rounds.
    pub fn bytes_per_second(&self) -> Option<Interval> {
        self.interval(|sample| sample.bytes_per_second)
    }

    fn interval(&self, of: fn(&PatternSample) -> f64) -> Option<Interval> {
        median_interval(&self.samples.iter().map(of).collect::<Vec<_>>(), CONFIDENCE)
    }

    /// The latencies of all rounds, ns. For commits, those of fdatasync alone: it takes most of the
    /// time, and percentiles cannot be added.
    pub fn latencies(&self) -> SparseHistogram {
        let mut all = SparseHistogram::default();
        let of =
            |sample: &'_ PatternSample| if self.is_commit() { sample.syncs.clone() } else { sample.latencies.clone() };
        self.samples.iter().for_each(|sample| all.merge(&of(sample)));
        all
    }

    /// A percentile of [`Case::latencies`], ns.
    pub fn latency_ns(&self, percent: f64) -> Option<u64> {
        let all = self.latencies();
        (!all.is_empty()).then(|| all.percentile(percent))
    }

    /// Whether its operations are commits.
    pub fn is_commit(&self) -> bool {
        self.pattern.access == AccessPattern::Commit
    }
}

/// What findings and limits say of all runs.
#[derive(Debug, Default)]
pub struct RunFindings {
    /// The most severe finding of each rule, and the keys of the patterns that it was made in; the
    /// most severe first.
    pub findings: Vec<(Finding, Vec<&'static str>)>,
    /// For each limit the names of the patterns that it limited, in the last round of each.
    pub limits: Vec<(&'static str, Vec<&'static str>)>,
}

impl RunFindings {
    /// Adds the findings and the limit of one run.
    pub fn take(&mut self, pattern: &BenchPattern, reading: &Reading) {
        for finding in &reading.findings {
            match self.findings.iter_mut().find(|(known, _)| known.rule == finding.rule) {
                Some((known, keys)) => {
                    if finding.severity < known.severity {
                        known.clone_from(finding);
                    }
                    if !keys.contains(&pattern.key) {
                        keys.push(pattern.key);
                    }
                }
                None => self.findings.push((finding.clone(), vec![pattern.key])),
            }
        }
        self.findings.arrange_by_key(|(finding, _)| finding.severity);
        let Some(word) = reading.limit else { return };
        self.limits.iter_mut().for_each(|(_, names)| names.retain(|name| *name != pattern.name));
        match self.limits.iter_mut().find(|(known, _)| *known == word) {
            Some((_, names)) => names.push(pattern.name),
            None => self.limits.push((word, vec![pattern.name])),
        }
        self.limits.retain(|(_, names)| !names.is_empty());
    }
}

/// A limit in a few words.
fn word(kind: BottleneckKind) -> &'static str {
    match kind {
        BottleneckKind::Cache => "RAM (the page cache answered)",
        BottleneckKind::Tool => "the load generator",
        BottleneckKind::Schedule => "the requested rate",
        BottleneckKind::Quota => "a quota of CPU time",
        BottleneckKind::Host => "other programs on the CPUs",
        BottleneckKind::Processor => "the processor",
        BottleneckKind::Latency => "latency: one operation after the other",
        BottleneckKind::Submission => "submission: one operation after the other",
        BottleneckKind::Network => "the network",
        BottleneckKind::Device => "the device",
        BottleneckKind::Unknown => "unknown",
    }
}

/// A drive, by its data sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDrive {
    /// Name of the preset.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Sequential reads, bytes per second.
    pub read_bytes_per_second: u64,
    /// Sequential writes, bytes per second.
    pub write_bytes_per_second: u64,
    /// Random 4 KiB reads per second at a high depth.
    pub read_iops: u64,
    /// Where the figures come from.
    pub source: &'static str,
}
