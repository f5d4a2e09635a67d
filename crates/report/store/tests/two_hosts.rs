//! A run of two hosts in everything that reads recordings: each output names the hosts, and rates
//! are of all hosts together.

use iolab_comparison::{ComparedRun, RunSummary, Side, hold_against};
use iolab_html::recording_page;
use iolab_recording::Recording;
use iolab_report::{JsonStyle, Style, TerseVersion};
use iolab_study::Figure;

fn two_hosts() -> Recording {
    let text = include_str!("../../../contract/recording/tests/corpus/2-1-hosts.json");
    let mut recording = Recording::from_json(text).expect("a recording");
    for (plan, worker) in recording.plan.workers.iter_mut().zip(&mut recording.workers) {
        (plan.job, plan.group, plan.group_reporting) = ("both".to_owned(), 0, true);
        let seconds = if plan.host == 0 { 10 } else { 5 };
        let reads = &mut worker.directions[0];
        (reads.ios, reads.bytes, reads.runtime_ns) = (seconds * 1000, seconds * 4_096_000, seconds * 1_000_000_000);
    }
    recording
}

/// The same run in the form without hosts.
fn one_host() -> Recording {
    let mut recording = two_hosts();
    recording.hosts.clear();
    recording.iolab_recording = iolab_recording::FORMAT;
    recording.plan.workers[1].host = 0;
    recording.devices.truncate(1);
    recording.observations.as_mut().expect("observed").devices.truncate(1);
    recording
}

#[test]
fn reports_say_who_ran_where_and_add_all_up() {
    let recording = two_hosts();
    let text = iolab_report::normal_body(&recording, &Style::default());
    for expected in [
        "  hosts        : a, b\n",
        "read: IOPS=1500, BW=6000KiB/s",
        "\nBlock layer (read/write):\n  a:vda: ",
        "\n  b:vda: IOPS=",
        "Hosts (clocks against the first):\n  a: 1 worker, Linux 6.12.0",
        "  b: 1 worker, Linux 6.6.1, 8 x a processor, clock -1.50 ms +- 40.0 µs, 1008 IOPS, 3.9 MiB/s\n",
        "\n  slowest a, fastest b: 0.6 % of the mean apart; ",
    ] {
        assert!(text.contains(expected), "no '{expected}' in {text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&iolab_report::json(&recording, JsonStyle::default())).expect("JSON");
    assert_eq!(json["jobs"][0]["hostname"], "a, b");
    assert_eq!(json["jobs"][0]["read"]["iops"].as_f64(), Some(1500.0));
    assert_eq!(
        (&json["hosts"][1]["name"], json["hosts"][1]["clock_offset_ns"].as_i64()),
        (&"b".into(), Some(-1_500_000))
    );
    let names: Vec<&str> =
        json["disk_util"].as_array().expect("devices").iter().filter_map(|d| d["name"].as_str()).collect();
    assert_eq!(names, ["a:vda", "b:vda"]);
    assert!(iolab_report::observed_table(&recording).contains("| b:vda "));
    let page = iolab_testkit::html::read_html(&recording_page(&recording, "r.iolab", &[], "0").html);
    let said = page.text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in ["on 2 hosts (a, b)", "both on a, b", "6.6.1", "40.0 µs"] {
        assert!(said.contains(expected), "no '{expected}' in {said}");
    }
}

#[test]
fn apart_each_worker_has_its_host() {
    let mut recording = two_hosts();
    recording.plan.workers.iter_mut().for_each(|plan| plan.group_reporting = false);
    let text = iolab_report::normal_body(&recording, &Style::default());
    let places =
        ["  hosts        : a\n", "  hosts        : b\n", "Run status group 0 (all jobs):\n   READ: bw=6000KiB/s"];
    let found: Vec<Option<usize>> = places.iter().map(|place| text.find(place)).collect();
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{text}");
}

#[test]
fn studies_and_comparisons_take_all_hosts_together() {
    let recording = two_hosts();
    let iops = Figure::from_name("read.iops").expect("a figure");
    assert_eq!(iops.of(&recording), Some(1500.0));
    let summary = RunSummary::of_recording("r", &recording, false);
    assert_eq!(summary.hostname.as_deref(), Some("a, b"));
    assert_eq!(summary.kernel.as_deref(), Some("6.12.0, 6.6.1"));
    let side = Side { runs: vec![ComparedRun { summary, ..ComparedRun::default() }], ..Side::default() };
    let request = iolab_comparison::ComparisonRequest {
        figures: vec![iops],
        pairing: Default::default(),
        intervals: Default::default(),
        rules: Default::default(),
        conditions: Vec::new(),
    };
    assert!((hold_against(&side, &side, &request).rows[0].baseline[0] - 1500.0).abs() < 1e-6);
}

#[test]
fn each_host_is_judged_by_itself() {
    let recording = two_hosts();
    let limits = iolab_findings::limits(&recording);
    let jobs: Vec<&str> = limits.iter().map(|limit| limit.job.as_str()).collect();
    assert_eq!(jobs, ["both on a", "both on b"]);
    let findings = iolab_findings::find(&recording);
    assert!(findings.iter().all(|finding| ["a: ", "b: "].iter().any(|host| finding.evidence.starts_with(host))));
}

#[test]
fn a_run_of_one_host_is_told_as_before() {
    let recording = one_host();
    assert!(!recording.to_json().contains("\"hosts\"") && !recording.to_json().contains("\"host\":0"));
    let texts = [
        iolab_report::normal_body(&recording, &Style::default()),
        iolab_report::json(&recording, JsonStyle::default()),
        iolab_report::terse(&recording, TerseVersion::V5),
    ];
    for text in texts {
        assert!(!text.contains("hosts") && !text.contains("hostname"), "{text}");
    }
}
