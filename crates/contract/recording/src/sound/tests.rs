//! Changes that make a valid recording impossible.

use serde_json::{Value, json};

use crate::RecordingError;
use crate::recording::Recording;

/// A run of two workers with everything in it, as JSON.
fn good() -> Value {
    let plan: Value = serde_json::from_str(include_str!("../../tests/worker_plan.json")).unwrap();
    let mut second = plan.clone();
    second["number"] = json!(1);
    let histogram = json!({"count": 1, "min": 3, "max": 3, "sum": 3, "sum_of_squares": 9.0, "buckets": [[3, 1]]});
    let mut direction = json!({"ios": 1, "bytes": 1, "issued": 1, "runtime_ns": 1, "short_ios": 0, "dropped_ios": 0});
    for name in ["slat", "clat", "lat", "response"] {
        direction[name] = histogram.clone();
    }
    let packed = json!({"min": 3, "max": 3, "sum": 3, "sum_of_squares": 9.0, "buckets": [3, 1]});
    let worker = |number: u32| {
        json!({
            "number": number, "pid": 1, "outcome": "finished", "started_ns": 0, "runtime_ns": 2_000_000,
            "directions": [direction, direction, direction],
            "files": [], "sync": {"ios": 0, "lat": histogram},
            "intervals": [
                {"start_ns": 0, "length_ns": 5, "ios": [1, 0, 0], "bytes": [1, 0, 0]},
                {"start_ns": 5, "length_ns": 5, "ios": [1, 0, 0], "bytes": [1, 0, 0]},
            ],
            "interval_latencies": [
                {"start_ns": 0, "length_ns": 5, "directions": [
                    {"direction": "read", "ios": 1, "bytes": 1, "lat": packed, "clat_equals_lat": true},
                    {"direction": "write", "ios": 1, "bytes": 1, "lat": packed},
                ]},
            ],
            "depth": {"at_submit": [[1, 1], [2, 1]], "submit_batches": [], "complete_batches": []},
            "cpu": {"user_ns": 0, "system_ns": 0, "context_switches": 0, "major_faults": 0, "minor_faults": 0},
            "errors": [{"errno": 5, "count": 1}],
            "schedule": {"asked": 1, "asked_within_ns": 1, "sent": 1, "sent_within_ns": 1, "backlog_at_end": 0,
                "backlog_most": 0, "lag_at_end_ns": 0, "lag_most_ns": 0, "behind_for_ns": 0},
            "steady": {"attained": true, "criterion": 1.0, "excursion": 1.0, "iops": [1.0], "bytes_per_s": [1.0]},
            "histogram_log": [{"time_ns": 1, "direction": "read", "bytes": 1, "buckets": [[3, 1], [4, 1]]}],
            "notes": [],
        })
    };
    let sample = |at_ns: u64| {
        json!({"at_ns": at_ns, "user_ns": 0, "system_ns": 0, "idle_ns": 0, "iowait_ns": 0, "steal_ns": 0,
        "cached_bytes": 0, "dirty_bytes": 0})
    };
    let series = |name: &str| json!({"name": name, "parts": ["sdb"], "samples": []});
    json!({
        "iolab_recording": 1, "iolab_version": "0",
        "plan": {"sources": [], "global_options": {}, "workers": [plan, second], "warnings": []},
        "host": {"hostname": "h", "kernel": "", "cpu_model": "", "cpus": 1, "memory_bytes": 0, "clock": "", "command_line": []},
        "calibration": {"method": 1, "timer": {"sleeps": 0, "asked_ns": 0, "p50_ns": 0, "p99_ns": 0, "max_ns": 0},
            "loops": [{"workers": [0, 1], "op_ps": 1, "stamp_ps": 1}]},
        "started_unix_ns": 1_800_000_000_000_000_000_u64, "elapsed_ns": 2_000_000,
        "workers": [worker(0), worker(1)],
        "devices": [],
        "observations": {"interval_ns": 1, "devices": [series("sda"), series("sdb")], "host": [sample(1), sample(2)]},
        "warnings": [], "interrupted": false,
    })
}

#[test]
fn a_good_recording_is_read() {
    let text = good().to_string();
    let recording = Recording::from_json(&text).unwrap();
    assert_eq!(Recording::from_json(&recording.to_json()).unwrap(), recording);
}

#[test]
fn impossible_recordings_are_refused_with_the_place() {
    let huge = u64::MAX;
    let worker = "/workers/1";
    let none = json!({"count": 0, "min": 0, "max": 0, "sum": 0, "sum_of_squares": 0.0, "buckets": []});
    let file = json!({"bytes": [1, 0, 0], "clat": [none, none, none]});
    for (pointer, value, place) in [
        ("/elapsed_ns".to_owned(), json!(huge), "elapsed_ns"),
        ("/started_unix_ns".to_owned(), json!(huge), "started_unix_ns"),
        ("/workers/0/number".to_owned(), json!(7), "workers[0]"),
        ("/plan/workers/1/number".to_owned(), json!(0), "plan.workers[1]"),
        ("/plan/workers".to_owned(), json!([]), "workers"),
        ("/plan/workers/0/job".to_owned(), json!("a\n  read: IOPS=1"), "plan.workers[0].job"),
        ("/plan/workers/0/measurement/histogram_interval_ns".to_owned(), json!(1), "histogram_interval_ns"),
        ("/plan/workers/0/measurement/interval_ns".to_owned(), json!(huge), "interval_ns"),
        ("/plan/workers/0/measurement/percentiles/list".to_owned(), json!([101.0]), "percentiles"),
        ("/plan/workers/0/measurement/percentiles/list".to_owned(), json!(vec![50.0; 10_000]), "percentiles"),
        ("/plan/workers/0/measurement/kb_base".to_owned(), json!(0), "kb_base"),
        ("/plan/workers/0/measurement/significant_figures".to_owned(), json!(4_000_000_000_u32), "significant_figures"),
        (format!("{worker}/started_ns"), json!(huge), "workers[1]"),
        (format!("{worker}/directions/1/ios"), json!(huge), "workers[1].directions[write]"),
        (format!("{worker}/files"), json!([file, file, file, file]), "workers[1].files"),
        (format!("{worker}/intervals/1/start_ns"), json!(4), "workers[1].intervals[1]"),
        (format!("{worker}/intervals/1/length_ns"), json!(huge), "workers[1].intervals[1]"),
        (format!("{worker}/interval_latencies/0/start_ns"), json!(huge), "workers[1].interval_latencies[0]"),
        (format!("{worker}/interval_latencies/0/directions/0/direction"), json!("trim"), "interval_latencies[0]"),
        (format!("{worker}/interval_latencies/0/directions/0/direction"), json!("write"), "interval_latencies[0]"),
        (format!("{worker}/depth/at_submit"), json!([[2, 1], [1, 1]]), "workers[1].depth.at_submit"),
        (format!("{worker}/histogram_log/0/buckets"), json!([[4_000_000, 1]]), "histogram_log[0]"),
        (format!("{worker}/schedule/asked"), json!(huge), "workers[1].schedule"),
        (format!("{worker}/steady/iops"), json!([-1.0]), "workers[1].steady"),
        (format!("{worker}/notes"), json!(vec![""; 200_000]), "workers[1].notes"),
        ("/calibration/loops/0/workers".to_owned(), json!([1, 0]), "calibration.loops[0]"),
        ("/observations/devices/1/name".to_owned(), json!("sda"), "observations"),
        ("/observations/devices/1/name".to_owned(), json!("\u{1b}[2J"), "observations.devices[1].name"),
        ("/observations/host/1/at_ns".to_owned(), json!(0), "observations.host[1]"),
        ("/host/hostname".to_owned(), json!("a\u{7}"), "host.hostname"),
    ] {
        let mut changed = good();
        *changed.pointer_mut(&pointer).unwrap() = value;
        match Recording::from_json(&changed.to_string()) {
            Err(RecordingError::Unsound(unsound)) => assert!(unsound.place.contains(place), "{pointer}: {unsound}"),
            read => panic!("{pointer}: {read:?}"),
        }
    }
}
