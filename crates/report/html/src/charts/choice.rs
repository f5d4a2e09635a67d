//! Which figures a study gets: one table of rules.
//!
//! A rule checks what the study varies and what its trials measured, and then draws or does not
//! apply. Rules are independent; those that would show the same thing twice check the same
//! properties of the axes.

use super::axes::Kind;
use super::shape::Shape;
use super::values::Material;
use super::{Gallery, blocks, distributions, rounds, sweeps};

/// One kind of figures.
struct Rule {
    /// Heading of its figures.
    title: &'static str,
    /// How to read them.
    note: &'static str,
    /// Whether the study has the required data.
    applies: fn(&Shape<'_>) -> bool,
    /// Draws the figures.
    draw: fn(&mut Gallery, &Shape<'_>),
}

/// In the order in which a storage engineer looks at them.
const RULES: [Rule; 10] = [
    Rule {
        title: "Latency against offered load",
        note: "Operations were sent on a fixed schedule, whether or not the device was ready. Response time counts \
            from when an operation was due, service time from when it started; where they differ, operations waited.",
        applies: |shape| !shape.material.outcome.analysis.ladders.is_empty(),
        draw: rounds::ladders,
    },
    Rule {
        title: "Latency against load",
        note: "Each point is a queue depth or a number of jobs. Lower right is better; where a line turns upwards, \
            more load only increases latency.",
        applies: |shape| shape.of(Kind::Depth).or(shape.of(Kind::Jobs)).is_some(),
        draw: sweeps::latency_load,
    },
    Rule {
        title: "Percentile spectrum",
        note: "Latencies of all trials of a configuration combined. Each nine to the right is ten times rarer; \
            percentiles with too few samples are omitted.",
        applies: |shape| shape.has_latencies(),
        draw: distributions::spectra,
    },
    Rule {
        title: "Latency by decile",
        note: "Latency of the fastest tenth of operations, the next tenth, and so on up to the slowest.",
        applies: |shape| shape.has_latencies() && (shape.of(Kind::Mix).is_some() || shape.percentiles() > 3),
        draw: distributions::deciles,
    },
    Rule {
        title: "Speed over block size",
        note: "The roof is the lower of the best IOPS and the best bandwidth of this study: points far below it are \
            limited by something else.",
        applies: |shape| shape.of(Kind::BlockSize).is_some(),
        draw: sweeps::block_sizes,
    },
    Rule {
        title: "Two axes crossed",
        note: "Medians of the trials, with half the interval width in percent below; lighter is higher.",
        applies: |shape| sweeps::crossed(shape).is_some(),
        draw: sweeps::matrices,
    },
    Rule {
        title: "Effect of each setting",
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
        title: "What the block layer did",
        note: "Requests that reached the device, and requests that were merged into others first.",
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

/// Draws everything that applies.
pub(crate) fn study_charts(gallery: &mut Gallery, material: Material<'_>) {
    let shape = Shape { material };
    for rule in RULES.iter().filter(|rule| (rule.applies)(&shape)) {
        gallery.group(rule.title, rule.note);
        (rule.draw)(gallery, &shape);
    }
}
