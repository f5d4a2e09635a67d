//! Figures: one number of a trial, from its recording.

use iolab_histogram::SparseHistogram;
use iolab_plan::PerDirection;
use iolab_recording::{DirectionRecording, Recording};
use iolab_statistics::{Better, samples_needed};
use serde::{Deserialize, Serialize};

use crate::device_figure::DeviceFigure;
use crate::{Reported, StudyError};

/// What is measured, of which operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Operations.
    pub side: Side,
    /// What of them.
    pub measure: Measure,
}

/// Operations of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// All of them.
    All,
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// What of the operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// What the block device under the run's files did.
    Device(DeviceFigure),
    /// A number in what the command of the study prints.
    Reported(Reported),
}

impl Figure {
    /// What a study reports unless told.
    pub fn usual() -> Vec<Figure> {
        let of_all = |measure| Figure { side: Side::All, measure };
        [Measure::Iops, Measure::Bandwidth, Measure::Latency(50.0), Measure::Latency(99.0), Measure::Latency(99.9)]
            .map(of_all)
            .to_vec()
    }

    /// Reads `iops`, `bandwidth`, `mean`, `p99`, `p99.9`, `response_p99`, `cpu`, each also as `read.…` or `write.…`.
    ///
    /// # Errors
    /// What the names are.
    pub fn from_name(name: &str) -> Result<Figure, StudyError> {
        let (side, rest) = match name.split_once('.') {
            Some(("read", rest)) => (Side::Read, rest),
            Some(("write", rest)) => (Side::Write, rest),
            _ => (Side::All, name),
        };
        let percent = |word: &str| word.parse().ok().filter(|percent| (0.0..100.0).contains(percent));
        let measure = match rest {
            "iops" => Some(Measure::Iops),
            "bandwidth" | "bw" => Some(Measure::Bandwidth),
            "mean" => Some(Measure::MeanLatency),
            "cpu" if side == Side::All => Some(Measure::CpuPerOperation),
            _ if side == Side::All && rest.starts_with("device.") => {
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
                "no figure is called '{name}': iops, bandwidth, mean, p50, p99, p99.9, response_p99, cpu, and read.… or write.… of those; {}",
                DeviceFigure::names()
            ))
        };
        measure.map(|measure| Figure { side, measure }).ok_or_else(unknown)
    }

    /// Its name, as [`Figure::from_name`] reads it.
    pub fn name(&self) -> String {
        let side = match self.side {
            Side::All => "",
            Side::Read => "read.",
            Side::Write => "write.",
        };
        match &self.measure {
            Measure::Iops => format!("{side}iops"),
            Measure::Bandwidth => format!("{side}bandwidth"),
            Measure::MeanLatency => format!("{side}mean"),
            Measure::Latency(percent) => format!("{side}p{percent}"),
            Measure::Response(percent) => format!("{side}response_p{percent}"),
            Measure::CpuPerOperation => format!("{side}cpu"),
            Measure::Device(figure) => format!("device.{}", figure.name()),
            Measure::Reported(reported) => reported.name.clone(),
        }
    }

    /// Which direction is good.
    pub fn better(&self) -> Better {
        match &self.measure {
            Measure::Iops | Measure::Bandwidth | Measure::Device(_) => Better::Higher,
            Measure::Reported(reported) => reported.better,
            _ => Better::Lower,
        }
    }

    /// Whether more, or less, of it is good in itself. Of merges and request sizes neither is: they are higher or lower, not better or worse.
    pub fn is_judged(&self) -> bool {
        !matches!(self.measure, Measure::Device(_))
    }

    /// What one of it is: `ns`, `B/s`, `B`, `%`, or empty for plain numbers and operations per second.
    pub fn unit(&self) -> &str {
        match &self.measure {
            Measure::Iops => "",
            Measure::Bandwidth => "B/s",
            Measure::Device(figure) => figure.unit(),
            Measure::Reported(reported) => &reported.unit,
            _ => "ns",
        }
    }

    /// Its value in a recording; `None` when there is nothing to make it of, or fewer samples than a percentile needs.
    pub fn of(&self, recording: &Recording) -> Option<f64> {
        let directions = || recording.workers.iter().flat_map(|worker| self.sides(&worker.directions));
        let rate = |amount: fn(&DirectionRecording) -> u64| {
            let rates = directions()
                .filter(|one| one.runtime_ns > 0)
                .map(|one| amount(one) as f64 * 1e9 / one.runtime_ns as f64);
            Some(rates.sum::<f64>()).filter(|rate| *rate > 0.0)
        };
        match &self.measure {
            Measure::Iops => rate(|one| one.ios),
            Measure::Bandwidth => rate(|one| one.bytes),
            Measure::MeanLatency => {
                let all = merged(directions().map(|one| &one.lat));
                (!all.is_empty()).then(|| all.mean())
            }
            Measure::Latency(percent) => percentile(&merged(directions().map(|one| &one.lat)), *percent),
            Measure::Response(percent) => percentile(&merged(directions().map(|one| &one.response)), *percent),
            Measure::CpuPerOperation => {
                let operations: u64 = directions().map(|one| one.ios).sum();
                let cpu: u64 = recording
                    .workers
                    .iter()
                    .map(|worker| worker.cpu.user_ns.saturating_add(worker.cpu.system_ns))
                    .fold(0, u64::saturating_add);
                (operations > 0).then(|| cpu as f64 / operations as f64)
            }
            Measure::Device(figure) => figure.of(recording.devices.first()?),
            Measure::Reported(_) => None,
        }
    }

    fn sides<'r>(&self, directions: &'r PerDirection<DirectionRecording>) -> &'r [DirectionRecording] {
        match self.side {
            Side::All => &directions[..],
            Side::Read => &directions[..1],
            Side::Write => &directions[1..2],
        }
    }
}

fn merged<'r>(histograms: impl Iterator<Item = &'r SparseHistogram>) -> SparseHistogram {
    let mut all = SparseHistogram::default();
    histograms.for_each(|one| all.merge(one));
    all
}

fn percentile(histogram: &SparseHistogram, percent: f64) -> Option<f64> {
    (histogram.count >= samples_needed(percent)).then(|| histogram.percentile(percent) as f64)
}
