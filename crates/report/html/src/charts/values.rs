//! Estimates of any figure of any configuration.
//!
//! A figure of the study comes from its analysis. Others, such as the reads of a study that asks
//! for both directions together, are computed from the trials in the same way: a value for each,
//! and the median with its interval.

use iolab_aggregate::Throughput;
use iolab_charts::{AxisMeasure as Shown, AxisUnit, Estimate, Spacing};
use iolab_histogram::SparseHistogram;
use iolab_statistics::median_interval;
use iolab_study::{Figure, FigureDirection, Measure, OperationFigures, known_percentile};

use crate::digest::{Digest, DirectionDigest};
use crate::number::meaning;
use crate::standing::Outcome;

/// A study with its trials.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Material<'a> {
    pub(crate) outcome: Outcome<'a>,
    pub(crate) digests: &'a [Digest],
}

impl<'a> Material<'a> {
    /// The trials of a configuration.
    pub(super) fn of(&self, configuration: usize) -> impl Iterator<Item = &'a Digest> {
        self.digests.iter().filter(move |digest| digest.planned.configuration == configuration)
    }

    /// The estimate of a figure for a configuration.
    pub(super) fn estimate(&self, figure: &Figure, configuration: usize) -> Estimate {
        let known = self.outcome.analysis.figures.iter().position(|own| own == figure);
        let values: Vec<f64> = match known.and_then(|number| self.outcome.row(number, configuration)) {
            Some(row) => row.values.iter().copied().flatten().collect(),
            None => self.of(configuration).filter_map(|digest| value(digest, figure)).collect(),
        };
        match median_interval(&values, self.outcome.rules.confidence) {
            Some(median) => Estimate::within(median.estimate, median.low, median.high).from_trials(&values),
            None => Estimate::default(),
        }
    }

    /// Directions with any operations: reads, writes.
    pub(super) fn sides(&self) -> Vec<FigureDirection> {
        let is_used = |side: &FigureDirection| {
            self.digests.iter().any(|digest| directions(digest, *side).iter().any(|one| one.done.ios > 0))
        };
        [FigureDirection::Read, FigureDirection::Write].into_iter().filter(is_used).collect()
    }

    /// Splits a figure of all operations by direction if there are two: a sum would hide which of
    /// them changed.
    pub(super) fn apart(&self, figure: &Figure) -> Vec<Figure> {
        let of_directions = matches!(
            figure.measure,
            Measure::Iops | Measure::Bandwidth | Measure::MeanLatency | Measure::Latency(_) | Measure::Response(_)
        );
        match self.sides().as_slice() {
            [one, other] if of_directions && figure.side == FigureDirection::All => {
                [one, other].map(|side| Figure { side: *side, measure: figure.measure.clone() }).to_vec()
            }
            _ => vec![figure.clone()],
        }
    }

    /// The figures of the study, split by direction, without duplicates.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let mut figures: Vec<Figure> = Vec::new();
        for figure in self.outcome.analysis.figures.iter().flat_map(|figure| self.apart(figure)) {
            if !figures.contains(&figure) {
                figures.push(figure);
            }
        }
        figures
    }

    /// Whether any configuration has a value.
    pub(super) fn is_known(&self, figure: &Figure) -> bool {
        (0..self.outcome.design.configurations.len()).any(|number| self.estimate(figure, number).value.is_some())
    }

    /// The latencies of a configuration in all of its trials together.
    pub(super) fn latencies(&self, side: FigureDirection, configuration: usize) -> SparseHistogram {
        let mut all = SparseHistogram::default();
        for digest in self.of(configuration) {
            directions(digest, side).iter().for_each(|one| all.merge(&one.lat));
        }
        all
    }
}

fn directions(digest: &Digest, side: FigureDirection) -> &[DirectionDigest] {
    match side {
        FigureDirection::All => &digest.directions,
        FigureDirection::Read => &digest.directions[..1],
        FigureDirection::Write => &digest.directions[1..2],
    }
}

/// The operations of one side of a trial.
struct Reduced<'a> {
    digest: &'a Digest,
    side: FigureDirection,
}

impl Reduced<'_> {
    fn done(&self) -> Throughput {
        match self.side {
            FigureDirection::All => self.digest.done,
            FigureDirection::Read => self.digest.directions[0].done,
            FigureDirection::Write => self.digest.directions[1].done,
        }
    }

    fn merged(&self, of: fn(&DirectionDigest) -> &SparseHistogram) -> SparseHistogram {
        let mut all = SparseHistogram::default();
        directions(self.digest, self.side).iter().for_each(|one| all.merge(of(one)));
        all
    }
}

impl OperationFigures for Reduced<'_> {
    fn count(&self) -> u64 {
        self.done().ios
    }

    fn rates(&self) -> [f64; 2] {
        [self.done().ios_per_second(), self.done().bytes_per_second()]
    }

    fn mean_latency_ns(&self) -> Option<f64> {
        Some(self.merged(|one| &one.lat)).filter(|all| !all.is_empty()).map(|all| all.mean())
    }

    fn latency_ns(&self, percent: f64) -> Option<f64> {
        known_percentile(&self.merged(|one| &one.lat), percent)
    }

    fn response_ns(&self, percent: f64) -> Option<f64> {
        known_percentile(&self.merged(|one| &one.response), percent)
    }

    fn cpu_ns(&self) -> Option<f64> {
        Some((self.digest.user_ns + self.digest.system_ns) as f64)
    }
}

/// A figure of one trial, as the study computes it.
fn value(digest: &Digest, figure: &Figure) -> Option<f64> {
    figure.value(&Reduced { digest, side: figure.side })
}

/// The axis of a figure. Axes of latencies are logarithmic, because factors matter.
pub(super) fn measure(figure: &Figure) -> Shown {
    let unit = match figure.unit() {
        "ns" => AxisUnit::Nanoseconds,
        "B/s" => AxisUnit::BytesPerSecond,
        "B" => AxisUnit::Bytes,
        _ if figure.measure == Measure::Iops => AxisUnit::PerSecond,
        _ => AxisUnit::Count,
    };
    let spacing = if unit == AxisUnit::Nanoseconds { Spacing::Log } else { Spacing::Linear };
    let unit_word = match figure.unit() {
        "" | "ns" | "B/s" | "B" => String::new(),
        other => format!(", {other}"),
    };
    Shown { name: format!("{}{unit_word}", short(figure)), unit, spacing }
}

/// The short name of a figure for titles.
pub(super) fn short(figure: &Figure) -> String {
    let of = side_words(figure.side);
    match &figure.measure {
        Measure::Iops => format!("IOPS{of}"),
        Measure::Bandwidth => format!("bandwidth{of}"),
        Measure::Latency(percent) => format!("p{percent} of latency{of}"),
        Measure::Response(percent) => format!("p{percent} of response time{of}"),
        Measure::MachineCpu => "CPU time of the machine for an operation".to_owned(),
        Measure::Traffic => "bytes of the disks for a byte of the load".to_owned(),
        Measure::Device(device) => format!("{} of the device", device.name()),
        Measure::Reported(reported) => reported.name.clone(),
        _ => meaning(figure),
    }
}

/// ` of reads`, ` of writes`, or nothing.
pub(super) fn side_words(side: FigureDirection) -> &'static str {
    match side {
        FigureDirection::All => "",
        FigureDirection::Read => " of reads",
        FigureDirection::Write => " of writes",
    }
}

/// The name of a figure at the beginning of a title. Columns of iostat keep their spelling.
pub(super) fn titled(figure: &Figure) -> String {
    match figure.measure {
        Measure::Device(_) => short(figure),
        _ => capital(&short(figure)),
    }
}

/// Capitalises a title, unless it begins with the name of a percentile.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    if text.starts_with('p') && text[1..].starts_with(|second: char| second.is_ascii_digit()) {
        return text.to_owned();
    }
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_keep_the_spelling_of_names() {
        for (name, expected) in [
            ("bandwidth", "Bandwidth"),
            ("read.p99.9", "p99.9 of latency of reads"),
            ("device.rareq-sz", "rareq-sz of the device"),
            ("iops", "IOPS"),
        ] {
            assert_eq!(titled(&Figure::from_name(name).expect(name)), expected);
        }
    }
}
