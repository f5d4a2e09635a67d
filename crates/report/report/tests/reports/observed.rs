//! Reports of observations of the machine.

use iolab_recording::{DeviceCounters, DeviceSample, DeviceSeries, HostSample, Interval, Observations, Recording};
use iolab_report::{Style, normal_body, observed_json_lines, observed_table};

use crate::fixture;

const SECOND: u64 = 1_000_000_000;

/// A second with 1000 reads of 4 KiB, of which the device got 500 of 8 KiB, then an idle second;
/// samples every half second.
fn recording() -> Recording {
    let mut recording = fixture::case("single");
    let device = |half: u64| {
        let reads = 250 * half.min(2);
        DeviceSample {
            at_ns: half * SECOND / 2,
            counters: DeviceCounters {
                read_ios: 77 + reads,
                read_merges: reads,
                read_sectors: reads * 16,
                io_ticks_ms: 400 * half.min(2),
                time_in_queue_ms: 2000 * half.min(2),
                ..DeviceCounters::default()
            },
            reads_in_flight: if half == 1 { 6 } else { 0 },
            writes_in_flight: u64::from(half == 1),
        }
    };
    let host = |half: u64| HostSample {
        at_ns: half * SECOND / 2,
        user_ns: half.min(2) * SECOND / 2,
        idle_ns: half * SECOND - half.min(2) * SECOND / 2,
        io_some_ns: Some(half.min(2) * SECOND / 4),
        dirty_bytes: 3 << 20,
        ..HostSample::default()
    };
    let series = DeviceSeries { name: "sda".into(), samples: (0..5).map(device).collect(), ..DeviceSeries::default() };
    let observations = Observations {
        interval_ns: SECOND / 2,
        devices: vec![series],
        host: (0..5).map(host).collect(),
        network: Vec::new(),
        looking_ns: 0,
    };
    recording.observations = Some(observations);
    let stretch = |start: u64, ios: u64| Interval {
        start_ns: start * SECOND,
        length_ns: SECOND,
        ios: [ios, 0, 0],
        bytes: [ios * 4096, 0, 0],
    };
    recording.workers[0].intervals = vec![stretch(0, 1000), stretch(1, 0)];
    recording.workers[0].directions[0].bytes = 1000 * 4096;
    recording
}

#[test]
fn the_table_has_a_row_for_each_stretch() {
    let table = observed_table(&recording());
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    let words: Vec<&str> = lines[1].split_whitespace().filter(|word| *word != "|").collect();
    // end, application, device, machine
    assert_eq!(
        words,
        [
            "1.000", "1000", "0", "3.9", "sda", "500", "0", "3.9", "8.0", "0.0", "4.0", "0", "80.0", "50.0", "0.0",
            "50.0", "3"
        ]
    );
    let words: Vec<&str> = lines[2].split_whitespace().filter(|word| *word != "|").collect();
    assert_eq!(&words[..7], ["2.000", "0", "0", "0.0", "sda", "0", "0"]);
}

#[test]
fn json_lines_have_the_same_figures() {
    let text = observed_json_lines(&recording());
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0]["start_ns"].as_u64(), rows[1]["length_ns"].as_u64()), (Some(0), Some(SECOND)));
    assert_eq!(rows[0]["application"]["ios_per_second"][0], 1000.0);
    assert_eq!(rows[0]["devices"]["sda"]["%rrqm"], 50.0);
    assert_eq!(rows[0]["machine"]["io_some_percent"], 50.0);
    assert_eq!(rows[1]["devices"]["sda"]["r/s"], 0.0);
}

#[test]
fn the_normal_report_says_what_became_of_the_operations() {
    let style = Style::default();
    let text = normal_body(&recording(), &style);
    let line = "  sda: IOPS=250/0, MB/s=1.95/0.00, request KiB=8.0/0.0, merged=50.0%/0.0%, depth mean=2.00 seen=7, \
                device/application bytes=1.00/-\n";
    assert!(text.ends_with(&format!("\nBlock layer (read/write):\n{line}")), "{text}");
    let mut ramped = recording();
    ramped.plan.workers[0].limits.ramp_ns = 1;
    assert!(!normal_body(&ramped, &style).contains("application bytes"));
    assert!(!normal_body(&fixture::case("single"), &style).contains("Block layer"));
}

#[test]
fn a_run_that_was_not_looked_at_says_so() {
    let recording = fixture::case("single");
    assert!(observed_table(&recording).contains("not looked at") && observed_json_lines(&recording).is_empty());
}

#[test]
fn rows_are_no_shorter_than_stretches_and_none_is_lost() {
    let mut recording = recording();
    // One interval over everything: one row.
    recording.workers[0].intervals[0].length_ns = 2 * SECOND;
    recording.workers[0].intervals.pop();
    assert_eq!(observed_json_lines(&recording).lines().count(), 1);
    // A single sample gives no row.
    recording.observations.as_mut().unwrap().host.truncate(1);
    assert_eq!(observed_json_lines(&recording), "");
}
