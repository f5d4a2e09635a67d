//! Properties of every report: percentiles are within the extremes, sums add up, and the text
//! parses.

use iolab_aggregate::figures;
use iolab_histogram::Histogram;
use iolab_plan::{Direction, HistogramLogPlan, LogKind, LogPlan, LogWindow};
use iolab_recording::{HistogramLogEntry, LogEntry, Recording};
use iolab_report::{
    JsonStyle, Style, aggregate_bandwidth_log, histogram_log_line, json, log_file_names, log_line, normal, normal_body,
    normal_header,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::fixture;

/// The part of `text` between the first `before` and the next `after`.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}")).1;
    rest.split_once(after).unwrap_or_else(|| panic!("no {after} after {before}")).0
}

#[test]
fn consumers_find_iops_and_mean_latency() {
    // The patterns that LISA uses: `IOPS=(.+?),` and a line matching `lat.*avg=`.
    let text = normal(&fixture::case("single"), &Style::default());
    assert_eq!(between(&text, "IOPS=", ","), "9995");
    let line = text.lines().find(|line| line.trim_start().starts_with("lat (") && line.contains("avg="));
    let mean: f64 = between(line.expect("a latency line"), "avg=", ",").trim().parse().expect("a number");
    let expected = fixture::case("single").workers[0].directions[0].lat.mean() / 1000.0;
    assert!((mean - expected).abs() < 0.01);
}

#[test]
fn header_and_body_are_the_whole() {
    for (name, recording) in fixture::CASES {
        let recording = recording();
        let (header, body) = (normal_header(&recording.plan), normal_body(&recording, &Style::default()));
        assert_eq!(normal(&recording, &Style::default()), header.clone() + &body, "{name}");
        assert!(header.contains("Starting ") && body.starts_with('\n'), "{name}");
    }
    let mut plan = fixture::case("clones").plan;
    plan.workers[0].process.thread = true;
    let header = normal_header(&plan);
    assert!(header.ends_with("Starting 1 thread and 3 processes\n"), "{header}");
    assert_eq!(header.lines().filter(|line| *line == "...").count(), 1);
}

#[test]
fn groups_are_sums() {
    let (apart, together) = (fixture::case("clones"), fixture::case("clones_grouped"));
    let (apart, together) = (figures(&apart), figures(&together));
    assert_eq!((apart.jobs.len(), together.jobs.len()), (4, 1));
    let whole = &together.jobs[0].directions[0];
    assert_eq!(whole.ios, apart.jobs.iter().map(|job| job.directions[0].ios).sum::<u64>());
    assert_eq!(whole.lat.count, apart.jobs.iter().map(|job| job.directions[0].lat.count).sum::<u64>());
    let means: f64 = apart.jobs.iter().map(|job| job.directions[0].iops.mean).sum();
    assert!((whole.iops.mean - means).abs() < 1e-6);
    assert_eq!(apart.groups[0].lines[0].bytes, together.groups[0].lines[0].bytes);
    assert_eq!(apart.groups[0].lines[0].worker_rates, together.groups[0].lines[0].worker_rates);
    assert_eq!(together.jobs[0].cpu.runtime_ms, 4 * 2001);
}

#[test]
fn a_single_operation_has_a_rate() {
    let mut recording = fixture::case("single");
    let reads = &mut recording.workers[0].directions[0];
    (reads.ios, reads.bytes, reads.runtime_ns) = (1, 4096, 0);
    let direction = &figures(&recording).jobs[0].directions[0];
    assert_eq!((direction.runtime_ms(), direction.bytes_per_second() as u64), (2001, 2046));
}

#[test]
fn hidden_workers_do_not_appear() {
    let mut recording = fixture::case("clones");
    recording.plan.workers[2].measurement.stats = false;
    assert_eq!(figures(&recording).jobs.len(), 3);
}

#[test]
fn log_lines_have_fios_columns() {
    let entry = LogEntry {
        time_ns: 12_999_999,
        value: 63_046,
        maximum: 70_000,
        offset: 8192,
        issue_ns: 52_754,
        bytes: 4096,
        priority: 0x2001,
        kind: LogKind::Clat,
        direction: Direction::Write,
    };
    let all = LogPlan { offset: true, priority: true, issue_time: true, ..fixture::logs() };
    let window = |window_value| LogPlan { window_ns: 1, window_value, ..fixture::logs() };
    for (plan, expected) in [
        (fixture::logs(), "12, 63046, 1, 4096, 1"),
        (all.clone(), "12, 63046, 1, 4096, 8192, 0x2001, 52754"),
        (window(LogWindow::Average), "12, 63046, 1, 4096, 1"),
        (window(LogWindow::Maximum), "12, 70000, 1, 4096, 1"),
        (window(LogWindow::Both), "12, 63046, 70000, 1, 4096, 1"),
    ] {
        assert_eq!(log_line(&entry, &plan), expected);
    }
    let bandwidth = LogEntry { kind: LogKind::Bw, priority: 0, ..entry };
    assert_eq!(log_line(&bandwidth, &all), "12, 63046, 1, 4096, 8192, 0x0000, 0");
}

#[test]
fn histogram_lines_keep_every_count() {
    let entry = HistogramLogEntry {
        time_ns: 1_000_000_000,
        direction: Direction::Read,
        bytes: 4096,
        buckets: vec![(0, 1), (63, 2), (64, 3), (1855, 4), (2600, 5)],
    };
    for coarseness in 0..=6 {
        let line = histogram_log_line(&entry, coarseness);
        let columns: Vec<u64> = line.split(", ").map(|column| column.parse().expect("a number")).collect();
        assert_eq!(columns[..3], [1000, 0, 4096]);
        assert_eq!(columns.len(), 3 + (1856 >> coarseness));
        assert_eq!(columns[3..].iter().sum::<u64>(), 15);
        assert_eq!(columns.last(), Some(&9));
    }
}

#[test]
fn log_files_are_named_as_fio_names_them() {
    let mut worker = fixture::worker_plan(2, "a", "randread");
    worker.measurement.slat = false;
    let mut plan = LogPlan {
        latency: Some("out/p".into()),
        bandwidth: Some("p".into()),
        iops: Some("q".into()),
        histogram: Some(HistogramLogPlan { prefix: "h".into(), interval_ns: 1, coarseness: 0 }),
        ..fixture::logs()
    };
    let names = |plan: &LogPlan| log_file_names(plan, &worker).into_iter().map(|name| name.1).collect::<Vec<_>>();
    assert_eq!(
        names(&plan),
        ["out/p_lat.3.log", "out/p_clat.3.log", "p_bw.3.log", "q_iops.3.log", "h_clat_hist.3.log"]
    );
    plan.per_job = false;
    assert_eq!(names(&plan)[0], "out/p_lat.log");
}

#[test]
fn aggregate_bandwidth_is_the_sum_of_workers() {
    let (name, text) = aggregate_bandwidth_log(&fixture::case("clones"), Direction::Read);
    assert_eq!(name, "agg-read_bw.log");
    // 26,000 operations of 4 KiB over ten intervals of 200 ms, alternately 11 % and 9 % of them.
    assert_eq!(text.lines().next(), Some("200, 57200, 0, 0, 0"));
    assert_eq!((text.lines().count(), text.lines().nth(1)), (10, Some("400, 46800, 0, 0, 0")));
}

fn with_latencies(values: &[u64]) -> Recording {
    let mut recording = fixture::case("single");
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.add(*value));
    let reads = &mut recording.workers[0].directions[0];
    (reads.ios, reads.clat, reads.lat) = (values.len() as u64, histogram.to_sparse(), histogram.to_sparse());
    recording
}

proptest! {
    #[test]
    fn percentiles_lie_within_the_extremes(values in prop::collection::vec(0_u64..1 << 50, 1..60)) {
        let recording = with_latencies(&values);
        let document: Value = serde_json::from_str(&json(&recording, JsonStyle::default())).expect("it parses");
        let clat = &document["jobs"][0]["read"]["clat_ns"];
        let (least, most) = (values.iter().min().copied(), values.iter().max().copied());
        prop_assert_eq!((clat["min"].as_u64(), clat["max"].as_u64()), (least, most));
        for (_, value) in clat["percentile"].as_object().expect("percentiles") {
            prop_assert!(value.as_u64() >= least && value.as_u64() <= most);
        }
        let bands: f64 = ["latency_ns", "latency_us", "latency_ms"]
            .iter()
            .flat_map(|bands| document["jobs"][0][bands].as_object().expect("bands"))
            .map(|(_, share)| share.as_f64().expect("a share"))
            .sum();
        prop_assert!((bands - 100.0).abs() < 1e-4);
        prop_assert!(normal(&recording, &Style::default()).contains("clat percentiles"));
    }
}
