//! Reports of a real fio, in all forms in which they occur.

use iolab_comparison::{
    ComparedRun, ComparisonRequest, FioJsonError, IntervalsFrom, LatencyKind, OperationType, PairingChoice, RunSummary,
    Side, describe, hold_against, read_fio_json,
};
use iolab_statistics::DecisionRules;
use serde_json::Value;

fn text(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/fio/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn only(name: &str) -> RunSummary {
    let mut runs = read_fio_json(name, &text(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(runs.len(), 1, "{name}");
    runs.remove(0)
}

/// The report as parsed JSON, for the expected values.
fn raw(name: &str) -> Value {
    let text = text(name);
    serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap()
}

#[test]
fn figures_are_those_of_the_report() {
    let (run, raw) = (only("plain.json"), raw("plain.json"));
    let stated = &raw["jobs"][0]["read"];
    let job = &run.jobs[0];
    assert_eq!((run.tool.as_str(), job.name.as_str(), run.flaw.as_ref()), ("fio-3.33", "read", None));
    assert_eq!((job.options["bs"].as_str(), job.options["ioengine"].as_str()), ("4k", "psync"));
    let [read] = &job.directions[..] else { panic!("{:?}", job.directions) };
    assert_eq!((read.operations, Some(read.ios)), (OperationType::Read, stated["total_ios"].as_u64()));
    assert_eq!(Some(read.bytes), stated["io_bytes"].as_u64());
    assert_eq!(Some(read.ios_per_second), stated["iops"].as_f64());
    assert_eq!(Some(read.bytes_per_second), stated["bw_bytes"].as_f64());
    assert_eq!(read.lat.mean_ns, stated["lat_ns"]["mean"].as_f64());
    assert_eq!(read.clat.percentile(99.0), stated["clat_ns"]["percentile"]["99.000000"].as_f64());
    assert_eq!(read.clat.percentile(99.9), None, "2048 samples are too few");
    assert_eq!(read.lat.percentile(50.0), None, "fio was not asked for it");
    let started = run.started_unix_ns.unwrap() / 1_000_000;
    assert_eq!(started, raw["timestamp_ms"].as_u64().unwrap() - 1000, "a run of less than a second");
}

#[test]
fn bins_are_histograms() {
    let (run, raw) = (only("group.json"), raw("group.json"));
    for (direction, key) in run.jobs[0].directions.iter().zip(["read", "write"]) {
        for (latencies, kind) in [(&direction.lat, "lat_ns"), (&direction.clat, "clat_ns")] {
            let stated = &raw["jobs"][0][key][kind];
            if stated.get("bins").is_none() {
                assert!(latencies.histogram.is_none());
                continue;
            }
            let histogram = latencies.histogram.as_ref().unwrap();
            assert_eq!(Some(histogram.count), stated["N"].as_u64());
            assert_eq!((Some(histogram.min), Some(histogram.max)), (stated["min"].as_u64(), stated["max"].as_u64()));
            assert!((histogram.stddev() / stated["stddev"].as_f64().unwrap() - 1.0).abs() < 1e-3);
            let median = stated["percentile"]["50.000000"].as_f64().unwrap();
            assert_eq!(latencies.percentile(50.0), Some(median), "fio's buckets are ours");
        }
    }
}

#[test]
fn clones_are_one_job_whose_histograms_are_merged() {
    let (run, raw) = (only("clones.json"), raw("clones.json"));
    assert_eq!((run.jobs.len(), run.jobs[0].workers), (1, 2));
    let stated = |key: &str| -> Vec<f64> {
        raw["jobs"].as_array().unwrap().iter().map(|job| job["read"][key].as_f64().unwrap()).collect()
    };
    let read = &run.jobs[0].directions[0];
    assert_eq!(read.ios as f64, stated("total_ios").iter().sum::<f64>());
    // As fio defines it for a group: over the longest run time.
    let longest_s = stated("total_ios").iter().zip(stated("iops")).map(|(ios, rate)| ios / rate).fold(0.0, f64::max);
    assert!((read.ios_per_second / (read.ios as f64 / longest_s) - 1.0).abs() < 1e-6);
    assert_eq!(read.clat.count, read.ios);
    assert!(read.clat.percentile(99.0).is_some());
    // Without bins there is nothing to merge, and a note says so.
    let mut document = raw;
    for job in document["jobs"].as_array_mut().unwrap() {
        for key in ["read", "write"] {
            job[key]["clat_ns"].as_object_mut().unwrap().remove("bins");
        }
    }
    let run = read_fio_json("it", &document.to_string()).unwrap().remove(0);
    assert_eq!(run.jobs[0].directions[0].clat.percentile(50.0), None);
    assert!(run.notes[0].contains("cannot be combined"), "{:?}", run.notes);
}

#[test]
fn shapes_are_understood() {
    let mixed = only("mixed.json");
    assert_eq!(mixed.jobs[0].directions[0].operations, OperationType::Mixed);
    let status = only("status.json");
    assert_eq!(status.jobs[0].directions[0].ios, 13629, "the last of four reports");
    assert!(status.notes[0].contains("the last of the run counts"));
    let two = only("two-and-junk.txt");
    let told: Vec<(&str, u32)> = two.jobs.iter().map(|job| (job.name.as_str(), job.stage)).collect();
    assert_eq!(told, [("first", 0), ("second", 1)], "one after the other");
    let client = only("client.txt");
    assert_eq!((client.hostname.as_deref(), client.jobs.len()), (Some("lab"), 1));
    assert!(client.jobs[0].directions[0].ios > 0);
    assert_eq!(only("failed.txt").flaw.as_deref(), Some("job failing: error 20"));
    let array = format!("[{},\n{}]", text("plain.json"), text("mixed.json"));
    assert_eq!(read_fio_json("array", &array).unwrap().len(), 2);
    let nan = text("plain.json").replacen("\"iops_stddev\" : 0.000000", "\"iops_stddev\" : -nan", 1);
    assert!(nan.contains("-nan") && read_fio_json("nan", &nan).is_ok());
}

#[test]
fn version_2_counts_in_microseconds_and_kibibytes() {
    let old = r#"{"fio version": "fio-2.21", "timestamp": 100, "jobs": [{"jobname": "a", "error": 0, "elapsed": 3,
        "read": {"io_bytes": 4000, "bw": 2000, "iops": 500.0, "runtime": 2000, "total_ios": 1000,
        "clat": {"min": 10, "max": 900, "mean": 50.5, "stddev": 3.0, "percentile": {"50.000000": 48, "99.000000": 90, "0.00": 0}},
        "lat": {"min": 11, "max": 901, "mean": 51.5, "stddev": 3.0}}}]}"#;
    let run = read_fio_json("old", old).unwrap().remove(0);
    let read = &run.jobs[0].directions[0];
    assert_eq!((read.bytes, read.bytes_per_second), (4000 << 10, 2000.0 * 1024.0));
    assert_eq!((read.clat.percentile(99.0), read.lat.mean_ns), (Some(90_000.0), Some(51_500.0)));
    assert_eq!(read.clat.percentiles.len(), 2);
    assert_eq!(run.started_unix_ns, Some(97_000_000_000));
}

#[test]
fn what_is_no_report_is_refused_with_the_reason() {
    let whole = text("plain.json");
    assert_eq!(read_fio_json("a", "[job]\nrw=read\n"), Err(FioJsonError::NotFio));
    assert_eq!(read_fio_json("a", ""), Err(FioJsonError::NotFio));
    assert_eq!(read_fio_json("a", "{\"a\": 1}"), Err(FioJsonError::NotFio));
    assert!(matches!(read_fio_json("a", &whole[..whole.len() / 2]), Err(FioJsonError::Cut { .. })));
    let damaged = whole.replacen("\"jobs\" :", "\"jobs\"", 1);
    assert!(matches!(read_fio_json("a", &damaged), Err(FioJsonError::Damaged { .. })));
    for cut in (0..whole.len()).step_by(97) {
        // Whatever is cut off, reading returns a result and never panics.
        let _ = read_fio_json("cut", &whole[..cut]);
        let _ = read_fio_json("tail", &whole[cut..]);
    }
}

#[test]
fn completion_latencies_are_compared_where_totals_have_no_percentiles() {
    let side = |name: &str| Side {
        name: name.to_owned(),
        runs: vec![ComparedRun { summary: only(name), ..ComparedRun::default() }],
        ..Side::default()
    };
    let request = ComparisonRequest {
        figures: Vec::new(),
        pairing: PairingChoice::Automatic,
        intervals: IntervalsFrom::Test,
        rules: DecisionRules::default(),
        conditions: Vec::new(),
    };
    let outcome = hold_against(&side("plain.json"), &side("status.json"), &request);
    let p99 = outcome.rows.iter().find(|row| row.figure == "p99").unwrap();
    assert_eq!((p99.latency, p99.baseline.len()), (Some(LatencyKind::Completion), 1));
    let text = describe(&outcome);
    assert!(text.contains("compares completion latency (clat)"), "{text}");
    assert!(text.contains("one run each, so no interval and no verdict"), "{text}");
}
