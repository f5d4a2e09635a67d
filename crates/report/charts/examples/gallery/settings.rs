//! The effects of settings: block sizes, depth and jobs, interfaces, shares, merging.

use iolab_charts::{
    AxisMeasure, AxisUnit, BlockSizeChart, BlockSizePoint, BlockSizeSeries, DrawnChart, Estimate, GroupSeries, Groups,
    Heading, Matrix, Roofline, Spacing, Stacked, StackedBar, Sweep, SweepAxis, SweepPoint, SweepSeries,
};

use super::load::around;

pub(super) fn figures() -> Vec<DrawnChart> {
    vec![
        block_sizes(Spacing::Log),
        block_sizes(Spacing::Linear),
        matrix(),
        groups(),
        many_groups(),
        write_share(),
        jobs(),
        merges(),
        sizes(),
    ]
}

fn block_sizes(spacing: Spacing) -> DrawnChart {
    let roofline = Roofline { name: "virtual SSD, data sheet".to_owned(), iops: 640_000.0, bandwidth: 3.4e9 };
    let series = |name: &str, share: f64| {
        let point = |power: i32| {
            let block_bytes = 2f64.powi(power);
            let iops = roofline.iops_at(block_bytes) * share * (1.0 - 0.15 / f64::from(power - 8));
            BlockSizePoint { block_bytes, bandwidth: around(iops * block_bytes, 0.04), iops: around(iops, 0.04) }
        };
        BlockSizeSeries { name: name.to_owned(), points: (9..=20).map(point).collect() }
    };
    let (id, title) = if spacing == Spacing::Log {
        ("block-sizes", "Speed against block size")
    } else {
        ("block-sizes-linear", "Speed against block size, linear")
    };
    BlockSizeChart {
        heading: Heading::new(id, title),
        series: vec![series("random read", 0.92), series("random write", 0.55)],
        roofline: Some(roofline.clone()),
        spacing,
    }
    .draw()
}

fn matrix() -> DrawnChart {
    let (depths, jobs) = ([1, 2, 4, 8, 16, 32, 64, 128], [1, 2, 4, 8]);
    let cell = |depth: i32, jobs: i32| {
        let load = f64::from(depth * jobs);
        if depth * jobs > 512 { Estimate::default() } else { around(640e3 * load / (load + 24.0), 0.03) }
    };
    let chart = Matrix {
        heading: Heading::new("matrix", "IOPS by depth and jobs"),
        measure: AxisMeasure::log("operations", AxisUnit::PerSecond),
        row_title: "jobs".to_owned(),
        column_title: "depth".to_owned(),
        rows: jobs.map(|jobs| jobs.to_string()).to_vec(),
        columns: depths.map(|depth| depth.to_string()).to_vec(),
        cells: jobs.map(|jobs| depths.map(|depth| cell(depth, jobs)).to_vec()).to_vec(),
    };
    chart.draw()
}

fn groups() -> DrawnChart {
    let loads = [
        "randread, 1 job",
        "randread, 4 jobs",
        "randwrite, 1 job",
        "randwrite, 4 jobs",
        "randrw, 1 job",
        "randrw, 4 jobs",
    ];
    let series = |name: &str, values: [f64; 6]| GroupSeries {
        name: name.to_owned(),
        values: values.map(|value| around(value, 0.09)).to_vec(),
    };
    let mut posix = series("psync", [61e3, 190e3, 55e3, 170e3, 52e3, 160e3]);
    posix.values[1].interval = None;
    posix.values[4] = Estimate::default();
    let chart = Groups {
        heading: Heading::new("groups", "Interfaces by load, 4 KiB, depth 1"),
        measure: AxisMeasure::linear("operations", AxisUnit::PerSecond),
        group_title: "load".to_owned(),
        groups: loads.map(str::to_owned).to_vec(),
        series: vec![
            posix,
            series("libaio", [58e3, 180e3, 54e3, 160e3, 50e3, 150e3]),
            series("io_uring", [64e3, 220e3, 60e3, 190e3, 57e3, 175e3]),
            series("user-space NVMe", [131e3, 410e3, 122e3, 380e3, 115e3, 350e3]),
        ],
    };
    chart.draw()
}

fn many_groups() -> DrawnChart {
    let series = |name: &str, height: f64| GroupSeries {
        name: name.to_owned(),
        values: (0..23).map(|n| around(height * (1.0 + f64::from(n % 5)), 0.2)).collect(),
    };
    let chart = Groups {
        heading: Heading::new("many-groups", "Latency of many workloads, logarithmic"),
        measure: AxisMeasure::log("p99 latency", AxisUnit::Nanoseconds),
        group_title: "workload".to_owned(),
        groups: (0..23).map(|n| format!("workload number {n}")).collect(),
        series: vec![series("before", 100e3), series("after", 60e3)],
    };
    chart.draw()
}

fn write_share() -> DrawnChart {
    let series = |name: &str, height: f64, fall: f64| SweepSeries {
        name: name.to_owned(),
        points: (0..=8)
            .map(|n| f64::from(n) * 0.125)
            .map(|share| SweepPoint { x: share, y: around(height * (1.0 - fall * share), 0.07) })
            .collect(),
    };
    let chart = Sweep {
        heading: Heading::new("write-share", "Bandwidth over the share of writes"),
        axis_title: "share of writes".to_owned(),
        axis: SweepAxis::Linear(AxisUnit::Share),
        measure: AxisMeasure::linear("bandwidth", AxisUnit::BytesPerSecond),
        series: vec![series("sequential", 2.1e9, 0.4), series("random", 1.3e9, 0.6)],
        beside: Vec::new(),
    };
    chart.draw()
}

fn jobs() -> DrawnChart {
    let points = [1.0, 2.0, 4.0, 6.0, 8.0]
        .map(|jobs| SweepPoint { x: jobs, y: around(180e3 * jobs / (1.0 + 0.12 * jobs), 0.06) });
    let chart = Sweep {
        heading: Heading::new("jobs", "Operations over parallel jobs"),
        axis_title: "jobs".to_owned(),
        axis: SweepAxis::Doubling(AxisUnit::Count),
        measure: AxisMeasure::linear("operations", AxisUnit::PerSecond),
        series: vec![SweepSeries { name: "randrw".to_owned(), points: points.to_vec() }],
        beside: Vec::new(),
    };
    chart.draw()
}

fn merges() -> DrawnChart {
    let bar = |name: &str, merged: f64, whole: f64| StackedBar {
        name: name.to_owned(),
        parts: vec![Estimate::of(whole * merged), Estimate::of(whole * (1.0 - merged))],
    };
    let chart = Stacked {
        heading: Heading::new("merges", "Requests merged before the device"),
        measure: AxisMeasure::linear("requests", AxisUnit::Count),
        parts: vec!["merged".to_owned(), "not merged".to_owned()],
        bars: vec![
            bar("random reads", 0.0, 1.2e6),
            bar("sequential reads", 0.86, 1.4e6),
            bar("sequential writes", 0.91, 1.4e6),
            bar("copied small files", 0.994, 640e3),
        ],
        as_shares: true,
    };
    chart.draw()
}

fn sizes() -> DrawnChart {
    let bar =
        |name: &str, counts: [f64; 5]| StackedBar { name: name.to_owned(), parts: counts.map(Estimate::of).to_vec() };
    let chart = Stacked {
        heading: Heading::new("request-sizes", "Requests at the device by size"),
        measure: AxisMeasure::linear("requests", AxisUnit::Count),
        parts: ["4 KiB", "8 KiB to 32 KiB", "64 KiB to 256 KiB", "512 KiB to 1 MiB", "larger"]
            .map(str::to_owned)
            .to_vec(),
        bars: vec![
            bar("merging on", [900.0, 4000.0, 52_000.0, 9_000.0, 40.0]),
            bar("merging off", [310_000.0, 12_000.0, 300.0, 0.0, 0.0]),
        ],
        as_shares: false,
    };
    chart.draw()
}
