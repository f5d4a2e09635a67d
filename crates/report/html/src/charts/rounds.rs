//! Figures of the search for a load or a steady state: rate ladders, rounds of preconditioning.

use iolab_charts::{
    Estimate, Heading, LatencyLoad, LoadCurve, LoadPoint, Rounds, SloTarget, Spacing, SteadyRounds, Window,
};
use iolab_statistics::{Interval, Line, SteadyState};
use iolab_study::{Before, LadderResult, LevelResult, Preconditioned};

use super::Gallery;
use super::shape::Shape;
use super::values::{self, measure};
use crate::standing::Outcome;

/// Latency against load for each ladder, with the knee and the highest load that meets the target.
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
        let slo = outcome.study.ladder.as_ref().and_then(|asked| asked.slo.as_ref()).map(|slo| SloTarget {
            name: format!("p{} ≤ {}", slo.percent, crate::number::time(slo.limit_ns as f64)),
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

/// The rounds of each preconditioning, and the window that was judged. `before` names what it
/// preceded.
pub(crate) fn round_figures(gallery: &mut Gallery, outcome: &Outcome<'_>, before: &dyn Fn(Before) -> String) {
    let all = &outcome.analysis.preconditioned;
    // A single round has no picture: the table of preconditionings has its figures.
    for done in all.iter().filter(|done| done.rounds.len() > 1) {
        let name = values::titled(&done.figure);
        let title = match all.len() {
            1 => format!("{name} of the rounds of preconditioning"),
            _ => format!("{name} of the rounds before {}", before(done.before)),
        };
        let chart = SteadyRounds {
            heading: Heading { id: gallery.id("rounds"), title, note: done.describe() },
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

/// The window that was steady, otherwise the last one, which shows why it was not.
pub(crate) fn window(done: &Preconditioned) -> Option<Window> {
    let (range_share, slope_share) = match done.verdict? {
        SteadyState::Reached { start, end, mean, range, slope, line } => {
            return Some(Window { start, end, mean, slope: line.slope, range_share: range, slope_share: slope });
        }
        SteadyState::GivenUp { range, slope } => (range, slope),
        SteadyState::NotYet { range, slope } => (range?, slope?),
    };
    let end = done.rounds.len().min(done.rules.most_rounds);
    let start = end.checked_sub(done.rules.window.max(2))?;
    // A round without a value is skipped, as it was for the verdict.
    let values: Vec<f64> = done.rounds[start..end].iter().map(|value| value.unwrap_or(0.0)).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some(Window { start, end, mean, slope: Line::through(&values)?.slope, range_share, slope_share })
}

fn verdict(done: &Preconditioned) -> String {
    match done.verdict {
        Some(SteadyState::Reached { start, end, .. }) => format!("steady in rounds {} to {end}", start + 1),
        Some(SteadyState::NotYet { .. }) => "not steady yet".to_owned(),
        Some(SteadyState::GivenUp { .. }) => "no steady state: given up".to_owned(),
        None => "not judged".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use iolab_statistics::{DecisionRules, SniaRules};
    use iolab_study::{
        Analysis, Design, Knee, KneeRule, LevelPercentile, PreconditionKind, SloCapacity, Study, TrialResults, analyse,
        design, read,
    };

    use super::*;
    use crate::charts::Material;

    /// A study with a ladder, before any trial.
    fn study() -> (Study, Design, Analysis, DecisionRules) {
        let text = "title = \"t\"\njob_text = \"[j]\\nrw=randread\\nruntime=1s\\ntime_based\\n\"\nfigures = [\"iops\"]\nblocks = 5\n\
                    [ladder]\nlevels = [50, 100, 110]\nslo = \"p99<=1ms\"\n[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"8k\"]\n";
        let study = read(text).expect("a study");
        let design = design(&study).expect("a design");
        let rules = DecisionRules::default();
        let analysis = analyse(&study, &design, &TrialResults::default(), &rules);
        (study, design, analysis, rules)
    }

    fn drawn(analysis: &Analysis, draw: impl Fn(&mut Gallery, &Outcome<'_>)) -> Vec<iolab_charts::DrawnChart> {
        let (study, design, _, rules) = study();
        let mut gallery = Gallery::new("");
        gallery.group("", "");
        draw(&mut gallery, &Outcome { study: &study, design: &design, analysis, rules: &rules });
        gallery.into_figures()
    }

    fn rounds_of(values: &[Option<f64>]) -> Preconditioned {
        let rules = SniaRules::default();
        Preconditioned {
            before: Before::default(),
            kind: PreconditionKind::Snia,
            purge: None,
            written_bytes: None,
            figure: iolab_study::Figure::from_name("iops").expect("a figure"),
            rounds: values.to_vec(),
            rules,
            verdict: Preconditioned::judge(PreconditionKind::Snia, values, &rules),
        }
    }

    /// Titles and descriptions of the figures, and the rounds of the window listed in the table.
    fn shown(preconditioned: Vec<Preconditioned>) -> Vec<(String, String, Vec<String>)> {
        let analysis = Analysis { preconditioned, ..study().2 };
        let figures = drawn(&analysis, |gallery, outcome| {
            round_figures(gallery, outcome, &|before| format!("block {:?}", before.block));
        });
        let judged = |figure: &iolab_charts::DrawnChart| {
            let rows = figure.table.rows.iter().filter(|row| row[3].shown() == "yes");
            rows.map(|row| row[0].shown()).collect()
        };
        figures.iter().map(|figure| (figure.title.clone(), figure.description.clone(), judged(figure))).collect()
    }

    #[test]
    fn rounds_show_the_window_that_was_judged() {
        let settled = [900.0, 400.0, 101.0, 100.0, 99.0, 100.0, 101.0].map(Some);
        let [(title, description, window)] = &shown(vec![rounds_of(&settled)])[..] else { panic!("one figure") };
        assert_eq!(title, "IOPS of the rounds of preconditioning");
        assert!(description.contains("steady in rounds 3 to 7") && description.contains("mean 100"), "{description}");
        assert_eq!(window[..], ["3", "4", "5", "6", "7"]);
    }

    #[test]
    fn rounds_that_never_settled_show_the_last_window() {
        let falling: Vec<Option<f64>> = (0..25).map(|round| Some(1000.0 * 0.8_f64.powi(round))).collect();
        let [(_, description, window)] = &shown(vec![rounds_of(&falling)])[..] else { panic!("one figure") };
        assert!(description.contains("given up"), "{description}");
        assert_eq!(window[..], ["21", "22", "23", "24", "25"]);
        // Before the first window is full there is none to show; a single round is not drawn.
        let [(_, description, window)] = &shown(vec![rounds_of(&[Some(9.0), None, Some(8.0)])])[..] else {
            panic!("one figure")
        };
        assert!(description.contains("not steady yet") && window.is_empty(), "{description}");
        assert_eq!(shown(vec![rounds_of(&[Some(9.0)])]), []);
    }

    #[test]
    fn several_preconditionings_are_told_apart() {
        let mut second = rounds_of(&[Some(1.0), Some(2.0)]);
        second.before.block = Some(1);
        let figures = shown(vec![rounds_of(&[Some(1.0), Some(2.0)]), second]);
        let titles: Vec<&str> = figures.iter().map(|figure| figure.0.as_str()).collect();
        assert_eq!(titles, ["IOPS of the rounds before block None", "IOPS of the rounds before block Some(1)"]);
    }

    fn interval(value: f64) -> Interval {
        Interval { estimate: value, low: 0.9 * value, high: 1.1 * value, confidence: 0.95 }
    }

    fn level(percent: f64, p99_ns: f64) -> LevelResult {
        let percentile =
            |ns: f64| LevelPercentile { percent: 99.0, values: vec![Some(ns), None], median: Some(interval(ns)) };
        LevelResult {
            percent,
            asked_iops: 100.0 * percent,
            done_iops: Some(interval(99.0 * percent.min(100.0))),
            service: vec![percentile(p99_ns / 2.0)],
            response: vec![percentile(p99_ns)],
            trials: 2,
            behind: 0,
            generator_late: 0,
        }
    }

    #[test]
    fn ladders_show_levels_knee_and_target() {
        let levels = vec![level(50.0, 400_000.0), level(100.0, 900_000.0), level(110.0, 50e6)];
        let (study, design, empty, rules) = study();
        let slo = study.ladder.as_ref().and_then(|ladder| ladder.slo).expect("a target");
        let capacity = SloCapacity {
            slo,
            level: 1,
            iops: 10_000.0,
            response: interval(900_000.0),
            is_sure: false,
            lower_misses: 0,
            limited_by_generator: false,
        };
        let of = |configuration: usize, levels: Vec<LevelResult>, capacity: Option<SloCapacity>| LadderResult {
            configuration,
            maximum_iops: Some(10_000.0),
            closed_loop: Some(interval(10_000.0)),
            knee: (!levels.is_empty()).then_some(Knee { level: 1, by: KneeRule::Kneedle }),
            levels,
            capacity,
        };
        let analysis = Analysis { ladders: vec![of(0, levels, Some(capacity)), of(1, Vec::new(), None)], ..empty };
        let outcome = Outcome { study: &study, design: &design, analysis: &analysis, rules: &rules };
        let mut gallery = Gallery::new("");
        gallery.group("", "");
        ladders(&mut gallery, &Shape { material: Material { outcome, digests: &[] } });
        let figures = gallery.into_figures();
        let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
        // A ladder without a level would be an empty picture.
        assert_eq!(titles, ["Latency against offered load; bs=4k"]);
        let description = &figures[0].description;
        for part in ["3 levels", "Knee at 9.9k/s", "p99 ≤ 1.00 ms holds up to 10k/s"] {
            assert!(description.contains(part), "no '{part}' in: {description}");
        }
        // Response and service of each level.
        assert_eq!(figures[0].table.rows.len(), 6);
    }
}
