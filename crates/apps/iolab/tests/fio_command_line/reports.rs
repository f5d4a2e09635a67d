//! Where reports go, in which formats and in which order.

use serde_json::Value;

use crate::ONE;
use crate::drop_in::Folder;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("one.fio", ONE);
    folder
}

#[test]
fn output_takes_the_report_and_standard_output_stays_empty() {
    let folder = folder();
    assert_eq!(folder.good(&["one.fio", "--output=report.txt"]), "");
    let text = folder.read("report.txt");
    for part in
        ["c: (g=0): rw=read", "Starting 1 process", "  read: IOPS=", "Run status group 0 (all jobs):\n   READ: bw="]
    {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn formats_come_in_fios_order() {
    let folder = folder();
    for arguments in [
        &["--output-format=json,normal,terse"][..],
        &["--output-format=normal,json", "--append-terse"],
        &["--output-format", "terse,normal,json+,json"],
    ] {
        let text = folder.good(&[arguments, &["one.fio"]].concat());
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{arguments:?}: no {part:?}"));
        let places =
            [place("\n3;fio-3"), place("\n{\n"), place("\n}\n"), place("\nc: (groupid=0"), place("Run status")];
        assert!(places.is_sorted(), "{arguments:?}: {places:?}");
        assert_eq!(text.matches("\n{\n").count(), 1, "one document");
    }
}

#[test]
fn terse_versions_have_their_fields() {
    let folder = folder();
    // The null engine uses no disk, so there are no fields of disks.
    for (version, fields) in [("3", 121), ("4", 162), ("5", 180)] {
        let text = folder.good(&["--minimal", &format!("--terse-version={version}"), "one.fio"]);
        let found: Vec<&str> = text.trim_end().split(';').collect();
        assert_eq!((text.lines().count(), found[0], found.len()), (1, version, fields));
    }
    // Version 2 lacks the version of fio and, as in fio, the empty description.
    assert!(folder.good(&["--minimal", "--terse-version=2", "one.fio"]).starts_with("2;c;0;0;1024;"));
}

#[test]
fn interval_reports_make_one_valid_document() {
    let folder = Folder::new();
    let run = ["--output-format=json", "--output=r.json", "--status-interval=100ms", "--name=x", "--ioengine=null"];
    folder.good(&[&run[..], &["--rw=read", "--size=1m", "--rate=4m", "--time_based", "--runtime=450ms"]].concat());
    let reports: Value = serde_json::from_str(&folder.read("r.json")).expect("one document");
    let reports = reports.as_array().expect("an array of reports");
    assert!(reports.len() >= 2);
    let bytes = |report: &Value| report["jobs"][0]["read"]["io_bytes"].as_u64().expect("bytes");
    assert!(reports.is_sorted_by_key(bytes), "each report is of the whole run so far");
    assert!(bytes(&reports[reports.len() - 1]) > 0);
}

#[test]
fn the_status_line_is_shown_when_asked_for() {
    let folder = Folder::new();
    let job = ["--name=x", "--ioengine=null", "--rw=randread", "--size=1m", "--time_based", "--runtime=300ms"];
    let text = folder.good(&[&job[..], &["--eta=always", "--output=r.txt"]].concat());
    assert!(text.starts_with("Jobs: "), "{text:?}");
    assert!(text.contains("[eta "));
    assert_eq!(folder.good(&[&job[..], &["--eta=never", "--output=r.txt"]].concat()), "");
    assert_eq!(folder.good(&[&job[..], &["--output=r.txt"]].concat()), "");
    // With JSON on standard output, nothing else may be printed there.
    let text = folder.good(&[&job[..], &["--eta=always", "--output-format=json"]].concat());
    assert!(serde_json::from_str::<Value>(&text).is_ok());
}

#[test]
fn aggregate_bandwidth_logs_are_written() {
    let folder = Folder::new();
    let job =
        ["--name=x", "--ioengine=null", "--rw=randrw", "--size=1m", "--time_based", "--runtime=600ms", "--rate=4m"];
    folder.good(&[&job[..], &["--bandwidth-log", "--output=r.txt"]].concat());
    for log in ["agg-read_bw.log", "agg-write_bw.log"] {
        assert!(folder.read(log).lines().all(|line| line.split(", ").count() >= 4), "{log}");
    }
    assert!(!folder.path("agg-trim_bw.log").exists());
}

#[test]
fn the_idleness_of_processors_is_in_fios_lines_and_keys() {
    let folder = folder();
    let calibrated = folder.good(&["--idle-prof=calibrate"]);
    assert!(calibrated.starts_with("CPU idleness:\n  unit work: mean="), "{calibrated}");
    assert_eq!(calibrated.lines().count(), 2, "{calibrated}");
    let text = folder.good(&["--idle-prof=system", "one.fio"]);
    let (_, idleness) = text.split_once("\n\nCPU idleness:\n").expect(&text);
    let lines: Vec<&str> = idleness.lines().collect();
    assert!(lines[0].starts_with("  system: ") && lines[0].ends_with('%'), "{idleness}");
    assert!(lines[1].starts_with("  unit work: mean=") && lines[1].contains("us, stddev="), "{idleness}");
    let report: Value =
        serde_json::from_str(&folder.good(&["--idle-prof=percpu", "--output-format=json", "one.fio"])).unwrap();
    let idleness = report["cpu_idleness"].as_object().expect("an object");
    let shares: Vec<f64> =
        idleness.iter().filter(|(key, _)| key.starts_with("cpu-")).filter_map(|(_, share)| share.as_f64()).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((idleness["system"].as_f64().unwrap() - mean).abs() < 0.001 && mean <= 100.0, "{idleness:?}");
    assert!(idleness["unit_mean"].as_f64().unwrap() > 0.0 && idleness.contains_key("unit_stddev"), "{idleness:?}");
    let wrong = folder.fio(&["--idle-prof=cpu", "one.fio"]);
    assert!(wrong.code == 1 && wrong.err.contains("system, percpu or calibrate"), "{}", wrong.err);
}
