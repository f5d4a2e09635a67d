//! Intervals of several workers are merged into those of the job, and every line has the right
//! values.

use iolab_aggregate::{IntervalFigures, interval_figures};
use iolab_histogram::{Baseline, Histogram, PackedHistogram};
use iolab_plan::Direction;
use iolab_recording::{DirectionInterval, IntervalLatencies, Recording};
use iolab_report::{intervals_json_lines, intervals_table};
use serde_json::Value;

use crate::fixture;

const GRID_NS: u64 = 100;

fn packed(values: &[u64]) -> PackedHistogram {
    let (mut histogram, mut bytes) = (Histogram::new(), Vec::new());
    values.iter().for_each(|value| histogram.add(*value));
    assert!(histogram.difference(&mut Baseline::new(), &mut bytes));
    PackedHistogram::take(&mut bytes.as_slice()).expect("what was written")
}

/// An interval with reads of these latencies; an empty list means that nothing completed.
fn interval(start_ns: u64, length_ns: u64, values: &[u64]) -> IntervalLatencies {
    let reads = || DirectionInterval {
        direction: Direction::Read,
        ios: values.len() as u64,
        bytes: values.len() as u64 * 4096,
        lat: Some(packed(values)),
        clat: None,
        clat_equals_lat: true,
        response: None,
    };
    let directions = if values.is_empty() { Vec::new() } else { vec![reads()] };
    IntervalLatencies { start_ns, length_ns, directions }
}

fn recording(case: &str, workers: &[&[IntervalLatencies]]) -> Recording {
    let mut recording = fixture::case(case);
    for plan in &mut recording.plan.workers {
        plan.measurement.histogram_interval_ns = GRID_NS;
    }
    for (worker, intervals) in recording.workers.iter_mut().zip(workers) {
        worker.interval_latencies = intervals.to_vec();
    }
    recording
}

/// Start, length, operations, slowest.
type Seen = (u64, u64, u64, u64);

fn seen(figures: &[IntervalFigures<'_>]) -> Vec<Seen> {
    figures.iter().map(|figures| (figures.start_ns, figures.length_ns, figures.ios, figures.lat.max)).collect()
}

#[test]
fn groups_merge_by_interval() {
    let one = [interval(10, 90, &[5, 6]), interval(100, 100, &[7]), interval(200, 50, &[8])];
    let two = [interval(20, 80, &[50]), interval(100, 100, &[]), interval(200, 30, &[9, 90])];
    let together = recording("clones_grouped", &[&one, &two]);
    let figures = interval_figures(&together);
    assert_eq!(seen(&figures), [(10, 90, 3, 50), (100, 100, 1, 7), (200, 50, 3, 90)]);
    assert_eq!((figures[0].workers.len(), figures[0].clat.count, figures[0].bytes), (4, 3, 3 * 4096));
    assert_eq!(figures[2].lat.buckets, [(8, 1), (9, 1), (90, 1)]);
    let apart = recording("clones", &[&one, &two]);
    assert_eq!(
        seen(&interval_figures(&apart)),
        [(10, 90, 2, 6), (20, 80, 1, 50), (100, 100, 1, 7), (100, 100, 0, 0), (200, 50, 1, 8), (200, 30, 2, 90)]
    );
}

#[test]
fn stretches_without_completions_are_told() {
    let cases: [(&[IntervalLatencies], &[Seen]); 4] = [
        (
            &[interval(0, 100, &[1]), interval(100, 300, &[]), interval(400, 100, &[2])],
            &[(0, 100, 1, 1), (100, 300, 0, 0), (400, 100, 1, 2)],
        ),
        (&[interval(0, 100, &[1]), interval(400, 100, &[2])], &[(0, 100, 1, 1), (100, 300, 0, 0), (400, 100, 1, 2)]),
        (
            &[interval(0, 100, &[]), interval(100, 100, &[1]), interval(200, 70, &[])],
            &[(0, 100, 0, 0), (100, 100, 1, 1), (200, 70, 0, 0)],
        ),
        // What completed after the end of the last interval belongs to that interval.
        (&[interval(0, 100, &[1]), interval(100, 0, &[2])], &[(0, 100, 2, 2)]),
    ];
    for (intervals, expected) in cases {
        assert_eq!(seen(&interval_figures(&recording("single", &[intervals]))), expected);
    }
}

#[test]
fn lines_hold_what_they_say() {
    let values: Vec<u64> = (1..=1000).map(|step| step * 1000).collect();
    const SECOND_NS: u64 = 1_000_000_000;
    let intervals = [interval(0, SECOND_NS, &values), interval(SECOND_NS, SECOND_NS, &[])];
    let recording = recording("single", &[&intervals]);
    let text = intervals_json_lines(&recording);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2);
    let job = recording.plan.workers[0].job.as_str();
    for (key, expected) in [("job", Value::from(job)), ("direction", "read".into()), ("ios", 1000.into())] {
        assert_eq!(lines[0][key], expected);
    }
    let whole = packed(&values).to_sparse();
    for (key, percent) in [("p50_ns", 50.0), ("p99_ns", 99.0), ("p99_9_ns", 99.9), ("max_ns", 100.0)] {
        assert_eq!(lines[0]["lat"][key], whole.percentile(percent), "{key}");
        assert_eq!(lines[0]["clat"][key], lines[0]["lat"][key]);
    }
    assert_eq!((&lines[1]["ios"], &lines[1]["lat"], &lines[0]["response"]), (&0.into(), &Value::Null, &Value::Null));
    let table = intervals_table(&recording);
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[1].last(), Some(&"1000.00"));
    assert_eq!(rows[2].last(), Some(&"-"));
    assert!(
        table.lines().all(|line| line.chars().count() == table.lines().next().map_or(0, |head| head.chars().count())),
        "{table}"
    );
    assert_eq!(intervals_table(&fixture::case("single")), "no intervals were recorded\n");
}

#[test]
fn awkward_names_and_times_do_no_harm() {
    let mut recording = recording("single", &[&[interval(0, 100, &[1]), interval(u64::MAX - 5, 100, &[2])]]);
    recording.plan.workers[0].job = "a \"b\"\n".into();
    let lines = intervals_json_lines(&recording);
    assert_eq!(lines.lines().count(), 3);
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines}");
}
