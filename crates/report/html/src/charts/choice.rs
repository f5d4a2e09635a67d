//! Which figures a study gets: one table of rules.
//!
//! A rule looks at what the study varies and what its trials measured, and draws, or does not
//! apply. Rules do not know each other; those that would show the same twice ask the same questions
//! of the axes.

use iolab_study::{Axis, Measure};

use super::axes::{self, Kind};
use super::values::Material;
use super::{Gallery, blocks, distributions, rounds, sweeps};

/// One kind of figures.
struct Rule {
    /// Heading of its figures.
    title: &'static str,
    /// How to read them.
    note: &'static str,
    /// Whether the study has what it takes.
    applies: fn(&Shape<'_>) -> bool,
    /// Draws.
    draw: fn(&mut Gallery, &Shape<'_>),
}

/// In the order in which a storage engineer looks at them.
const RULES: [Rule; 10] = [
    Rule {
        title: "Latency against offered load",
        note: "Operations came at the load's own times, whether the device was ready or not. The response time counts from when an operation was due, the service time from when it began; where they part, operations wait.",
        applies: |shape| !shape.material.outcome.analysis.ladders.is_empty(),
        draw: rounds::ladders,
    },
    Rule {
        title: "Latency against load",
        note: "Each point is a queue depth, or a number of jobs. To the right and down is better; where a line turns upwards, more load only waits longer.",
        applies: |shape| shape.of(Kind::Depth).or(shape.of(Kind::Jobs)).is_some(),
        draw: sweeps::latency_load,
    },
    Rule {
        title: "Percentile spectrum",
        note: "The latencies of all trials of a configuration together. Each nine to the right is ten times rarer; a percentile with too few samples is not drawn.",
        applies: |shape| shape.has_latencies(),
        draw: distributions::spectra,
    },
    Rule {
        title: "Latency by decile",
        note: "How long the fastest tenth, the next tenth, up to the slowest operations took.",
        applies: |shape| shape.has_latencies() && (shape.of(Kind::Mix).is_some() || shape.percentiles() > 3),
        draw: distributions::deciles,
    },
    Rule {
        title: "Speed over block size",
        note: "The roof is the least of the best IOPS and the best bandwidth that this study has seen: what is far below it is held back by something else.",
        applies: |shape| shape.of(Kind::BlockSize).is_some(),
        draw: sweeps::block_sizes,
    },
    Rule {
        title: "Two axes crossed",
        note: "Medians of the trials, below them half of the interval in percent; the lighter, the higher.",
        applies: |shape| sweeps::crossed(shape).is_some(),
        draw: sweeps::matrices,
    },
    Rule {
        title: "Along what was varied",
        note: "Medians of the trials with their intervals; the small points are the trials.",
        applies: |shape| shape.numeric().next().is_some(),
        draw: sweeps::lines,
    },
    Rule {
        title: "Side by side",
        note: "Medians of the trials with their intervals; the small points are the trials.",
        applies: |shape| shape.numeric().next().is_none() && !shape.material.outcome.varied_axes().is_empty(),
        draw: sweeps::groups,
    },
    Rule {
        title: "What the block layer made of it",
        note: "Requests that reached the device, and those that were merged into others before.",
        applies: |shape| {
            shape.material.digests.iter().any(|digest| digest.device.as_ref().is_some_and(|one| one.merges != [0, 0]))
        },
        draw: blocks::merges,
    },
    Rule {
        title: "Sizes of requests",
        note: "Mean size of the requests that reached the device.",
        applies: |shape| {
            shape.of(Kind::BlockSize).is_some() && shape.material.digests.iter().any(|digest| digest.device.is_some())
        },
        draw: blocks::sizes,
    },
];

/// What a study varies, and what it measured.
pub(super) struct Shape<'a> {
    pub(super) material: Material<'a>,
}

impl<'a> Shape<'a> {
    /// Axes that vary, with their numbers in the design.
    pub(super) fn axes(&self) -> Vec<(usize, &'a Axis)> {
        let outcome = self.material.outcome;
        let named = |axis: usize| Some((axis, axes::axis(outcome.study, &outcome.design.axes[axis])?));
        outcome.varied_axes().into_iter().filter_map(named).collect()
    }

    /// The axis of a kind.
    pub(super) fn of(&self, kind: Kind) -> Option<(usize, &'a Axis)> {
        self.axes().into_iter().find(|(_, axis)| axes::kind(axis) == kind)
    }

    /// Axes of numbers.
    pub(super) fn numeric(&self) -> impl Iterator<Item = (usize, &'a Axis)> {
        let is_number = |axis: &Axis| !matches!(axes::kind(axis), Kind::Mix | Kind::Names);
        self.axes().into_iter().filter(move |(_, axis)| is_number(axis))
    }

    fn has_latencies(&self) -> bool {
        let directions = self.material.digests.iter().flat_map(|digest| &digest.directions);
        directions.into_iter().any(|direction| !direction.lat.is_empty())
    }

    /// How many percentiles the study asks for.
    fn percentiles(&self) -> usize {
        let figures = self.material.outcome.analysis.figures.iter();
        figures.filter(|figure| matches!(figure.measure, Measure::Latency(_))).count()
    }
}

/// Draws everything that applies.
pub(crate) fn study_charts(gallery: &mut Gallery, material: Material<'_>) {
    let shape = Shape { material };
    for rule in RULES.iter().filter(|rule| (rule.applies)(&shape)) {
        gallery.group(rule.title, rule.note);
        (rule.draw)(gallery, &shape);
    }
}
