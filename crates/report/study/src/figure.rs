//! Figures: one number of a trial, from its recording.

use iolab_aggregate::{Latency, WholeRun, machine_cpu_ns, traffic_per_byte};
use iolab_histogram::SparseHistogram;
use iolab_plan::Direction;
use iolab_recording::Recording;
use iolab_statistics::{Better, samples_needed};
use serde::{Deserialize, Serialize};

use crate::device_figure::DeviceFigure;
use crate::{Reported, StudyError};

/// A measure of certain operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// Operations.
    pub side: FigureDirection,
    /// The measure.
    pub measure: Measure,
}

/// The operations that a figure covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FigureDirection {
    /// All of them.
    All,
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// A measure of operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean of the latencies (`lat`: reaped - begun), ns.
    MeanLatency,
    /// A percentile of the latencies, ns.
    Latency(f64),
    /// A percentile of the response times (reaped - intended) of a paced load, ns.
    Response(f64),
    /// CPU time of the load generator for each operation, ns.
    CpuPerOperation,
    /// CPU time of the whole machine for each operation, ns.
    MachineCpu,
    /// Bytes that the disks at the bottom moved for each byte of the load.
    Traffic,
    /// Activity of the block device under the run's files.
    Device(DeviceFigure),
    /// A number printed by the command of the study.
    Reported(Reported),
}

impl Figure {
    /// The figures that a study reports by default.
    pub fn usual() -> Vec<Figure> {
        let of_all = |measure| Figure { side: FigureDirection::All, measure };
        [Measure::Iops, Measure::Bandwidth, Measure::Latency(50.0), Measure::Latency(99.0), Measure::Latency(99.9)]
            .map(of_all)
            .to_vec()
    }

    /// Parses `iops`, `bandwidth`, `mean`, `p99`, `p99.9`, `response_p99`, each also as
    /// `read.…` or `write.…`; `cpu`, `machine_cpu`, `traffic`, and those of the device.
    ///
    /// # Errors
    /// The list of valid names.
    pub fn from_name(name: &str) -> Result<Figure, StudyError> {
        let (side, rest) = match name.split_once('.') {
            Some(("read", rest)) => (FigureDirection::Read, rest),
            Some(("write", rest)) => (FigureDirection::Write, rest),
            _ => (FigureDirection::All, name),
        };
        let percent = |word: &str| word.parse().ok().filter(|percent| (0.0..100.0).contains(percent));
        let measure = match rest {
            "iops" => Some(Measure::Iops),
            "bandwidth" | "bw" => Some(Measure::Bandwidth),
            "mean" => Some(Measure::MeanLatency),
            "cpu" if side == FigureDirection::All => Some(Measure::CpuPerOperation),
            "machine_cpu" if side == FigureDirection::All => Some(Measure::MachineCpu),
            "traffic" if side == FigureDirection::All => Some(Measure::Traffic),
            _ if side == FigureDirection::All && rest.starts_with("device.") => {
                DeviceFigure::from_name(&rest["device.".len()..]).map(Measure::Device)
            }
            _ => match (rest.strip_prefix("response_p"), rest.strip_prefix('p')) {
                (Some(word), _) => percent(word).map(Measure::Response),
                (_, Some(word)) => percent(word).map(Measure::Latency),
                _ => None,
            },
        };
        let unknown = || {
            StudyError::meaning(format!(
                "unknown metric '{name}': use iops, bandwidth, mean, p50, p99, p99.9, response_p99, cpu, machine_cpu or traffic, or read.… or write.… of all but the last three; {}",
                DeviceFigure::names()
            ))
        };
        measure.map(|measure| Figure { side, measure }).ok_or_else(unknown)
    }

    /// Its name, as [`Figure::from_name`] reads it.
    pub fn name(&self) -> String {
        let side = match self.side {
            FigureDirection::All => "",
            FigureDirection::Read => "read.",
            FigureDirection::Write => "write.",
        };
        match &self.measure {
            Measure::Iops => format!("{side}iops"),
            Measure::Bandwidth => format!("{side}bandwidth"),
            Measure::MeanLatency => format!("{side}mean"),
            Measure::Latency(percent) => format!("{side}p{percent}"),
            Measure::Response(percent) => format!("{side}response_p{percent}"),
            Measure::CpuPerOperation => format!("{side}cpu"),
            Measure::MachineCpu => "machine_cpu".to_owned(),
            Measure::Traffic => "traffic".to_owned(),
            Measure::Device(figure) => format!("device.{}", figure.name()),
            Measure::Reported(reported) => reported.name.clone(),
        }
    }

    /// Whether higher or lower is better.
    pub fn better(&self) -> Better {
        match &self.measure {
            Measure::Iops | Measure::Bandwidth | Measure::Device(_) => Better::Higher,
            Measure::Reported(reported) => reported.better,
            _ => Better::Lower,
        }
    }

    /// Whether more or less of it is good in itself. For merges and request sizes neither is: they
    /// are higher or lower, not better or worse.
    pub fn is_judged(&self) -> bool {
        !matches!(self.measure, Measure::Device(_))
    }

    /// Its unit: `ns`, `B/s`, `B`, `%`, or empty for plain numbers and operations per second.
    pub fn unit(&self) -> &str {
        match &self.measure {
            Measure::Iops => "",
            Measure::Bandwidth => "B/s",
            Measure::Traffic => "",
            Measure::Device(figure) => figure.unit(),
            Measure::Reported(reported) => &reported.unit,
            _ => "ns",
        }
    }

    /// Its value in a recording; `None` if it cannot be computed, or with fewer samples than a
    /// percentile needs.
    pub fn of(&self, recording: &Recording) -> Option<f64> {
        match &self.measure {
            Measure::Device(figure) => figure.of(recording.devices.first()?),
            Measure::MachineCpu => machine_cpu_ns(recording),
            Measure::Traffic => traffic_per_byte(recording),
            _ => self.value(&Reduced { whole: WholeRun::new(recording), directions: self.side.directions() }),
        }
    }

    /// Its value for some operations; `None` also for figures that are not of operations.
    pub fn value(&self, of: &impl OperationFigures) -> Option<f64> {
        let rate = |rate: f64| (rate > 0.0).then_some(rate);
        match &self.measure {
            Measure::Iops => rate(of.rates()[0]),
            Measure::Bandwidth => rate(of.rates()[1]),
            Measure::MeanLatency => of.mean_latency_ns(),
            Measure::Latency(percent) => of.latency_ns(*percent),
            Measure::Response(percent) => of.response_ns(*percent),
            Measure::CpuPerOperation => {
                let operations = of.count();
                of.cpu_ns().filter(|_| operations > 0).map(|cpu_ns| cpu_ns / operations as f64)
            }
            Measure::MachineCpu | Measure::Traffic | Measure::Device(_) | Measure::Reported(_) => None,
        }
    }
}

/// The input of figures: the combined operations of one side. Sources other than recordings
/// implement it too, so that figures are the same everywhere.
pub trait OperationFigures {
    /// Number of operations.
    fn count(&self) -> u64;
    /// Operations and bytes per second.
    fn rates(&self) -> [f64; 2];
    /// Mean latency, ns; `None` when it is not known.
    fn mean_latency_ns(&self) -> Option<f64>;
    /// A percentile of latencies, ns; `None` when it has too few samples.
    fn latency_ns(&self, percent: f64) -> Option<f64>;
    /// A percentile of response times, ns; `None` when it has too few samples.
    fn response_ns(&self, percent: f64) -> Option<f64>;
    /// CPU time of their workers, ns; `None` when it is not known.
    fn cpu_ns(&self) -> Option<f64>;
}

impl FigureDirection {
    /// The directions it covers.
    pub fn directions(self) -> &'static [Direction] {
        match self {
            FigureDirection::All => &Direction::ALL,
            FigureDirection::Read => &[Direction::Read],
            FigureDirection::Write => &[Direction::Write],
        }
    }
}

/// The operations of a recording.
struct Reduced<'a> {
    whole: WholeRun<'a>,
    directions: &'static [Direction],
}

impl OperationFigures for Reduced<'_> {
    fn count(&self) -> u64 {
        self.whole.throughput(self.directions).ios
    }

    fn rates(&self) -> [f64; 2] {
        let done = self.whole.throughput(self.directions);
        [done.ios_per_second(), done.bytes_per_second()]
    }

    fn mean_latency_ns(&self) -> Option<f64> {
        let all = self.whole.latencies(self.directions, Latency::Total);
        (!all.is_empty()).then(|| all.mean())
    }

    fn latency_ns(&self, percent: f64) -> Option<f64> {
        known_percentile(&self.whole.latencies(self.directions, Latency::Total), percent)
    }

    fn response_ns(&self, percent: f64) -> Option<f64> {
        known_percentile(&self.whole.latencies(self.directions, Latency::Response), percent)
    }

    fn cpu_ns(&self) -> Option<f64> {
        Some(self.whole.cpu_ns().into_iter().fold(0, u64::saturating_add) as f64)
    }
}

/// A percentile, ns; `None` when it has too few samples.
pub fn known_percentile(histogram: &SparseHistogram, percent: f64) -> Option<f64> {
    (histogram.count >= samples_needed(percent)).then(|| histogram.percentile(percent) as f64)
}
