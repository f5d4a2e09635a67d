//! What happens over time: latencies with the block layer below, a heat map, rounds towards a
//! steady state.

use iolab_charts::{
    AxisMeasure, AxisUnit, DrawnChart, Heading, HeatCell, HeatColumn, HeatMap, LatencyBand, LatencyMoment, Panel,
    Rounds, Spacing, SteadyRounds, TimeMark, TimeSeries, Timeline, Window,
};

pub(super) fn figures() -> Vec<DrawnChart> {
    vec![timeline(), heat_map(), steady_rounds()]
}

/// A wave with a stall in the middle, the same at each call.
fn wave(second: f64, height: f64) -> f64 {
    let ripple = (second * 1.7).sin() + 0.6 * (second * 4.3).sin() + 0.3 * (second * 11.0).cos();
    height * (1.0 + 0.12 * ripple)
}

fn timeline() -> DrawnChart {
    let seconds = || (0..60).map(|n| f64::from(n) + 0.5);
    let stalled = |second: f64| (34.0..37.0).contains(&second);
    let moment = |second: f64, base_ns: f64| LatencyMoment {
        at_ns: second * 1e9,
        p50_ns: (!stalled(second)).then(|| wave(second, base_ns)),
        p99_ns: Some(wave(second + 3.0, base_ns * if stalled(second) { 60.0 } else { 2.6 })),
        max_ns: Some(wave(second + 7.0, base_ns * if stalled(second) { 400.0 } else { 9.0 })),
    };
    let band = |name: &str, base_ns| LatencyBand {
        name: name.to_owned(),
        moments: seconds().map(|at| moment(at, base_ns)).collect(),
    };
    let series = |name: &str, height: f64| TimeSeries {
        name: name.to_owned(),
        points: seconds().map(|at| (at * 1e9, if stalled(at) { height * 0.05 } else { wave(at, height) })).collect(),
    };
    let panel = |name: &str, unit, series| Panel { measure: AxisMeasure::linear(name, unit), series };
    let chart = Timeline {
        heading: Heading::new("timeline", "A run of a minute with a stall, and what the block layer saw"),
        latency: Spacing::Log,
        latencies: vec![band("read", 90e3), band("write", 24e3)],
        panels: vec![
            panel("device bandwidth", AxisUnit::BytesPerSecond, vec![series("read", 420e6), series("write", 180e6)]),
            panel("requests in flight", AxisUnit::Count, vec![series("depth", 29.0)]),
            panel("mean request size", AxisUnit::Bytes, vec![series("read", 16384.0), series("write", 9000.0)]),
            panel(
                "share of time",
                AxisUnit::Share,
                vec![series("device busy", 0.86), series("host CPU", 0.31), series("stolen by the hypervisor", 0.02)],
            ),
        ],
        marks: vec![
            TimeMark { at_ns: 5e9, label: "end of ramp".to_owned() },
            TimeMark { at_ns: 34e9, label: "device reset".to_owned() },
        ],
    };
    chart.draw()
}

fn heat_map() -> DrawnChart {
    let columns = (0..90).map(|n| {
        let second = f64::from(n);
        let cells = (0..60).filter_map(|step| {
            let low_ns = 20e3 * 1.12f64.powi(step);
            let near = |middle: f64, width: f64| (-((low_ns / middle).ln() / width).powi(2)).exp();
            let count = 9000.0 * near(wave(second, 80e3), 0.18)
                + 900.0 * near(600e3, 0.15)
                + if n % 15 == 7 { 12.0 * near(6e6, 0.4) } else { 0.0 };
            (count >= 1.0).then(|| HeatCell { low_ns, high_ns: low_ns * 1.12, count: count.floor() })
        });
        HeatColumn { start_ns: second * 1e9, length_ns: 1e9, cells: cells.collect() }
    });
    HeatMap { heading: Heading::new("heat-map", "Read latency over time"), columns: columns.collect() }.draw()
}

fn steady_rounds() -> DrawnChart {
    let values = |height: f64, fresh: f64| {
        (0..12)
            .map(|round| {
                Some(height * (1.0 + fresh * (-f64::from(round) / 2.2).exp() + 0.02 * (f64::from(round) * 2.3).sin()))
            })
            .collect()
    };
    let series = |name: &str, height, fresh| Rounds { name: name.to_owned(), values: values(height, fresh) };
    let chart = SteadyRounds {
        heading: Heading::new("steady-rounds", "Steady state, random writes"),
        measure: AxisMeasure::linear("operations", AxisUnit::PerSecond),
        series: vec![series("4 KiB", 41_000.0, 2.4), series("8 KiB", 22_000.0, 2.2), series("64 KiB", 3_100.0, 1.9)],
        tracked: 0,
        window: Some(Window {
            start: 7,
            end: 12,
            mean: 41_600.0,
            slope: -310.0,
            range_share: 0.065,
            slope_share: 0.03,
        }),
        range_limit: 0.2,
        slope_limit: 0.1,
        reached: true,
        verdict: "steady in rounds 8 to 12: range 6.5 % of the mean (limit 20 %), slope 3 % (limit 10 %)".to_owned(),
    };
    chart.draw()
}
