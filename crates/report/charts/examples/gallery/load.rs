//! Charts of load, tails and comparisons.

use iolab_charts::{
    DecileSeries, Deciles, DrawnChart, Estimate, Forest, ForestRow, Heading, LatencyLoad, LoadCurve, LoadPoint,
    SloTarget, Spacing, Spectrum, SpectrumPoint, SpectrumSeries, VerdictClass,
};

pub(super) fn figures() -> Vec<DrawnChart> {
    vec![latency_load(), spectrum(), deciles(), forest()]
}

/// A few trials around `value`, the same each time, with their median and limits.
pub(super) fn around(value: f64, spread: f64) -> Estimate {
    let shares = [-0.9, -0.4, 0.0, 0.2, 0.55, 1.0, -0.15];
    let trials: Vec<f64> = shares.iter().map(|share| value * (1.0 + share * spread)).collect();
    Estimate::within(value, value * (1.0 - 0.7 * spread), value * (1.0 + 0.8 * spread)).from_trials(&trials)
}

fn latency_load() -> DrawnChart {
    let most = 210_000.0;
    let level = |share: f64, base_ns: f64, queues: bool| {
        let throughput = (share * most * 0.98).min(most);
        let busy = throughput / most;
        let waits = if queues { 1.0 + 1.6 * busy / (1.0 - busy * 0.985) } else { 1.0 + 0.5 * busy };
        let over = if queues && share > 1.0 { 14.0 } else { 1.0 };
        let latency_ns = around(base_ns * waits * over, 0.05 + 0.12 * busy);
        LoadPoint { offered: Some(share * most), throughput, latency_ns }
    };
    let shares = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1];
    let curve = |name: &str, base_ns: f64| LoadCurve {
        name: name.to_owned(),
        response: shares.iter().map(|share| level(*share, base_ns, true)).collect(),
        service: shares.iter().map(|share| level(*share, base_ns, false)).collect(),
    };
    let chart = LatencyLoad {
        heading: Heading {
            id: "latency-load".to_owned(),
            title: "Latency against load, random reads of 4 KiB".to_owned(),
            note: "Open loop, seven trials at each level.".to_owned(),
        },
        curves: vec![curve("p50", 82e3), curve("p99", 150e3), curve("p99.9", 420e3)],
        knee: Some(164_000.0),
        slo: Some(SloTarget { name: "p99 ≤ 1 ms".to_owned(), target_ns: 1e6, capacity: Some(181_000.0) }),
        latency: Spacing::Log,
    };
    chart.draw()
}

fn spectrum() -> DrawnChart {
    let series = |name: &str, base_ns: f64, tail: f64| {
        let points = (0..60).map(|n| {
            let rarity = 10f64.powf(f64::from(n) / 12.0);
            let value = base_ns * (1.0 + 0.25 * rarity.ln() + tail * rarity.powf(0.55) / 10.0);
            let width = 0.02 + 0.03 * rarity.log10();
            SpectrumPoint {
                percentile: 100.0 * (1.0 - 1.0 / rarity),
                latency_ns: Estimate::within(value, value * (1.0 - width), value * (1.0 + width)),
            }
        });
        SpectrumSeries { name: name.to_owned(), points: points.collect() }
    };
    let chart = Spectrum {
        heading: Heading::new("spectrum", "Percentiles of read latency"),
        series: vec![
            series("io_uring, service", 70e3, 0.4),
            series("io_uring, response", 78e3, 3.0),
            series("libaio, response", 92e3, 3.4),
        ],
        latency: Spacing::Log,
        beside: Vec::new(),
    };
    chart.draw()
}

fn deciles() -> DrawnChart {
    let series = |name: &str, base_ns: f64, growth: f64| DecileSeries {
        name: name.to_owned(),
        latencies_ns: (1..=10).map(|tenth| around(base_ns * growth.powi(tenth), 0.12)).collect(),
    };
    let chart = Deciles {
        heading: Heading::new("deciles", "Latency of writes by decile, three mixes of block sizes"),
        series: vec![
            series("4k/30:16k/60:64k/10", 14e3, 1.19),
            series("16k/30:64k/60:256k/10", 30e3, 1.21),
            series("64k/30:256k/60:1m/10", 70e3, 1.24),
        ],
        latency: Spacing::Linear,
    };
    chart.draw()
}

fn forest() -> DrawnChart {
    let row = |name: &str, ratio: f64, half: f64, verdict: &str, outcome: VerdictClass| ForestRow {
        name: name.to_owned(),
        ratio: Estimate::within(ratio, ratio - half, ratio + half).from_trials(&[
            ratio - half * 1.3,
            ratio + half * 0.4,
            ratio - half * 0.2,
            ratio,
            ratio + half * 1.1,
        ]),
        verdict: verdict.to_owned(),
        outcome,
    };
    let chart = Forest {
        heading: Heading::new("forest", "io_uring against libaio, ratio of IOPS"),
        rows: vec![
            row("randread, depth 1", 1.012, 0.006, "equivalent", VerdictClass::Same),
            row("randread, depth 32", 1.21, 0.03, "better", VerdictClass::Better),
            row("randwrite, depth 1", 0.93, 0.02, "worse", VerdictClass::Worse),
            row("randwrite, depth 32", 1.04, 0.06, "undecided: 9 more repeats", VerdictClass::Open),
            ForestRow {
                name: "trim, depth 1".to_owned(),
                ratio: Estimate::default(),
                verdict: "no verdict".to_owned(),
                outcome: VerdictClass::Open,
            },
        ],
        zone: 0.02,
        below: "libaio has more".to_owned(),
        above: "io_uring has more".to_owned(),
    };
    chart.draw()
}
