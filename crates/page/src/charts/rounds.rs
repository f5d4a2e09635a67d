//! Figures of what was done to find a load or a steady state: rate ladders, rounds of preconditioning.

use iolab_figures::{Estimate, Heading, LatencyLoad, LoadCurve, LoadPoint, Rounds, Slo, Spacing, SteadyRounds, Window};
use iolab_statistics::{Interval, SteadyState};
use iolab_study::{LadderResult, LevelResult, Preconditioned};

use super::Gallery;
use super::choice::Shape;
use super::values::{capital, measure, short};

/// Latency against load of each ladder, with the knee and what keeps to the target.
pub(super) fn ladders(gallery: &mut Gallery, shape: &Shape<'_>) {
    let outcome = &shape.material.outcome;
    for ladder in &outcome.analysis.ladders {
        let name = outcome.name(ladder.configuration);
        let title = if name.is_empty() {
            "Latency against offered load".to_owned()
        } else {
            format!("Latency against offered load; {name}")
        };
        let capacity = ladder.capacity.as_ref();
        let slo = outcome.study.ladder.as_ref().and_then(|asked| asked.slo.as_ref()).map(|slo| Slo {
            name: format!("p{} ≤ {}", slo.percent, iolab_units::rounded_ns(slo.limit_ns as f64)),
            target_ns: slo.limit_ns as f64,
            capacity: capacity.map(|capacity| capacity.iops),
        });
        let knee = ladder.knee.and_then(|knee| ladder.levels.get(knee.level)?.done_iops.map(|done| done.estimate));
        let heading = Heading::new(&gallery.id("ladder"), &title);
        gallery.add(LatencyLoad { heading, curves: curves(ladder), knee, slo, latency: Spacing::Log }.draw());
    }
}

fn curves(ladder: &LadderResult) -> Vec<LoadCurve> {
    let percents: Vec<f64> =
        ladder.levels.first().map_or(Vec::new(), |level| level.response.iter().map(|one| one.percent).collect());
    let points = |percent: f64, response: bool| {
        let point = |level: &LevelResult| {
            let percentiles = if response { &level.response } else { &level.service };
            let own = percentiles.iter().find(|one| one.percent == percent)?;
            let known: Vec<f64> = own.values.iter().copied().flatten().collect();
            let latency_ns = estimate(own.median?).from_trials(&known);
            Some(LoadPoint { offered: Some(level.asked_iops), throughput: level.done_iops?.estimate, latency_ns })
        };
        ladder.levels.iter().filter_map(point).collect()
    };
    let curve = |percent: &f64| LoadCurve {
        name: format!("p{percent}"),
        response: points(*percent, true),
        service: points(*percent, false),
    };
    percents.iter().map(curve).collect()
}

fn estimate(interval: Interval) -> Estimate {
    Estimate::within(interval.estimate, interval.low, interval.high)
}

/// The rounds of each preconditioning, and the window that was judged.
pub(super) fn rounds(gallery: &mut Gallery, shape: &Shape<'_>) {
    for done in &shape.material.outcome.analysis.preconditioned {
        if done.rounds.len() < 2 {
            continue;
        }
        let name = capital(&short(&done.figure));
        let chart = SteadyRounds {
            heading: Heading {
                id: gallery.id("rounds"),
                title: format!("{name} of the rounds of preconditioning"),
                note: done.describe(),
            },
            measure: measure(&done.figure),
            series: vec![Rounds { name, values: done.rounds.clone() }],
            tracked: 0,
            window: window(done),
            range_limit: done.rules.range,
            slope_limit: done.rules.slope,
            reached: matches!(done.verdict, Some(SteadyState::Reached { .. })),
            verdict: verdict(done),
        };
        gallery.add(chart.draw());
    }
}

fn window(done: &Preconditioned) -> Option<Window> {
    match done.verdict {
        Some(SteadyState::Reached { start, end, mean, range, slope, line }) => {
            Some(Window { start, end, mean, slope: line.slope, range_share: range, slope_share: slope })
        }
        _ => None,
    }
}

fn verdict(done: &Preconditioned) -> String {
    match done.verdict {
        Some(SteadyState::Reached { start, end, .. }) => format!("steady in rounds {} to {end}", start + 1),
        Some(SteadyState::NotYet { .. }) => "not steady yet".to_owned(),
        Some(SteadyState::GivenUp { .. }) => "no steady state: given up".to_owned(),
        None => "not judged".to_owned(),
    }
}
