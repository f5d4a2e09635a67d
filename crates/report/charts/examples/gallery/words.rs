//! Titles and names in other scripts, text that looks like markup, and data that are missing.

use iolab_charts::{
    AxisMeasure, AxisUnit, DrawnChart, Estimate, GroupSeries, Groups, Heading, HeatMap, LatencyLoad, LoadCurve,
    LoadPoint, Spacing, Spectrum, Sweep, SweepAxis, SweepPoint, SweepSeries,
};

use super::load::around;

pub(super) fn figures() -> Vec<DrawnChart> {
    vec![persian(), chinese(), polish(), single(), nothing(), no_spectrum()]
}

fn persian() -> DrawnChart {
    let series = |name: &str, factor: f64| GroupSeries {
        name: name.to_owned(),
        values: [80e3, 120e3, 310e3].map(|ns| around(ns * factor, 0.1)).to_vec(),
    };
    let chart = Groups {
        heading: Heading {
            id: "persian".to_owned(),
            title: "تأخیر p99.9 رابط‌های ورودی/خروجی در بارهای گوناگون (4 KiB، عمق 1)".to_owned(),
            note: String::new(),
        },
        measure: AxisMeasure::linear("تأخیر p99.9", AxisUnit::Nanoseconds),
        group_title: "نوع بار".to_owned(),
        groups: ["خواندن تصادفی", "نوشتن تصادفی", "خواندن و نوشتن تصادفی با 4 کار"].map(str::to_owned).to_vec(),
        series: vec![series("io_uring", 1.0), series("libaio (هسته)", 1.2), series("SPDK در فضای کاربر", 0.4)],
    };
    chart.draw()
}

fn chinese() -> DrawnChart {
    let series = |name: &str, most: f64| SweepSeries {
        name: name.to_owned(),
        points: (0..8)
            .map(|n| 2f64.powi(n))
            .map(|depth| SweepPoint { x: depth, y: around(most * depth / (depth + 6.0), 0.05) })
            .collect(),
    };
    let chart = Sweep {
        heading: Heading::new(
            "chinese",
            "单核 4 KiB 随机读的 IOPS 与队列深度的关系:内核路径与用户态驱动的比较,以及它们各自在什么深度达到饱和状态",
        ),
        axis_title: "队列深度".to_owned(),
        axis: SweepAxis::Doubling(AxisUnit::Count),
        measure: AxisMeasure::linear("每秒操作数", AxisUnit::PerSecond),
        series: vec![series("内核驱动", 310e3), series("用户态驱动", 520e3)],
        beside: Vec::new(),
    };
    chart.draw()
}

fn polish() -> DrawnChart {
    let names = [
        "zapis sekwencyjny 128 KiB",
        "zapis sekwencyjny 4 KiB",
        "dopisywanie 128 KiB",
        "odczyt sekwencyjny 256 KiB",
        "odczyt losowy 256 KiB",
    ];
    let series = |name: &str, factor: f64| SweepSeries {
        name: name.to_owned(),
        points: (0..5)
            .map(|n| SweepPoint { x: f64::from(n), y: around(2e6 * factor * (1.0 + f64::from(n % 3)), 0.15) })
            .collect(),
    };
    let chart = Sweep {
        heading: Heading::new("polish", "Opóźnienie p99.9 w źródłowych obciążeniach: <SeastarFS> & \"XFS\""),
        axis_title: "obciążenie".to_owned(),
        axis: SweepAxis::Named(names.map(str::to_owned).to_vec()),
        measure: AxisMeasure::log("opóźnienie p99.9", AxisUnit::Nanoseconds),
        series: vec![
            series("logfs", 1.0),
            series("XFS", 2.1),
            series("ext4 z dziennikiem i bardzo długą nazwą, której nikt nie przeczyta", 1.9),
        ],
        beside: Vec::new(),
    };
    chart.draw()
}

fn single() -> DrawnChart {
    let point = LoadPoint { offered: None, throughput: 1234.0, latency_ns: Estimate::of(81e3) };
    let chart = LatencyLoad {
        heading: Heading::new("single", "A single level without an interval"),
        curves: vec![LoadCurve { name: "p50".to_owned(), response: vec![point], service: Vec::new() }],
        knee: None,
        slo: None,
        latency: Spacing::Log,
    };
    chart.draw()
}

fn nothing() -> DrawnChart {
    HeatMap { heading: Heading::new("nothing", "A heat map of nothing"), columns: Vec::new() }.draw()
}

fn no_spectrum() -> DrawnChart {
    Spectrum { heading: Heading::new("no-spectrum", ""), series: Vec::new(), latency: Spacing::Log, beside: Vec::new() }
        .draw()
}
