//! Compares reports of hand-made recordings with golden files in `tests/golden`.
//!
//! After an intended change, run with `IOLAB_BLESS=1` to rewrite them, and read the difference.

use iolab_report::{JsonStyle, PerfDetail, Style, TerseVersion, json, normal, openmetrics, perf, summary, terse};
use iolab_testkit::golden::check_golden;

use crate::fixture;

fn check(name: &str, actual: &str) {
    check_golden(env!("CARGO_MANIFEST_DIR"), name, actual);
}

#[test]
fn normal_reports() {
    for (name, recording) in fixture::CASES {
        check(&format!("{name}.txt"), &normal(&recording(), &Style::default()));
    }
}

#[test]
fn json_reports() {
    check("single.json", &json(&fixture::case("single"), JsonStyle { plus: true, utc_offset_seconds: 0 }));
    check("paced.json", &json(&fixture::case("paced"), JsonStyle::default()));
    check("calibrated.json", &json(&fixture::case("calibrated"), JsonStyle::default()));
    check("survived.json", &json(&fixture::case("survived"), JsonStyle::default()));
    check("several_devices.json", &json(&fixture::case("several_devices"), JsonStyle::default()));
    check("unsteady.json", &json(&fixture::case("unsteady"), JsonStyle::default()));
}

/// Compares with what fio 3.33 printed for the same samples: its object exactly, and its line
/// except for the second bandwidth, which fio shows as 6593MB/s because it scales KiB by thousands.
#[test]
fn a_steady_state_reads_as_in_fio() {
    let text = json(&fixture::case("steady"), JsonStyle::default());
    let fio = include_str!("fio/steadystate.txt");
    assert!(text.contains(fio.trim_end()), "{text}");
    let line = "  steadystate  : attained=yes, bw=6439MiB/s (6752MB/s), iops=1648k, iops mean dev=10.582%\n";
    assert!(normal(&fixture::case("steady"), &Style::default()).contains(line));
}

#[test]
fn terse_reports() {
    let versions = [TerseVersion::V2, TerseVersion::V3, TerseVersion::V4, TerseVersion::V5];
    let cases = ["single", "survived"].map(fixture::case);
    let text: String = cases.iter().flat_map(|case| versions.map(|version| terse(case, version))).collect();
    check("terse.txt", &text);
}

#[test]
fn metrics() {
    let text = ["mixed_rw_sync", "paced", "several_devices", "empty"].map(|name| openmetrics(&fixture::case(name)));
    check("openmetrics.txt", &text.concat());
}

#[test]
fn tables_of_spdk_perf() {
    let text = [
        perf(&fixture::case("clones"), PerfDetail::Table),
        perf(&fixture::case("mixed_rw_sync"), PerfDetail::Percentiles),
        perf(&fixture::case("single"), PerfDetail::Histograms),
        perf(&fixture::case("empty"), PerfDetail::Histograms),
        perf(&fixture::case("several_devices"), PerfDetail::Percentiles),
    ];
    check("perf.txt", &text.concat());
}

#[test]
fn comparison() {
    let (one, four, idle) = (fixture::case("single"), fixture::case("clones"), fixture::case("empty"));
    check(
        "summary.txt",
        &summary(&[("psync", &[one.clone(), one]), ("psync, four clones", &[four]), ("idle", &[idle])]),
    );
}
